"""Preview: split a document without a store; each step is one call in a worker process."""

from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from docmill.storage.errors import ConfigError, Rejected
from docmill.storage.schema import Draft, Parsed
from docmill.tasks.archive.archive_options import ArchiveOptions
from docmill.tasks.archive.listing import extract, list_contents
from docmill.tasks.chunking.chunk import chunk_regions
from docmill.tasks.chunking.chunk_options import ChunkOptions
from docmill.tasks.chunking.route import Route, Routed
from docmill.tasks.counting.tokens import load_tokenizer
from docmill.tasks.detect.regions import Region, find_regions
from docmill.tasks.detect.type_scores import Verdict, detect
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.readers import ChosenReader, reader_name
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.paths.local_file import LocalFile
from docmill.tasks.split.parts.model_lookup import Lookup
from docmill.tasks.work.document.recipe import Recipe

_TOLD = 10
"""Members of an archive to name in an error: enough to show how names are written."""


@dataclass(frozen=True, slots=True)
class Taking:
    """A member to extract from the archive or mail at `holder`, and the path to write it to."""

    holder: Path
    inner: str
    target: Path
    options: ArchiveOptions


@dataclass(frozen=True, slots=True)
class Reading:
    """A file to read. Its bytes are at `path`; its type is detected from them and from `name`.

    `reader` is the reader that the settings choose, or None.
    """

    path: Path
    name: str
    options: ParseOptions
    max_bytes: int
    reader: ChosenReader | None = None


@dataclass(frozen=True, slots=True)
class Read:
    """The type, content and regions of a file; `reader` names the parser that read it, "" for docmill's default."""

    file_type: FileType
    parsed: Parsed
    verdict: Verdict
    regions: tuple[Region, ...]
    reader: str = ""


@dataclass(frozen=True, slots=True)
class Splitting:
    """A document to split by routes or by one strategy."""

    parsed: Parsed
    routed: tuple[Routed, ...]
    tokenizer_dir: str
    options: ChunkOptions
    lookup: Lookup = field(default_factory=Lookup)


@dataclass(frozen=True, slots=True)
class Resplitting:
    """A parsed document to split as a recipe says or, if given, to split entirely by `route`."""

    uri: str
    file_type: FileType
    parsed: Parsed
    recipe: Recipe
    route: Route | None = None
    lookup: Lookup = field(default_factory=Lookup)


def take(task: Taking) -> None:
    """Extract a member of an archive or a mail; raise Rejected if that fails."""
    holder = LocalFile(str(task.holder))
    contents = list_contents(holder, task.holder.name, task.options)
    held = {entry.name: entry for entry in contents.entries if not entry.skipped}
    entry = held.get(task.inner)
    if contents.reason:
        raise Rejected(contents.reason, contents.message)
    if entry is None:
        raise Rejected(
            "unreadable", f"it has no member {task.inner!r}, only {', '.join(sorted(held)[:_TOLD]) or 'nothing'}"
        )
    if entry.reason:
        raise Rejected(entry.reason, entry.message)
    extract(holder, task.holder.name, {entry.place: task.target}, task.options)


def read(task: Reading) -> Read:
    """Parse a file and detect its regions; raise Rejected if it cannot be used."""
    data = task.path.read_bytes()
    if len(data) > task.max_bytes:
        raise Rejected("too_large", f"{len(data)} bytes, the limit is {task.max_bytes} (discover.max_file_bytes)")
    file_type = detect_file_type(PurePosixPath(task.name).name, data)
    parsed = parse(data, file_type, task.options, task.reader)
    read_by = reader_name(file_type, task.reader)
    return Read(file_type, parsed, detect(parsed, file_type), find_regions(parsed, file_type), read_by)


def split(task: Splitting) -> tuple[list[Draft], tuple[str, ...]]:
    """Return the chunks of a document, and the texts whose vectors its strategies lacked."""
    tokenizer, lookup = load_tokenizer(task.tokenizer_dir), task.lookup
    return chunk_regions(task.parsed, task.routed, tokenizer, task.options, lookup), tuple(lookup.wanted)


def resplit(task: Resplitting) -> tuple[list[Draft], tuple[str, ...]]:
    """Return the chunks of a parsed document, and the texts whose vectors its strategies lacked.

    Raise Rejected `misrouted` if the document's own front matter names an invalid route.
    """
    parsed, recipe = task.parsed, task.recipe
    regions = find_regions(parsed, task.file_type)
    if task.route is not None:
        routed = tuple(Routed(one, task.route, "") for one in regions)
    else:
        try:
            routed = tuple(recipe.routes.route_regions(task.uri, regions, parsed.metadata))
        except ConfigError as error:
            raise Rejected("misrouted", str(error)) from error
    return split(Splitting(parsed, routed, recipe.tokenizer_dir, recipe.chunk, task.lookup))
