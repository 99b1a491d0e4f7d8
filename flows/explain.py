"""Explain: the regions of a file, the rule that routes each, and the resulting chunks."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import filterfalse
from json import loads
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from docmill.flows.config.from_settings import recipe_of, space_of
from docmill.flows.config.settings import Settings
from docmill.storage.errors import Rejected, SourceError
from docmill.storage.schema import Draft
from docmill.storage.search.encode.encoder import load_encoder
from docmill.storage.sql.document_warnings import warnings_in
from docmill.tasks.chunking.route import Route, Routed
from docmill.tasks.sources.discover import is_remote, open_source
from docmill.tasks.split.parts.model_lookup import Lookup
from docmill.tasks.work.document.preview import Read, Reading, Splitting, Taking, read, split, take
from docmill.tasks.work.pool.pool import Pool, shared_pool

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class Split:
    """The chunks of a document, split by its routes or by one strategy; `asked` are the requested strategies."""

    name: str
    chunks: list[Draft]
    asked: frozenset[str]

    def spelled(self) -> str:
        """Return the name, with the fallback if a strategy had no model to ask."""
        others = sorted({chunk.strategy for chunk in self.chunks} - self.asked)
        return f"{self.name}, here by {' and '.join(others)}" if others else self.name


@dataclass(frozen=True, slots=True)
class Explanation:
    """How docmill reads and splits a file.

    `globs` are the globs in the route table that match its uri, of which the first applies.
    """

    path: Path
    uri: str
    source: str
    globs: tuple[str, ...]
    document: Read
    routed: tuple[Routed, ...]
    splits: tuple[Split, ...]

    @property
    def warnings(self) -> list[str]:
        """What was lost of the file or read in a worse way, in words."""
        return [warning.message for warning in warnings_in(self.document.parsed.metadata)]

    @property
    def format(self) -> str:
        """The format and language of the file, and the parser if settings or a plugin chose it, in words."""
        file_type, reader = self.document.file_type, self.document.reader
        language = f" ({file_type.language})" if file_type.language else ""
        return f"{file_type.format}{language}{f' by {reader}' if reader else ''}"

    def as_json(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        parsed, file_type = self.document.parsed, self.document.file_type
        return {
            "file": str(self.path),
            "uri": self.uri,
            "source": self.source,
            "format": file_type.format,
            "language": file_type.language,
            "reader": self.document.reader,
            "title": parsed.title,
            "characters": len(parsed.text),
            "warnings": self.warnings,
            **asdict(self.document.verdict),
            "globs": list(self.globs),
            "regions": [
                {**(row := one.row()), "options": loads(row["options"]), "rule": one.rule} for one in self.routed
            ],
            "splits": [{"name": one.name, "chunks": [asdict(chunk) for chunk in one.chunks]} for one in self.splits],
        }


def explain(settings: Settings, path: Path, trials: Mapping[str, Route]) -> Explanation:
    """Explain a file or a member of an archive, split by its routes and by each trial.

    Needs no store. Raises `SourceError` if the file cannot be used, `ConfigError` if its front matter is wrong.
    """
    holder, inner = _holder(path)
    recipe = recipe_of(settings, space_of(settings))
    uri, source = _place(settings, holder)
    uri += f"/{inner}" if inner else ""
    pool = shared_pool(settings.parse.limits())
    with TemporaryDirectory(prefix="docmill-explain-") as folder:
        file = Path(folder, "member") if inner else path.absolute()
        try:
            if inner:
                _call(pool, take, Taking(holder.absolute(), inner, file, recipe.archives))
            reader = recipe.readers.chosen(uri)
            document = _call(pool, read, Reading(file, uri, recipe.parse, recipe.max_file_bytes, reader))
        except Rejected as why:
            raise SourceError(f"{path}: {why}") from None
        routed = tuple(recipe.routes.route_regions(uri, document.regions, document.parsed.metadata))
        ways = {"routes": routed} | {
            name: tuple(Routed(one.region, route, "--strategy") for one in routed) for name, route in trials.items()
        }
        splits = tuple(
            Split(
                name,
                _chunks(pool, settings, Splitting(document.parsed, tuple(way), recipe.tokenizer_dir, recipe.chunk)),
                frozenset(route.strategy for one in way for route in one.route.ensemble),
            )
            for name, way in ways.items()
        )
    return Explanation(path, uri, source, recipe.routes.matching(uri), document, routed, splits)


def _chunks(pool: Pool, settings: Settings, task: Splitting) -> list[Draft]:
    """Return the chunks of a document. Texts that a strategy needs embedded are embedded here.

    The language model is not asked, because that costs money.
    """
    chunks, asked = _call(pool, split, task)
    if not asked:
        return chunks
    encoder = load_encoder(*settings.embedding.where())
    return _call(pool, split, replace(task, lookup=Lookup(dict(zip(asked, encoder.encode(asked), strict=True)))))[0]


def _call(pool: Pool, function: Callable[[A], B], item: A) -> B:
    (result,) = pool.map(function, [item])
    if isinstance(result, Rejected):
        raise result
    return result


def _holder(path: Path) -> tuple[Path, str]:
    """Split a path into a file on disk and, if that is an archive, the path of a member, else ""."""
    for one in (path, *path.parents):
        if one.is_file():
            return one, "" if one == path else path.relative_to(one).as_posix()
    raise SourceError(f"{path}: is a folder; name a file in it" if path.is_dir() else f"{path}: no such file")


def _place(settings: Settings, path: Path) -> tuple[str, str]:
    """Return the uri and source of a file that is in one of the sources, else its name and ""."""
    for argument in filterfalse(is_remote, settings.sources):
        try:
            source = open_source(argument)
        except SourceError:
            continue
        if source.folder and path.resolve().is_relative_to(source.folder):
            uri = source.prefix + path.resolve().relative_to(source.folder).as_posix()
            if source.covers(uri):
                return uri, source.name
    return path.name, ""
