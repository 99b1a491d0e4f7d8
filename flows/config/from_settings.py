"""From settings: turn the settings into the option values that the tasks take."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from docmill.flows.config.input_settings import ReaderRule
from docmill.flows.config.search_settings import how_of
from docmill.flows.config.settings import RouteRule, Settings
from docmill.storage.errors import ConfigError
from docmill.storage.files import hash_file
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.search.encode.api.api_address import is_api, parse_address
from docmill.storage.search.encode.model_spaces import describe_model, late_space, tokenizer_dir
from docmill.storage.search.encode.space import EmbeddingSpace, check_indexed
from docmill.storage.search.rank.candidates.search_options import Mode, Rewrite
from docmill.storage.snapshots.history.folder import StoreFolder
from docmill.storage.snapshots.history.retention import Retention
from docmill.tasks.archive.archive_options import ArchiveOptions
from docmill.tasks.chunking.chunk_options import ChunkOptions, asks_model
from docmill.tasks.chunking.route import Route, RouteTable, default_routes, sized
from docmill.tasks.context.contextualizers import PHRASED
from docmill.tasks.model.budget import Budget
from docmill.tasks.model.client import ModelAccess, model_key
from docmill.tasks.model.completion import ModelOptions
from docmill.tasks.model.embedding_costs import Payment
from docmill.tasks.model.query_wordings import Rewriter
from docmill.tasks.parse.dispatch.readers import TESSERACT, ChosenReader, ReaderTable, engine_for, reading_key
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.sources.access_grants import Grants
from docmill.tasks.sources.archive_source import Opener
from docmill.tasks.sources.source import DiscoverOptions
from docmill.tasks.split.parts.strategy_options import MAX_SIZE, MIN_SIZE
from docmill.tasks.split.strategies import options_of
from docmill.tasks.work.document.recipe import Recipe

T = TypeVar("T", int, float)

if TYPE_CHECKING:
    from docmill.tasks.evaluate.ask_and_measure import SearchMethod
    from docmill.tasks.publishing.gate import Gate
    from docmill.tasks.work.batch.embed import Embedding


def space_of(settings: Settings) -> EmbeddingSpace:
    """Return the embedding space that the settings name."""
    chosen = settings.embedding
    space = replace(describe_model(*chosen.where()), dtype=chosen.dtype, indexed=chosen.indexed)
    check_indexed(space)
    return late_space(space) if chosen.late else space


def _sizes_by(tokenizer: str) -> str:
    if not tokenizer:
        return ""
    from docmill.tasks.counting.encodings import counting_folder  # which loads tokenizers

    return counting_folder(tokenizer)


def recipe_of(settings: Settings, space: EmbeddingSpace) -> Recipe:
    """Return the recipe: everything that determines how content becomes chunks."""
    tokenizer = tokenizer_dir(*settings.embedding.where()) / "tokenizer.json"
    engine = engine_for(settings.parse.ocr, settings.parse.ocr_languages)
    sizes_by = _sizes_by(settings.chunk.tokenizer)
    return Recipe(
        parse=ParseOptions(
            passwords=settings.parse.passwords,
            ocr=bool(engine),
            ocr_engine=engine or TESSERACT,
            ocr_languages=settings.parse.ocr_languages,
            comments=settings.parse.comments,
            max_characters=settings.parse.max_characters,
        ),
        chunk=ChunkOptions(
            token_limit=space.token_limit,
            contextualizer=settings.chunk.contextualizer,
            context_tokens=settings.chunk.context_tokens,
            sizes_by=sizes_by,
            sizes_id=hash_file(Path(sizes_by) / "tokenizer.json") if sizes_by else "",
            late=space.late,
            parts=settings.embedding.parts,
            by_model=settings.chunk.summed_up_by == "model",
            window_tokens=settings.model.window_tokens,
            kept=_kept(settings),
            described=settings.chunk.describe_figures,
            pictured=bool(settings.embedding.pictures),
            phrasings=tuple(kind for kind in PHRASED if kind in settings.chunk.phrasings),
            read=reading_key(*ocr_of_figures(settings)) if settings.chunk.read_figures else "",
        ),
        routes=routes_of(settings, space.token_limit),
        space_id=space.id,
        tokenizer_dir=str(tokenizer.parent),
        # By content, because models may share a tokenizer, and the tokenizer in a folder may change.
        tokenizer_id=hash_file(tokenizer),
        max_file_bytes=settings.discover.max_file_bytes,
        archives=archive_options(settings),
        limits=settings.parse.limits(),
        model_id=model_key(model) if (model := model_of(settings)) else "",
        readers=readers_of(settings.parse.readers),
        keys=dict(settings.metadata),
    )


def _kept(settings: Settings) -> tuple[str, ...]:
    """Return the kinds of elements that become separate chunks."""
    chunk = settings.chunk
    figures = chunk.figures or chunk.describe_figures or chunk.read_figures or bool(settings.embedding.pictures)
    wanted = {"toc": chunk.toc, "furniture": chunk.furniture, "figure": figures}
    return tuple(kind for kind in wanted if wanted[kind])


def ocr_of_figures(settings: Settings) -> tuple[str, str]:
    """Return the engine that reads figures, with its languages; raise `ConfigError` if there is none."""
    languages = settings.parse.ocr_languages
    engine = engine_for(settings.parse.ocr, languages)
    if not engine:
        raise ConfigError("[chunk] read_figures needs OCR: install docmill[ocr], unless [parse] ocr is off")
    return engine, languages if engine == TESSERACT else ""  # the other engine reads all its languages at once


def readers_of(rules: Iterable[ReaderRule]) -> ReaderTable:
    """Return which parser reads which files; raise `ConfigError` for a parser that cannot read them."""
    return ReaderTable(tuple((rule.glob, ChosenReader(rule.reader, rule.options)) for rule in rules))


def archive_options(settings: Settings) -> ArchiveOptions:
    """Return the limits for unpacking an archive."""
    chosen = settings.archives
    return ArchiveOptions(
        members=chosen.max_members,
        total_bytes=chosen.max_bytes,
        ratio=chosen.max_ratio,
        depth=chosen.max_depth,
        member_bytes=settings.discover.max_file_bytes,
        passwords=settings.parse.passwords,
        pictures=settings.parse.ocr not in ("auto", "off"),  # so that logos of mails are files only on request
    )


def opener_of(settings: Settings) -> Opener:
    """Return the opener of archives."""
    return Opener(archive_options(settings), settings.parse.limits())


def model_of(settings: Settings) -> ModelOptions | None:
    """Return the language model in the settings, or None; raise ConfigError if the settings are incomplete."""
    chosen = settings.model
    if not chosen.provider:
        return None
    return ModelOptions(
        provider=chosen.provider,
        model=chosen.model,
        base_url=chosen.base_url,
        timeout_s=chosen.timeout_s,
        max_concurrency=chosen.max_concurrency,
        thinking_tokens=chosen.thinking_tokens,
    )


def model_access_of(settings: Settings, **how: Any) -> ModelAccess | None:
    """Return how to call the language model of the settings, or None; `how` sets other fields of `ModelAccess`.

    Use it as `with ModelClient(model_access_of(settings)) as client: client.ask(prompts)`; answers are cached in the
    store.
    """
    model, chosen = model_of(settings), settings.model
    if model is None:
        return None
    budget = Budget(chosen.prices, _limit(chosen.max_calls), _limit(chosen.max_cost))
    return ModelAccess(model, open_folder(settings.store, settings.mirrors), budget=budget, **how)


def payment_of(settings: Settings, folder: StoreFolder, run: str) -> Payment | None:
    """Return the payment for the vectors of a run, or None for a model that is not behind an API."""
    return _payment(settings.embedding.model, "price", settings, Payment(folder, run))


def picture_payment_of(settings: Settings, folder: StoreFolder, run: str) -> Payment | None:
    """Return the payment for a run's vectors of pictures, or None for a model that is not behind an API."""
    return _payment(settings.embedding.pictures, "pictures_price", settings, Payment(folder, run, purpose="pictures"))


