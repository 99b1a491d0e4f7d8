"""Process: turn one document from bytes into chunks in a worker process; nothing here imports Arrow.

The picture files that a page shows are read with it, within limits.
"""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePosixPath
from time import perf_counter
from typing import Any, NamedTuple

from docmill.storage.errors import ConfigError, Rejected
from docmill.storage.keys import hash_bytes
from docmill.storage.schema import OCR_PAGES, Draft, Element, Parsed, StagedDocument
from docmill.storage.search.keywords.analysis.language_detection import written_language
from docmill.storage.search.keywords.analysis.language_tags import READ_AS, primary_tag
from docmill.tasks.archive.contents import why_missing
from docmill.tasks.chunking.chunk import chunk_regions, plugins_in, vector_keys
from docmill.tasks.chunking.route import Routed
from docmill.tasks.counting.tokens import load_tokenizer
from docmill.tasks.detect.regions import find_regions
from docmill.tasks.detect.type_scores import Verdict, detect
from docmill.tasks.model.prompt import Prompt
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.readers import ChosenReader, parser_name, reader_name
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType
from docmill.tasks.parse.metadata import Facts, facts_of
from docmill.tasks.parse.pictures.album import MAX_BYTES, MOST_BYTES
from docmill.tasks.parse.titles.own_title import COVER, cover
from docmill.tasks.paths.content import PictureBeside, content_of
from docmill.tasks.split.parts.captions import bound_captions
from docmill.tasks.split.parts.model_lookup import Lookup
from docmill.tasks.work.document.recipe import WITH, Recipe, suffix_of
from docmill.tasks.work.document.work_item import WorkItem, rejected_row
from docmill.tasks.work.pool.memory_release import release
from docmill.tasks.work.pool.worker import announce

_FACTS = ("key", "media_type", "width", "height", "bytes")


def figure_rows(parsed: Parsed) -> tuple[dict[str, Any], ...]:
    """Return a `FIGURE` row for each figure of a document, in order."""
    figures = [one for one in parsed.elements if one.kind == "figure"]
    captions = bound_captions(parsed).of if figures else {}
    return tuple(_row(parsed.text, one, captions.get(one.start_char)) for one in figures)


def _row(text: str, figure: Element, caption: Element | None) -> dict[str, Any]:
    own = figure.attributes
    below = "" if caption is None else " ".join(text[caption.start_char : caption.end_char].strip("*_ \n").split())
    return {
        **{name: own[name] for name in _FACTS},
        "start_char": figure.start_char,
        "end_char": figure.end_char,
        "page": figure.page or None,
        "box": [*figure.box] if figure.box else [],
        "caption": own.get("caption") or below,
        "alt": own.get("alt", ""),
    }


@dataclass(frozen=True, slots=True)
class WorkRequest:
    """The input of one worker call: the work, the recipe, the parsed document if stored, and model answers."""

    work: WorkItem
    recipe: Recipe
    stored: Parsed | None
    lookup: Lookup = field(default_factory=Lookup)

    @property
    def reader(self) -> ChosenReader | None:
        """Return the reader that the settings choose for the document."""
        return self.recipe.readers.chosen(self.work.uri)


@dataclass(frozen=True, slots=True)
class PhaseSeconds:
    """Seconds that a worker spent on documents: reading and parsing, detecting and routing, splitting and contexts.

    `ocr` is the share of `parse` spent on documents in which OCR read pages.
    """

    parse: float = 0.0
    detect: float = 0.0
    chunk: float = 0.0
    ocr: float = 0.0

    def __add__(self, other: "PhaseSeconds") -> "PhaseSeconds":
        ocr = self.ocr + other.ocr
        return PhaseSeconds(self.parse + other.parse, self.detect + other.detect, self.chunk + other.chunk, ocr)


@dataclass(frozen=True, slots=True)
class WorkResult:
    """The result of one worker call: the row, the chunks, the parsed document if new, and what it needs from models.

    `keys` has the vector keys of each chunk. `asked` are texts that lack vectors, `unsaid` prompts that lack replies;
    until both are empty, the chunks are not final.
    """

    document: StagedDocument
    drafts: list[Draft]
    parsed: Parsed | None
    asked: tuple[str, ...] = ()
    unsaid: tuple[Prompt, ...] = ()
    keys: tuple[tuple[str, ...], ...] = ()
    spent: PhaseSeconds = field(default=PhaseSeconds(), compare=False)


