"""Process: one document, from bytes to chunks, as a worker process does it; so nothing here imports Arrow."""

import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path, PurePosixPath
from typing import Any

from docmill.storage.errors import ConfigError, Rejected
from docmill.storage.keys import hash_bytes, key_of
from docmill.storage.schema import Draft, Parsed, StagedDocument
from docmill.tasks.archive.archive_options import ArchiveOptions
from docmill.tasks.archive.laid_members import why_missing
from docmill.tasks.archive.listing import VERSION as LISTING_VERSION
from docmill.tasks.chunking.chunk import ChunkOptions, asks_model, chunk_regions, chunker_key, vector_keys
from docmill.tasks.chunking.route import OWN_KEY, Route, Routed, RouteTable
from docmill.tasks.counting.tokens import load_tokenizer
from docmill.tasks.detect.regions import find_regions
from docmill.tasks.detect.verdict import detect
from docmill.tasks.model.prompt import Prompt
from docmill.tasks.parse.dispatch.file_type import VERSION as FILE_TYPE_VERSION
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse, parser_key
from docmill.tasks.parse.format import FileType, ParseOptions
from docmill.tasks.parse.formats import FORMATS
from docmill.tasks.parse.metadata import facts_of
from docmill.tasks.split.parts.lookup import Lookup
from docmill.tasks.split.strategies import SPLITTERS
from docmill.tasks.workers.memory_release import release
from docmill.tasks.workers.pool import Limits
from docmill.tasks.workers.worker import announce

_LIMITING = ("passwords", "max_characters", "max_unpacked_bytes")
_PROGRAMS = ("pandoc", "soffice", "libreoffice", "tesseract")


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that decides what a file's content becomes, besides that content."""

    parse: ParseOptions
    chunk: ChunkOptions
    routes: RouteTable
    space_id: str
    tokenizer_dir: str
    tokenizer_id: str
    max_file_bytes: int
    archives: ArchiveOptions
    limits: Limits
    model_id: str = ""
    _parsers: dict[FileType, str] = field(default_factory=dict, compare=False, repr=False)
    _chunkers: dict[str, str] = field(default_factory=dict, compare=False, repr=False)

    def attempt_key(self, reason: str, parser: str) -> str:
        """Return what must change before a rejected file is tried again, besides its content.

        That is the version of its parser, or of all where none was reached, and what the reason hangs on.
        """
        form = FORMATS.get(parser.split(" ")[0])
        versions = {each.name: each.version for each in (FORMATS.values() if form is None else [form])}
        return key_of("attempt", FILE_TYPE_VERSION, LISTING_VERSION, versions, self._hangs_on(reason))

    def _hangs_on(self, reason: str) -> Any:
        how = {name: value for name, value in asdict(self.parse).items() if name not in _LIMITING}
        if reason == "encrypted":
            return how, self.parse.passwords
        if reason == "too_large":
            own = (self.max_file_bytes, self.parse.max_characters, self.parse.max_unpacked_bytes)
            return how, own, asdict(replace(self.archives, passwords=()))
        if reason == "misrouted":
            return how, {name: [option.name for option in fields(one.options)] for name, one in SPLITTERS.items()}
        if reason == "not_installed":
            return how, [name for name in _PROGRAMS if shutil.which(name)]
        return how, {"timeout": self.limits.timeout_s, "memory": self.limits.memory_mb}.get(reason)

    def text_key(self, content_hash: str, file_type: FileType) -> str:
        """Return the key of the canonical text of a content."""
        if file_type not in self._parsers:
            self._parsers[file_type] = parser_key(file_type, self.parse)
        return key_of("text", content_hash, self._parsers[file_type])

    def work_key(self, uri: str, content_hash: str, text_key: str) -> str:
        """Return the key that files of equal content, type and route share."""
        route = self.routes.route(uri, "")
        named = [route.contextualizer] if route.contextualizer else []
        split = [part for one in route.ensemble for part in (one.strategy, dict(one.options))]
        return key_of("work", content_hash, suffix_of(uri), text_key, *split, *named)

    def chunk_key(self, text_key: str, uri: str, content_types: Iterable[str], metadata: str) -> str:
        """Return the key of the chunks of a canonical text with regions of some types; `metadata` is the row's."""
        said = json.loads(metadata) if OWN_KEY in metadata else {}
        try:
            routes = {kind: self.routes.route(uri, kind, said) for kind in set(content_types)}
        except ConfigError as error:  # what the document says of itself is wrong now
            return key_of("no chunks", text_key, str(error))
        return key_of("chunks", text_key, {kind: self._chunker_key(route) for kind, route in routes.items()})

    def _chunker_key(self, route: Route) -> str:
        if route.also:
            return key_of("ensemble", [self._chunker_key(one) for one in route.ensemble])
        known = repr(route)
        if known not in self._chunkers:
            own = chunker_key(route, self.chunk, self.tokenizer_id)
            asked = {"vectors": self.space_id, "replies": self.model_id}.get(SPLITTERS[route.strategy].asks)
            if asks_model(route, self.chunk):
                asked = f"{asked or ''} {self.model_id}"
            self._chunkers[known] = own if asked is None else key_of(own, asked)
        return self._chunkers[known]


