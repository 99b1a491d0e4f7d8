"""Recipe: everything besides a file's content that determines its results, and the keys made from it.

A key names a result. While a key stays the same, its result is taken from the store. This table shows what each
change invalidates:

| what changes | what is redone | the key that changes |
|---|---|---|
| the content of a file | all of it | `work_key`, and with it all others |
| a picture file that a page shows | the same | `work_key`, and with it all others |
| the suffix of a name, where it decides the type | all of it | `work_key` |
| the version of a parser, or an option of [parse] that the parser reads | parsing and what follows | `text_key` |
| the reader that [[parse.readers]] chooses, its options, the version of its plugin | the same | `text_key` |
| the engine of OCR, its version, `ocr_languages` | the same, for documents with scanned pages | `text_key` |
| a plugin that reads a suffix unknown to docmill itself | the same | `text_key` |
| the route: strategy, options, contextualizer | splitting from the stored text, and what follows | `chunk_key` |
| the version of a strategy, a contextualizer or their plugin, the tokenizer, a size | the same | `chunk_key` |
| the embedding or the language model, for strategies that use it | the same | `chunk_key` |
| the embedding model | vectors alone | `docmill.storage.keys.embedding_key` |
| only the path, the time or the order of files | nothing | none |

A rejected file is tried again once its content or its `attempt_key` changes. The key covers the version of its parser,
the options of [parse], its reader, and whatever its reason depends on; if a plugin failed on the file, also the routes
and the plugins.
"""

import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from docmill.storage.errors import ConfigError
from docmill.storage.keys import key_of
from docmill.tasks.archive.archive_options import ArchiveOptions
from docmill.tasks.archive.contents import LISTING_VERSION
from docmill.tasks.chunking.chunk_options import ChunkOptions, asks_model, chunker_key
from docmill.tasks.chunking.route import OWN_KEY, Route, RouteTable
from docmill.tasks.context.contextualizers import CONTEXTUALIZERS
from docmill.tasks.parse.dispatch.parsers import format_of_suffix, plugged
from docmill.tasks.parse.dispatch.readers import RAPIDOCR, TESSERACT, ReaderTable, may_be_scanned, parser_key
from docmill.tasks.parse.formats import FILE_TYPE_VERSION, FORMATS, FileType, ParseOptions
from docmill.tasks.paths.content import FileContent
from docmill.tasks.split.strategies import SPLITTERS
from docmill.tasks.split.syntax.grammars import absent
from docmill.tasks.work.pool.limits import Limits