def process_document(job: WorkRequest) -> WorkResult:
    """Parse, detect, route, split and contextualize one document, or return the reason for its rejection."""
    began = perf_counter()
    result = _processed(job)
    later = result.spent.detect + result.spent.chunk
    parse = perf_counter() - began - later
    ocr = parse if result.parsed and result.parsed.metadata.get(OCR_PAGES) else 0.0
    return replace(result, spent=replace(result.spent, parse=parse, ocr=ocr))


def _processed(job: WorkRequest) -> WorkResult:
    if job.stored is not None:
        file_type = FileType(job.work.format, job.work.language)
        announce(parser_name(file_type, job.reader))
        return _split(job, file_type, job.stored)
    # Hash the bytes just read: the files may have changed since the sources were listed.
    data = _read(job.work, job.recipe.max_file_bytes)
    work, pictures = read_pictures(replace(job.work, content_hash=hash_bytes(data), size=len(data)))
    try:
        file_type = detect_file_type(PurePosixPath(work.uri).name, data)
    except Rejected as why:
        return reject(work, why)
    # Announced before the parser runs, because it may crash the process; the reject then names it.
    parser = parser_name(file_type, job.reader)
    announce(parser)
    try:
        parsed = parse(data, file_type, replace(job.recipe.parse, pictures=pictures), job.reader)
    except Rejected as why:
        return reject(work, why, parser)
    finally:
        del data, pictures  # freed before splitting: for a large file, bytes and chunks together may exceed the limit
        release()
    return _split(replace(job, work=work), file_type, parsed)


def _split(job: WorkRequest, file_type: FileType, parsed: Parsed) -> WorkResult:
    """Return the row and the chunks of a parsed document."""
    work, recipe = job.work, job.recipe
    began = perf_counter()
    whole = detect(parsed, file_type)
    regions = find_regions(parsed, file_type, whole)
    try:
        routed = recipe.routes.route_regions(work.uri, regions, parsed.metadata)
    except ConfigError as error:
        return reject(work, Rejected("misrouted", str(error)), parser_name(file_type, job.reader))
    detected = perf_counter()
    try:
        drafts = _chunks(job, file_type, parsed, routed)
    except Rejected as why:
        return reject(work, why, parser_name(file_type, job.reader))
    document = _document(job, file_type, parsed, _RoutedDocument(whole, routed), len(drafts))
    # A stored text need not be sent back through the pipe.
    new = parsed if job.stored is None else None
    keys = vector_keys(parsed.text, drafts, recipe.chunk.late, recipe.space_id)
    spent = PhaseSeconds(detect=detected - began, chunk=perf_counter() - detected)
    return WorkResult(document, drafts, new, tuple(job.lookup.wanted), tuple(job.lookup.unsaid), keys, spent)


def _chunks(job: WorkRequest, file_type: FileType, parsed: Parsed, routed: Sequence[Routed]) -> list[Draft]:
    """Return the chunks of routed regions; announce the plugins at work, so that a reject names them."""
    recipe = job.recipe
    parser = WITH.join([parser_name(file_type, job.reader), *plugins_in(routed, recipe.chunk)])
    announce(parser)
    try:
        return chunk_regions(parsed, routed, load_tokenizer(recipe.tokenizer_dir), recipe.chunk, job.lookup)
    except Rejected as why:
        raise Rejected(why.reason, why.message, parser) from why


class _RoutedDocument(NamedTuple):
    """The content type of a whole document, and its routed regions."""

    whole: Verdict
    routed: Sequence[Routed]


