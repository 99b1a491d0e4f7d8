"""Recipe: everything besides a file's content that decides what the content becomes, and the keys made from it.

A key names a result. While a key stays the same, its result is taken from the store. This page says what
invalidates what:

| what changes | what is done again | the key that changes |
|---|---|---|
| the content of a file | all of it | `work_key`, and with it all others |
| the suffix of a name, where it decides the type | all of it | `work_key` |
| the version of a parser, or an option of [parse] that the parser reads | parsing and what follows | `text_key` |
| the route: strategy, options, contextualizer | splitting from the stored text, and what follows | `chunk_key` |
| the version of a strategy or contextualizer, the tokenizer, a size | the same | `chunk_key` |
| the embedding or the language model, for strategies that ask it | the same | `chunk_key` |
| the embedding model | vectors alone | `docmill.storage.keys.embedding_key` |
| nothing but the path, the time or the order of files | nothing | none |

A rejected file is tried again once its content changes, or its `attempt_key`: the version of its parser, the options
of [parse], and what its reason depends on.
"""

import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.util import find_spec
from typing import Any

from docmill.storage.errors import ConfigError
from docmill.storage.keys import key_of
from docmill.tasks.archive.archive_options import ArchiveOptions
from docmill.tasks.archive.listing import VERSION as LISTING_VERSION
from docmill.tasks.chunking.chunk import ChunkOptions, asks_model, chunker_key
from docmill.tasks.chunking.route import OWN_KEY, Route, RouteTable
from docmill.tasks.parse.dispatch.file_type import VERSION as FILE_TYPE_VERSION
from docmill.tasks.parse.dispatch.reading import parser_key
from docmill.tasks.parse.format import FileType, ParseOptions
from docmill.tasks.parse.formats import FORMATS
from docmill.tasks.split.strategies import SPLITTERS
from docmill.tasks.split.syntax.grammars import absent
from docmill.tasks.workers.pool import Limits

_LIMITING = ("passwords", "max_characters", "max_unpacked_bytes")
"""Options of parsing that decide whether a document is read, and not how."""
_PROGRAMS = ("pandoc", "soffice", "libreoffice", "tesseract")
_PACKAGES = ("unstructured",)
"""Programs that parsers start, and packages of extras; a rejected file that needs one is tried again with it."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything besides a file's content that determines its chunks."""

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

    def with_passwords(self, passwords: tuple[str, ...]) -> "Recipe":
        """Return the recipe with other passwords to try; what lies on disk has none."""
        parse, archives = replace(self.parse, passwords=passwords), replace(self.archives, passwords=passwords)
        return replace(self, parse=parse, archives=archives)

    def attempt_key(self, reason: str, parser: str) -> str:
        """Return the key that keeps a rejected file from being tried again while it is the same.

        It depends on the version of the file's parser, or of all parsers if none was reached, and on the causes of the
        reason.
        """
        form = FORMATS.get(parser.split(" ")[0])
        versions = {each.name: each.version for each in (FORMATS.values() if form is None else [form])}
        how = {name: value for name, value in asdict(self.parse).items() if name not in _LIMITING}
        cause = _CAUSES.get(reason, _nothing)(self)
        return key_of("attempt", FILE_TYPE_VERSION, LISTING_VERSION, versions, (how, *cause))

    def text_key(self, content_hash: str, file_type: FileType) -> str:
        """Return the key of the canonical text of some content."""
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
        """Return the key of the chunks of a canonical text with regions of some types; `metadata` is its row's."""
        said = json.loads(metadata) if OWN_KEY in metadata else {}
        try:
            routes = {kind: self.routes.route(uri, kind, said) for kind in set(content_types)}
        except ConfigError as error:  # the document's front matter has become invalid
            return key_of("no chunks", text_key, str(error))
        # Once a grammar is installed, code that was split without one is split again.
        without = [absent()] if "code" in routes and absent() else []
        return key_of("chunks", text_key, {kind: self._chunker_key(route) for kind, route in routes.items()}, *without)

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


def _limits_of_size(recipe: Recipe) -> tuple[Any, ...]:
    own = (recipe.max_file_bytes, recipe.parse.max_characters, recipe.parse.max_unpacked_bytes)
    return own, asdict(replace(recipe.archives, passwords=()))


def _strategies(_recipe: Recipe) -> tuple[Any, ...]:
    return ({name: [option.name for option in fields(one.options)] for name, one in SPLITTERS.items()},)


def _installed(_recipe: Recipe) -> tuple[Any, ...]:
    packages = [name for name in _PACKAGES if find_spec(name)]
    return ([name for name in _PROGRAMS if shutil.which(name)], *packages)


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
"""What a reason depends on besides the parser: when it changes, the document may pass."""


def suffix_of(uri: str) -> str:
    """Return the part of a name that may tell a file's type: its suffix, or the whole name if it has none."""
    name = uri.rpartition("/")[2]
    dot = name.rfind(".")
    return (name[dot:] if 0 < dot < len(name) - 1 else name).lower()
