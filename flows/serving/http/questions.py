"""Questions: what clients send over HTTP, checked, and described for OpenAPI."""

from typing import Annotated, Any, cast

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from docmill.storage.search.rank.candidates.search_options import LONGEST_QUERY, Fusion, Mode, SearchArguments

LONGEST = 20_000
"""Characters of a condition or a statement."""
MOST, MOST_OF_ALL = 200_000, 5_000_000
"""Characters of an answer, unless the client asks for others, and at most."""

_NOT_OPTIONS = {"query", "k", "mode", "where", "at", "store", "max_characters", "typing"}
_A_SEARCH: JsonDict = {"query": "how long does the battery last without sun?", "k": 3, "where": "format = 'markdown'"}
_A_JUDGEMENT: JsonDict = {"query": "undo a commit", "uri": "git.md", "quotation": "reset the branch", "by": "Ada"}
_A_STATEMENT: JsonDict = {"query": "SELECT format, count(*) AS files FROM documents GROUP BY ALL ORDER BY files DESC"}

StoreName = Annotated[
    str | None, Query(alias="store", max_length=200, description="Name of a served store; else the first.")
]
At = Annotated[
    str | None, Query(max_length=200, description="Number or tag of a snapshot; else the newest.", examples=["41"])
]
Most = Annotated[int, Query(alias="max_characters", ge=1000, le=MOST_OF_ALL, description="Characters of the answer.")]
Where = Annotated[str | None, Query(max_length=LONGEST, description="SQL condition on columns of documents.")]
Uri = Annotated[str, Path(description="Name of a document; slashes need no escaping.", examples=["git.md"])]
ChunkId = Annotated[
    str, Path(description="Id of a chunk: 32 hex digits.", examples=["0b5c7a3e9d2f48615c0e7a9b3d1f2468"])
]
JudgementId = Annotated[
    str, Path(max_length=32, description="Id of a judgement.", examples=["0b5c7a3e9d2f48615c0e7a9b3d1f2468"])
]
FigureKey = Annotated[
    str, Path(description="Key of a figure: 32 hex digits.", examples=["f78f2962db408065978c900177515a57"])
]
Earlier = Annotated[str, Path(description="Number or tag of the earlier snapshot.", examples=["1"])]
Later = Annotated[str, Path(description="Number or tag of the later snapshot.", examples=["2"])]


class SearchQuestion(BaseModel):
    """A search. What is left out is as the settings of the server say."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_A_SEARCH]})

    query: str = Field(max_length=LONGEST_QUERY, description="The question, in words.")
    k: int = Field(default=5, ge=1, le=1000, description="How many hits to return at most.")
    mode: Mode = Field(default="hybrid", description="The rankings that the search uses.")
    where: str | None = Field(default=None, max_length=LONGEST, description="SQL condition on chunks and documents.")
    at: int | str | None = Field(default=None, description="Number or tag of a snapshot; else the newest.")
    store: str | None = Field(default=None, max_length=200, description="Name of a served store; else the first.")
    max_characters: int = Field(default=MOST, ge=1000, le=MOST_OF_ALL, description="Characters of the answer.")
    weight: float | None = Field(default=None, ge=0, le=1, description="Weight of vectors in a weighted fusion.")
    fusion: Fusion | None = Field(default=None, description="How both rankings are merged.")
    cover: float | None = Field(default=None, ge=0, le=1, description="What the words of its document's cover add.")
    spread: float | None = Field(default=None, ge=0, le=1, description="Share of its neighbours' scores for a chunk.")
    lift: float | None = Field(default=None, ge=0, le=1, description="Share of its document's best score for a chunk.")
    candidates: int | None = Field(default=None, ge=1, le=2000, description="Candidates of each index.")
    distinct: bool | None = Field(default=None, description="Whether to drop hits that repeat a better one.")
    diversity: float | None = Field(default=None, ge=0, le=1, description="Weight of difference from better hits.")
    widen: int | None = Field(default=None, ge=0, le=4000, description="Tokens up to which a hit grows; 0 is off.")
    passages: int | None = Field(
        default=None, ge=0, le=20_000, description="Tokens for the sentences that answer, over all hits; 0 is off."
    )
    min_confidence: float | None = Field(default=None, ge=0, le=1, description="Least confidence of a hit.")
    language: str | None = Field(default=None, max_length=35, description="Language of the query, such as de.")
    parents: bool | None = Field(default=None, description="Whether to return the parent of each chunk, once.")
    typing: bool = Field(default=False, description="The query is not written to its end, so it is not logged.")

    def how(self, settings: SearchArguments) -> SearchArguments:
        """Return the options of the search: those of the settings, where the client has none of its own."""
        own = self.model_dump(exclude=_NOT_OPTIONS, exclude_none=True)
        merged: dict[str, Any] = {**settings, **own}
        return cast(SearchArguments, merged)


class JudgementQuestion(BaseModel):
    """What a person says of an answer: of a chunk, of a quoted passage of a document, or that none is right."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_A_JUDGEMENT]})

    query: str = Field(max_length=LONGEST_QUERY, description="The query that was answered.")
    chunk_id: str = Field(default="", max_length=32, description="The chunk that is judged, such as that of a hit.")
    relevant: bool = Field(default=True, description="Whether it answers; false without a passage: nothing does.")
    by: str = Field(default="", max_length=200, description="Name of the person who judges; it is not checked.")
    uri: str = Field(default="", max_length=4000, description="The document of a quoted passage that is no chunk.")
    quotation: str = Field(default="", max_length=4000, description="The words of the document that answer.")
    note: str = Field(default="", max_length=2000, description="Why it was judged so.")
    at: int | str | None = Field(default=None, description="Number or tag of the snapshot that was judged.")
    store: str | None = Field(default=None, max_length=200, description="Name of a served store; else the first.")


class StatementQuestion(BaseModel):
    """One SELECT."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_A_STATEMENT]})

    query: str = Field(max_length=LONGEST, description="One SELECT in the SQL of DuckDB; it can read the store alone.")
    max_rows: int = Field(default=1000, ge=1, le=100_000, description="How many rows to return at most.")
    seconds: float = Field(default=20, gt=0, le=60, description="How long the statement may run.")
    at: int | str | None = Field(default=None, description="Number or tag of a snapshot; else the newest.")
    store: str | None = Field(default=None, max_length=200, description="Name of a served store; else the first.")
    max_characters: int = Field(default=MOST, ge=1000, le=MOST_OF_ALL, description="Characters of the answer.")
