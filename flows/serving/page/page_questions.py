"""Page questions: check the requests of the page."""

from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

MOST = 200_000
"""The default limit of an answer in characters."""
_MOST_OF_ALL = 5_000_000
_LONGEST = 20_000  # characters of a statement, as for `/sql`
_MOST_SHOWN = 2000  # characters of each chunk's text in a list

Uri = Annotated[str, Query(max_length=4000)]
Question = Annotated[str, Query(max_length=20_000)]
Where = Annotated[str, Query(max_length=_LONGEST)]


class PageQuestion(BaseModel):
    """A question about one snapshot of a store; the default is the newest snapshot of the first store."""

    model_config = ConfigDict(extra="forbid")

    store: str | None = Field(default=None, max_length=200)
    at: int | str | None = None


class TrialQuestion(PageQuestion):
    """A document to split with a strategy, or, if it is "", according to the settings of the server.

    If there is a `query`, each chunk is compared with it.
    """

    uri: str = Field(max_length=4000)
    strategy: str = Field(default="", max_length=200)
    options: dict[str, Any] = Field(default={}, max_length=20)
    query: str = Field(default="", max_length=4000)


class RowsQuestion(PageQuestion):
    """One SELECT, with the limits of `/sql`.

    With `texts`, the rows are ids of chunks, and the answer has these chunks with this many characters of their texts.
    A statement that selected the texts itself would read those of all chunks, although it returns only a few.
    """

    query: str = Field(max_length=_LONGEST)
    max_rows: int = Field(default=1000, ge=1, le=100_000)
    seconds: float = Field(default=20, gt=0, le=60)
    max_characters: int = Field(default=MOST, ge=1000, le=_MOST_OF_ALL)
    texts: int = Field(default=0, ge=0, le=_MOST_SHOWN)