def _document(
    job: WorkRequest, file_type: FileType, parsed: Parsed, judged: _RoutedDocument, chunks: int
) -> StagedDocument:
    """Return the row of a document, given its detected types and the number of its chunks."""
    work, recipe = job.work, job.recipe
    # A stored text keeps its key, even if the plugin that read it is no longer installed.
    known = work.text_key if job.stored is not None else ""
    # Each type once, in text order, so that equal regions make equal rows.
    content_types = tuple(dict.fromkeys(one.region.verdict.content_type for one in judged.routed))
    # YAML has dates, which JSON lacks. Sorting makes equal metadata equal rows.
    metadata = json.dumps(parsed.metadata | _cover(parsed), ensure_ascii=False, default=str, sort_keys=True)
    content = content_of(work.content_hash, work.pictures)
    text_key = known or recipe.text_key(work.uri, content, file_type, metadata)
    return StagedDocument(
        work_key=work.key,
        content_hash=work.content_hash,
        suffix=suffix_of(work.uri),
        size=work.size,
        format=file_type.format,
        language=file_type.language,
        title=parsed.title,
        content_type=judged.whole.content_type,
        text_key=text_key,
        chunk_key=recipe.chunk_key(text_key, work.uri, content_types, metadata),
        characters=len(parsed.text),
        chunks=chunks,
        metadata=metadata,
        **asdict(_with_language(facts_of(parsed.metadata), file_type, parsed)),
        parsed=job.stored is None,
        reason="",
        message="",
        parser=parser_name(file_type, job.reader),
        reader=reader_name(file_type, job.reader),
        content_types=content_types,
        regions=tuple(one.row() for one in judged.routed),
        figures=figure_rows(parsed),
    )


def _with_language(facts: Facts, file_type: FileType, parsed: Parsed) -> Facts:
    """Return the facts with the language detected from the text, unless it is source code or detection is unsure.

    Files often state the language of their template. The stated language is kept if docmill cannot distinguish it
    from others, and if it only adds a region to the detected one.
    """
    stated = primary_tag(facts.lang)
    if file_type.language or (stated and stated not in READ_AS):
        return facts
    written = written_language(prose_of(parsed))
    return facts if written in ("", _WRITTEN_AS.get(stated, stated)) else replace(facts, lang=written)


_WRITTEN_AS = {"nb": "no", "nn": "no"}  # two standards of one language, which detection does not distinguish


def prose_of(parsed: Parsed) -> str:
    """Return the text of a document without its code, which is in no natural language."""
    written, end = [], 0
    for element in parsed.elements:
        if element.kind == "code" and element.start_char >= end:
            written.append(parsed.text[end : element.start_char])
            end = element.end_char
    return "".join((*written, parsed.text[end:]))


def _cover(parsed: Parsed) -> dict[str, str]:
    """Return the cover words to add to the metadata of a document without a title."""
    words = "" if parsed.title else cover(parsed)
    return {COVER: words} if words else {}


def _read(work: WorkItem, limit: int) -> bytes:
    try:
        with work.file.open() as file:
            # A source may not know the size of what it lists, and a file may have grown since.
            size = max(work.size, os.fstat(file.fileno()).st_size)
            if size > limit:
                raise Rejected("too_large", f"{size} bytes, the limit is {limit} (discover.max_file_bytes)")
            return file.read()
    except FileNotFoundError as error:
        raise why_missing(Path(work.path)) if work.place else Rejected("unreadable", "the file is gone") from error
    except OSError as error:
        raise Rejected("unreadable", error.strerror or str(error)) from error


def reject(work: WorkItem, why: Rejected, parser: str = "") -> WorkResult:
    """Return the result for a rejected document; `parser` was reading it when it was rejected."""
    return WorkResult(rejected_row(work, why, parser), [], None)


def read_pictures(work: WorkItem) -> tuple[WorkItem, dict[str, bytes]]:
    """Return the work with the hashes of the pictures that the page shows, and the bytes of these pictures by name.

    A picture that is gone or cannot be read has the hash "". When a later run finds another hash, it reads the page
    again.
    """
    read, found = dict[str, bytes](), list[PictureBeside]()
    for one, data in _beside(work):
        found.append(one)
        if data is not None:
            read[one.name] = data
    return replace(work, pictures=tuple(found)), read


def _beside(work: WorkItem) -> Iterator[tuple[PictureBeside, bytes | None]]:
    left = MOST_BYTES
    for one in work.pictures:
        if left < 0:  # no more are kept
            yield one, None
            continue
        try:
            with one.file.open() as file:
                data = file.read(MAX_BYTES + 1)
        except OSError:
            yield replace(one, content_hash=""), None
            continue
        left -= len(data)
        # A picture that is too large is not hashed: its first bytes show that it will not be used.
        yield one if len(data) > MAX_BYTES else replace(one, content_hash=hash_bytes(data)), data