def _payment(model: str, price: str, settings: Settings, unpriced: Payment) -> Payment | None:
    limit, paid = _limit(settings.model.max_cost), getattr(settings.embedding, price)
    if not is_api(model):
        return None
    name = parse_address(model).name
    if limit is not None and paid < 0:
        raise ConfigError(f"max_cost needs the price of {name}: set [embedding] {price}, 0 for a server of your own")
    return replace(unpriced, model=name.replace(":", "/", 1), price=max(paid, 0.0), max_cost=limit)


def forecast_of(settings: Settings, due: "Embedding") -> dict[str, float]:
    """Return the most tokens and cost of embedding by API; empty for other models, or if there is nothing to embed."""
    chosen = settings.embedding
    if not is_api(chosen.model) or not due.texts:
        return {}
    from docmill.storage.search.encode.api_encoder import most_tokens

    tokens = most_tokens(chosen.where()[0], due.texts, due.tokens)
    return {"input": tokens, **({"money": round(tokens * chosen.price / 1e6, 6)} if chosen.price >= 0 else {})}


def _limit(value: T) -> T | None:
    """Return a limit, or None for -1, because TOML has no null."""
    return value if value >= 0 else None


def rewrite_of(settings: Settings) -> Rewrite | None:
    """Return the query rewriter if the settings ask for one, else None."""
    if settings.search.expand != "model":
        return None
    asking = model_access_of(settings)
    if asking is None:
        raise ConfigError('search.expand is "model", but [model] names no provider')
    return Rewriter(asking)


