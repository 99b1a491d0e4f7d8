"""Store settings: what a store keeps, which snapshot it publishes, whom it answers, and what it notes of queries."""

from typing import Annotated, Literal

from docmill.flows.config.input_settings import decode, decode_texts
from docmill.flows.config.section import Before, ConfigSection, Days, Field, Hours, Queries, Share, Snapshots
from docmill.storage.schema import EVERYONE

MadeQuestions = Literal["links", "captions", "docstrings", "subjects", "headings", "words"]
Principals = Annotated[tuple[Annotated[str, Field(min_length=1, max_length=1000)], ...], Before(decode_texts)]


class RetentionSettings(ConfigSection):
    """How long snapshots and deleted documents are kept. A snapshot with a tag or an open reader always stays."""

    keep_snapshots: Snapshots = Field(default=100, ge=1, description="Maximum number of snapshots to keep.")
    keep_days: Days = Field(default=30.0, ge=0, description="Days to keep a snapshot; the newest always stays.")
    undelete_days: Days = Field(default=30.0, ge=0, description="Days during which a deleted document can be restored.")
    grace_hours: Hours = Field(
        default=1.0,
        ge=0,
        description="Hours before removed files are deleted from an object store, so that running readers can finish.",
    )
    keep_steps: bool = Field(
        default=False, description="Also keep the snapshots that a long run commits before its last one."
    )


class GateSettings(ConfigSection):
    """The test that a new snapshot has to pass before it is published. Without questions there is none."""

    questions: str = Field(default="", description="Questions with known answers: CSV, TREC topics or a BEIR folder.")
    qrels: str = Field(default="", description="Relevance judgements (qrels), if the questions file has none.")
    made_from: Annotated[tuple[MadeQuestions, ...], Before(decode_texts)] = Field(
        default=(), description="Make questions from the documents: links, captions, docstrings, subjects ..."
    )
    metric: str = Field(default="nDCG@10", description="The measure to compare, such as nDCG@10, R@5, RR or IoU@5.")
    max_drop: Share = Field(
        default=0.0,
        ge=0,
        le=1,
        description="Hold back a snapshot that is worse by more than this, if the drop is statistically significant.",
    )


class AccessSettings(ConfigSection):
    """Who may see documents if no sidecar, folder or source says so."""

    default: Principals = Field(default=(EVERYONE,), description="Principals who may see them; [] is nobody.")
    sources: Annotated[dict[str, Principals], Before(decode)] = Field(
        default={},
        description="Principals by the name of the source, in place of the default.",
        examples=['[access.sources]\nwiki = ["all"]\nsales = ["sales", "board"]'],
    )


class QueriesSettings(ConfigSection):
    """The log of queries, which is kept beside the store and contains no text of its documents."""

    log: bool = Field(
        default=False,
        description="Log what is asked with `docmill search`, `serve` and `mcp`: the query, when, and how well it was"
        " answered; not who asked.",
    )
    keep_days: Days = Field(default=90.0, gt=0, le=36_500, description="Days to keep a logged query.")
    most: Queries = Field(default=100_000, ge=1, description="Maximum number of logged queries.")