_LIMITING = ("passwords", "max_characters", "max_unpacked_bytes", "pictures")
"""Parse options that decide whether a document can be read but not how, and options that belong to one document."""
_REMEMBERED = 1 << 14
"""Keys of each kind that a process keeps for its next run, in 7 MB; computing that many takes 0.1 s."""
_PROGRAMS = ("pandoc", "soffice", "libreoffice", "tesseract", "readpst")
_PACKAGES = ("unstructured", RAPIDOCR)
"""Packages of extras. A rejected file that needs one, or one of the programs above, is retried once it is installed."""
WITH = " with "
"""Separates the parser of a rejected document from the plugins that worked on it."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything besides a file's content that determines its chunks. `keys`, from [metadata], affects no chunk."""

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
    readers: ReaderTable = field(default_factory=ReaderTable)
    keys: dict[str, str] = field(default_factory=dict)
    _parsers: dict[tuple[FileType, str, str, bool], str] = field(default_factory=dict, compare=False, repr=False)
    _chunkers: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    _usual: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict, compare=False, repr=False)

    def with_passwords(self, passwords: tuple[str, ...]) -> "Recipe":
        """Return the recipe with these passwords to try; a recipe on disk has none."""
        # Recipes are written into orders on disk, where passwords must not be; each process adds them again.
        parse, archives = replace(self.parse, passwords=passwords), replace(self.archives, passwords=passwords)
        return replace(self, parse=parse, archives=archives)

    def attempt_key(self, reason: str, parser: str, uri: str = "") -> str:
        """Return the key of an attempt to read a file; a rejected file is not tried again while it stays the same.

        It covers the version of the file's parser, or of all parsers if none was reached, the reader that the settings
        choose for `uri`, and whatever the reason depends on.
        """
        form = FORMATS.get(parser.split(" ")[0])
        # A new version of any parser may be able to read a file that none could read so far.
        versions = {each.name: each.version for each in (FORMATS.values() if form is None else [form])}
        how = {name: value for name, value in asdict(self.parse).items() if name not in _LIMITING}
        if self.parse.ocr_engine == TESSERACT:  # keys from the time when it was the only engine remain valid
            del how["ocr_engine"]
        cause = _CAUSES.get(reason, _nothing)(self)
        plugins = [self._chunkers_key()] if WITH in parser else []
        plugins += self._readers_key(uri, form is None)
        return key_of("attempt", FILE_TYPE_VERSION, LISTING_VERSION, versions, (how, *cause), *plugins)

    def text_key(self, uri: str, content: FileContent, file_type: FileType, metadata: str = "") -> str:
        """Return the key of the canonical text of some content, or "" if no installed parser reads its format.

        `metadata` is the document's: OCR is part of the key only if it read pages or would.
        """
        return self._text_key(uri, content, file_type, may_be_scanned(file_type, metadata))

    def _text_key(self, uri: str, content: FileContent, file_type: FileType, scanned: bool) -> str:
        reader = self.readers.chosen(uri)
        # The options of a reader are not part of a hash, but of its text.
        known = file_type, suffix_of(uri), repr(reader) if reader else "", scanned
        if known not in self._parsers:
            parser = parser_key(file_type, self.parse, reader, scanned)
            claimed = format_of_suffix(known[1])
            self._parsers[known] = key_of(parser, claimed) if parser and claimed else parser
        return _text_key(content, self._parsers[known]) if self._parsers[known] else ""

    def is_current(
        self, uri: str, content: FileContent, file_type: FileType, text_key: str, metadata: str = ""
    ) -> bool:
        """Return whether today's parsers would make the text that is stored under `text_key`.

        A document whose plugin is gone keeps its text, because nothing can replace it. A document without scanned pages
        may have the key of one with them: older stores with `ocr = true` gave it to all PDFs.
        """
        own = self.text_key(uri, content, file_type, metadata)
        return own in (text_key, "") or text_key == self._text_key(uri, content, file_type, True) != own

    def work_key(self, uri: str, content: FileContent, text_key: str) -> str:
        """Return the key shared by files of equal content, type and route."""
        route = self.routes.route(uri, "")
        named = [route.contextualizer] if route.contextualizer else []
        split = [part for one in route.ensemble for part in (one.strategy, dict(one.options))]
        reader = self.readers.chosen(uri)
        read = ["read", *reader.spelled()] if reader else []
        shown = ["pictures", content.pictures] if content.pictures else []
        return key_of("work", content.hash, suffix_of(uri), text_key, *split, *named, *read, *shown)

    def chunk_key(self, text_key: str, uri: str, content_types: Iterable[str], metadata: str) -> str:
        """Return the key of the chunks of a canonical text, given the types of its regions and its metadata as JSON."""
        kinds = {*content_types}
        try:
            chunkers = self._chunkers_of(kinds, uri, json.loads(metadata) if OWN_KEY in metadata else {})
        except ConfigError as error:  # the document's front matter has become invalid
            return key_of("no chunks", text_key, str(error))
        # Code that was split without a grammar is split again once the grammar is installed.
        return _chunk_key(text_key, chunkers, (absent(),) if "code" in kinds and absent() else ())

    def _chunkers_of(self, kinds: Iterable[str], uri: str, said: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
        """Return each content type with the key of its chunker, sorted; `said` is the document's metadata."""
        usual = "" if said or self.routes.minds_paths else " ".join(sorted(kinds))
        if usual in self._usual:
            return self._usual[usual]
        routes = {kind: self.routes.route(uri, kind, said) for kind in kinds}
        chunkers = tuple(sorted((kind, self._chunker_key(route)) for kind, route in routes.items()))
        if usual:  # a million documents share a few sets of types
            self._usual[usual] = chunkers
        return chunkers

    def _chunkers_key(self) -> str:
        """Return the key of all routes and plugins; a new one of either may succeed with a rejected document."""
        return key_of("chunkers", [self._chunker_key(route) for route in self.routes.every()], _plugins())

    def _readers_key(self, uri: str, unread: bool) -> list[Any]:
        """Return the key parts of the reader of a uri and, if no parser was reached, of all reader plugins."""
        reader = self.readers.chosen(uri)
        own = [["read", *reader.spelled(), reader.readable()]] if reader else []
        others = [str(one) for one in plugged()] if unread else []
        return own + ([others] if others else [])

    def _chunker_key(self, route: Route) -> str:
        if route.also:
            return key_of("ensemble", [self._chunker_key(one) for one in route.ensemble])
        # A key is a hash of many values, and a million documents share a few routes.
        known = repr(route)
        if known not in self._chunkers:
            own = chunker_key(route, self.chunk, self.tokenizer_id)
            asked = {"vectors": self.space_id, "replies": self.model_id}.get(SPLITTERS[route.strategy].asks)
            if asks_model(route, self.chunk):
                asked = f"{asked or ''} {self.model_id}"
            self._chunkers[known] = own if asked is None else key_of(own, asked)
        return self._chunkers[known]


@lru_cache(_REMEMBERED)
def _text_key(content: FileContent, parser: str) -> str:
    return key_of("text", content.hash, parser, *([content.pictures] if content.pictures else []))


@lru_cache(_REMEMBERED)
def _chunk_key(text_key: str, chunkers: tuple[tuple[str, str], ...], without: tuple[tuple[str, ...], ...]) -> str:
    return key_of("chunks", text_key, dict(chunkers), *without)


def _limits_of_size(recipe: Recipe) -> tuple[Any, ...]:
    own = (recipe.max_file_bytes, recipe.parse.max_characters, recipe.parse.max_unpacked_bytes)
    return own, asdict(replace(recipe.archives, passwords=()))


def _strategies(_recipe: Recipe) -> tuple[Any, ...]:
    return {name: [option.name for option in fields(one.options)] for name, one in SPLITTERS.own.items()}, *_plugins()


def _plugins() -> list[str]:
    return [str(origin) for registry in (SPLITTERS, CONTEXTUALIZERS) for origin in registry.origins]


def _installed(_recipe: Recipe) -> tuple[Any, ...]:
    packages = [name for name in _PACKAGES if find_spec(name)]
    return ([name for name in _PROGRAMS if shutil.which(name)], *packages)


def installed() -> list[str]:
    """Return which of the programs and packages that some formats need are installed on this machine."""
    return [name for name in _PROGRAMS if shutil.which(name)] + [name for name in _PACKAGES if find_spec(name)]


def _nothing(_recipe: Recipe) -> tuple[Any, ...]:
    return (None,)


_CAUSES: dict[str, Callable[[Recipe], tuple[Any, ...]]] = {
    "encrypted": lambda recipe: (recipe.parse.passwords,),
    "too_large": _limits_of_size,
    "misrouted": _strategies,
    "not_installed": _installed,
    "timeout": lambda recipe: (recipe.limits.timeout_s,),
    "memory": lambda recipe: (recipe.limits.memory_mb,),
}
"""What each reason depends on besides the parser; when that changes, the document may succeed."""


def suffix_of(uri: str) -> str:
    """Return the part of a name that may show a file's type: its suffix, or the whole name if it has none."""
    name = uri.rpartition("/")[2]
    dot = name.rfind(".")
    return (name[dot:] if 0 < dot < len(name) - 1 else name).lower()