@dataclass(frozen=True, slots=True)
class Work:
    """One content to process; files of equal content and route share one, and its `key`.

    `text_key` is set when the canonical text is already stored. `uri` gives the suffix and the route.
    `place` leads to a member of the archive at `path`; once it is unpacked, `path` is that of the member.
    """

    key: str
    uri: str
    path: str
    size: int
    content_hash: str
    text_key: str = ""
    format: str = ""
    language: str = ""
    place: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Job:
    """What one worker call gets: the work, how to do it, the parsed document where it is stored, and answers."""

    work: Work
    recipe: Recipe
    stored: Parsed | None
    lookup: Lookup = field(default_factory=Lookup)


@dataclass(frozen=True, slots=True)
class Processed:
    """What one worker call gives: the row, its chunks, the parsed document where it is new, and what it asks.

    `keys` are those of each chunk's vectors. While `asked` holds texts whose vectors were missing, or `unsaid`
    prompts without a reply, the chunks are not yet those of its strategies.
    """

    document: StagedDocument
    drafts: list[Draft]
    parsed: Parsed | None
    asked: tuple[str, ...] = ()
    unsaid: tuple[Prompt, ...] = ()
    keys: tuple[tuple[str, ...], ...] = ()


def suffix_of(uri: str) -> str:
    """Return the part of a name that may tell a file's type: its suffix, or the whole name without one."""
    name = uri.rpartition("/")[2]
    dot = name.rfind(".")
    return (name[dot:] if 0 < dot < len(name) - 1 else name).lower()


def process_document(job: Job) -> Processed:
    """Parse, detect, route, split and contextualize one document, or say why it cannot be used."""
    if job.stored is not None:
        file_type = FileType(job.work.format, job.work.language)
        announce(_parser_name(file_type))
        return _split(job, file_type, job.stored)
    data = _read(job.work, job.recipe.max_file_bytes)
    work = replace(job.work, content_hash=hash_bytes(data), size=len(data))
    try:
        file_type = detect_file_type(PurePosixPath(work.uri).name, data)
    except Rejected as why:
        return reject(work, why)
    announce(_parser_name(file_type))
    try:
        parsed = parse(data, file_type, job.recipe.parse)
    except Rejected as why:
        return reject(work, why, file_type)
    finally:
        del data  # before the text is split: of a large file both together may be too much
        release()
    return _split(replace(job, work=work), file_type, parsed)


def _split(job: Job, file_type: FileType, parsed: Parsed) -> Processed:
    """Return the row and the chunks of a parsed document."""
    work, recipe = job.work, job.recipe
    regions = find_regions(parsed, file_type)
    try:
        routed = recipe.routes.route_regions(work.uri, regions, parsed.metadata)
    except ConfigError as error:
        return reject(work, Rejected("misrouted", str(error)), file_type)
    drafts = chunk_regions(parsed, routed, load_tokenizer(recipe.tokenizer_dir), recipe.chunk, job.lookup)
    document = _document(job, file_type, parsed, routed, len(drafts))
    new = parsed if job.stored is None else None
    keys = vector_keys(parsed.text, drafts, recipe.chunk.late, recipe.space_id)
    return Processed(document, drafts, new, tuple(job.lookup.wanted), tuple(job.lookup.unsaid), keys)


def _document(job: Job, file_type: FileType, parsed: Parsed, routed: Sequence[Routed], chunks: int) -> StagedDocument:
    """Return the row of a document whose regions have their routes, and that was split into so many chunks."""
    work, recipe = job.work, job.recipe
    text_key = recipe.text_key(work.content_hash, file_type)
    content_types = tuple(dict.fromkeys(one.region.verdict.content_type for one in routed))
    metadata = json.dumps(parsed.metadata, ensure_ascii=False, default=str, sort_keys=True)
    return StagedDocument(
        work_key=work.key,
        content_hash=work.content_hash,
        suffix=suffix_of(work.uri),
        size=work.size,
        format=file_type.format,
        language=file_type.language,
        title=parsed.title,
        content_type=detect(parsed, file_type).content_type,
        text_key=text_key,
        chunk_key=recipe.chunk_key(text_key, work.uri, content_types, metadata),
        characters=len(parsed.text),
        chunks=chunks,
        metadata=metadata,
        **asdict(facts_of(parsed.metadata)),
        parsed=job.stored is None,
        reason="",
        message="",
        parser=_parser_name(file_type),
        content_types=content_types,
        regions=tuple(one.row() for one in routed),
    )


def _read(work: Work, limit: int) -> bytes:
    if work.size > limit:
        raise Rejected("too_large", f"{work.size} bytes, the limit is {limit} (discover.max_file_bytes)")
    try:
        return Path(work.path).read_bytes()
    except FileNotFoundError as error:
        raise why_missing(Path(work.path)) if work.place else Rejected("unreadable", "it is gone") from error
    except OSError as error:
        raise Rejected("unreadable", error.strerror or str(error)) from error


def _parser_name(file_type: FileType) -> str:
    return f"{file_type.format} {FORMATS[file_type.format].version}"


def reject(work: Work, why: Rejected, file_type: FileType | None = None) -> Processed:
    """Return the row of a document that cannot be used."""
    document = StagedDocument(
        work_key=work.key,
        content_hash=work.content_hash,
        suffix=suffix_of(work.uri),
        size=work.size,
        format="",
        language="",
        title="",
        content_type="",
        text_key="",
        chunk_key="",
        characters=0,
        chunks=0,
        metadata="{}",
        parsed=not work.text_key,
        reason=why.reason,
        message=why.message,
        parser=_parser_name(file_type) if file_type else why.parser,
    )
    return Processed(document, [], None)