def routes_of(settings: Settings, token_limit: int = MAX_SIZE) -> RouteTable:
    """Return the default routes, overridden by those of the settings, for a model with this token limit."""
    base = default_routes()
    _check_split(settings.split)
    size = max(MIN_SIZE, min(token_limit, MAX_SIZE)) if settings.chunk.size else 0
    sizing = _Sizing(settings.split, size)
    globs = [rule for rule in settings.routes if rule.glob]
    return RouteTable(
        by_glob=tuple((rule.glob, sizing.route_of(rule)) for rule in globs if rule.strategy),
        by_type=_routes_by_type(settings, base, sizing),
        default=sizing.completed(base.default),
        chosen=frozenset(rule.type for rule in settings.routes if rule.type),
        options=settings.split,
        contexts=tuple((rule.glob, rule.contextualizer) for rule in globs if not rule.strategy),
        size=size,
    )


@dataclass(frozen=True, slots=True)
class _Sizing:
    """The options of [split], and the size for strategies without one, or 0."""

    split: Mapping[str, Mapping[str, Any]]
    size: int

    def completed(self, route: Route) -> Route:
        """Return a built-in route with the options that the settings give its strategy."""
        return Route(route.strategy, self.options(route.strategy, route.options))

    def route_of(self, rule: RouteRule) -> Route:
        """Return the route of a rule that names a strategy."""
        also = tuple(Route(one.strategy, self.options(one.strategy, one.options)) for one in rule.also)
        return Route(rule.strategy, self.options(rule.strategy, rule.options), rule.contextualizer, also)

    def options(self, strategy: str, own: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the options that [split] sets for a strategy, overridden by a route's own options."""
        return sized(strategy, {**self.split.get(strategy, {}), **own}, self.size)


def _routes_by_type(settings: Settings, base: RouteTable, sizing: _Sizing) -> dict[str, Route]:
    """Return the route of each content type; a later rule for the same type replaces an earlier one."""
    by_type = {kind: sizing.completed(route) for kind, route in base.by_type.items()}
    for rule in settings.routes:
        if rule.type and rule.strategy:
            by_type[rule.type] = sizing.route_of(rule)
        elif rule.type:  # a rule with only a contextualizer keeps the strategy of the type
            before = by_type.get(rule.type, Route(base.default.strategy, {}))
            by_type[rule.type] = replace(before, contextualizer=rule.contextualizer)
    return by_type


def _check_split(split: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise `ConfigError` for invalid options, even of a strategy that no document uses."""
    for strategy, values in split.items():
        try:
            options_of(strategy, values)
        except ConfigError as error:
            raise ConfigError(f"[split] {error}") from None


def check_model(settings: Settings, recipe: Recipe) -> None:
    """Raise `ConfigError` if a language model is needed but not set, or if another model is missing."""
    for name in filter(None, (settings.embedding.pictures_where(), settings.embedding.sparse)):
        from docmill.storage.search.encode.space import model_dir

        if not is_api(name):
            model_dir(name)
    table = recipe.routes
    # Check all routes, because which of them documents use may be known only hours later.
    routes = [*table.every()]
    routes += [replace(table.default, contextualizer=name) for _, name in table.contexts]
    if not settings.model.provider and any(asks_model(route, recipe.chunk) for route in routes):
        raise ConfigError(
            "contexts, summaries, descriptions and phrasings by a language model need a model: set provider and model"
            ' in [model], or [chunk] contextualizer = "structural", summed_up_by = "extract", describe_figures = false'
            " and phrasings = []"
        )


def discover_options(settings: Settings, may_be_empty: bool) -> DiscoverOptions:
    """Return which files become documents. The store's own files never do."""
    chosen = settings.discover
    return DiscoverOptions(
        chosen.include,
        chosen.exclude,
        chosen.ignore_file,
        hidden=chosen.hidden,
        follow_links=chosen.follow_links,
        may_be_empty=may_be_empty,
        store=settings.store,
    )


def grants_of(settings: Settings) -> Grants:
    """Return who may see documents if no file next to them says so."""
    return Grants(settings.access.default, settings.access.sources)


def retention_of(settings: Settings) -> Retention:
    """Return how long snapshots and deleted documents are kept."""
    kept = settings.retention
    return Retention(kept.keep_snapshots, kept.keep_days, kept.undelete_days, kept.grace_hours, kept.keep_steps)


def search_method_of(settings: Settings, mode: Mode = "hybrid") -> "SearchMethod":
    """Return the search method that the settings describe."""
    from docmill.tasks.evaluate.ask_and_measure import SearchMethod

    return SearchMethod(mode, how_of(settings.search), rewrite_of(settings))


def gate_of(settings: Settings) -> "Gate | None":
    """Return the gate that a new snapshot has to pass, or None; raise if its questions cannot be read."""
    chosen = settings.gate
    if not (chosen.questions or chosen.made_from):
        return None
    from docmill.tasks.evaluate.questions import load_questions
    from docmill.tasks.publishing.gate import Gate

    qrels = Path(chosen.qrels) if chosen.qrels else None
    questions = tuple(load_questions(Path(chosen.questions), qrels)) if chosen.questions else ()
    return Gate(questions, chosen.metric, chosen.max_drop, search_method_of(settings), chosen.made_from)
