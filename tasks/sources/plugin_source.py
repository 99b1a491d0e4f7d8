"""Plugin source: what a plugin gives to read a kind of sources, and one of these as a source."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from docmill.storage.errors import REASONS, ConfigError, Rejected, SourceError, Transient
from docmill.storage.keys import key_of
from docmill.storage.plugins.origin import Origin, described, place, plugin_failed
from docmill.storage.plugins.registry import nearest
from docmill.storage.plugins.secret import Secret, secrets_in, without
from docmill.tasks.archive.kinds import HEAD_BYTES, may_hold
from docmill.tasks.sources.checkpoints import Checkpoint, Checkpoints, SourceItem
from docmill.tasks.sources.incoming import admitted
from docmill.tasks.sources.source import DiscoverOptions, Listing, NamedSource, PathRules, Source, SourceFile

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
"""The name of a source of a plugin: it begins uris, and a file of the cache has it."""
_LINK = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\x00-\x1f\x7f]{1,2000}")  # browsers take about 2,000 characters
_LONGEST = 500  # characters of a message


class SourceSettings(BaseModel):
    """The settings of a source, which a plugin extends: a frozen pydantic model that refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


@dataclass(frozen=True, slots=True)
class SourceListing:
    """What a source lists.

    Attributes:
        items: All items, or only those that are new or changed.
        checkpoint: A short text that the next call gets, so that it can list what has changed since; "" if the source
            always lists everything.
        gone: None says that `items` are all. Otherwise they are the changes since the checkpoint of the call, and these
            are the names of the items that are gone.
    """

    items: Iterable[SourceItem]
    checkpoint: str = ""
    gone: Iterable[str] | None = None


class SourceReader(Protocol):
    """An open source of a plugin: it lists items, fetches them, and links to them."""

    def list(self, checkpoint: str) -> SourceListing:
        """Return the items, each name once.

        `checkpoint` is that of the last listing that reached the store, or "" if all items have to be listed: at first,
        after another version or other settings, and whenever docmill has lost it. A listing without an item is refused
        unless documents may be deleted, as is one that lacks too many. An exception ends the run and changes nothing;
        raise `docmill.errors.Transient` if the source cannot be reached now.
        """
        ...

    def fetch(self, item: SourceItem) -> bytes | Iterable[bytes]:
        """Return the bytes of an item, those of a large one in pieces; several threads call it at once.

        It is called for items that are new or have another version. Raise `Rejected("unreadable", WHY)` for an item
        that is gone, and `Transient` if the source cannot be reached. Any other exception rejects this document, with a
        message that names the plugin; what the store has of it stays.
        """
        ...

    def link(self, item: SourceItem) -> str:
        """Return the URL where a person opens the item, or ""; from what is known, without a network."""
        ...


class SourcePlugin(Protocol):
    """A kind of source: an entry point of the group `docmill.sources`, whose name begins the addresses of its sources.

    `sources = ["feed://news"]` names the source `news` of the plugin `feed`; its settings are in `[source.news]` of
    docmill.toml. The entry point leads to an object with these members, or to a class that is called without arguments.

    Attributes:
        version: Raise it whenever `fetch` returns other bytes for the same version of an item, or `list` other names.
            After another version, or one of the distribution, everything is listed and fetched again; a document whose
            bytes are the same is not parsed again.
        settings: A pydantic model that extends `docmill.plugins.SourceSettings`. Credentials are fields of the type
            `docmill.plugins.Secret`.
    """

    version: int | str
    settings: type[SourceSettings]

    def open(self, settings: Any) -> SourceReader:
        """Return what reads the source with these settings; connections are best opened by its methods."""
        ...


@dataclass(frozen=True, slots=True)
class Address:
    """An argument that names a source by an address: `argument` is all of it, `name` the given name or ""."""

    argument: str
    where: str
    name: str

    @property
    def own(self) -> str:
        """The address without its scheme."""
        return self.where.partition("://")[2]


Tables = Mapping[str, Mapping[str, Any]]
"""The tables `[source.NAME]` of docmill.toml."""


@dataclass(frozen=True, slots=True)
class SourceKind:
    """What opens the sources of one scheme, and what is wrong with the settings of one: (key, message)."""

    open: Callable[[Address, Tables], Source]
    faults: Callable[[Address, Tables], Iterator[tuple[tuple[str, ...], str]]]


@dataclass(frozen=True)
class PluginSource(NamedSource):
    """A source that a plugin reads."""

    giver: Origin
    version: str
    known_as: str
    key: str
    reader: SourceReader
    secrets: tuple[str, ...] = field(repr=False)

    folder = None

    @property
    def kind(self) -> str:
        """The plugin and its distribution."""
        return str(self.giver)

    @property
    def origin(self) -> str:
        """The address of the source, which begins that of each item."""
        return f"{self.where}/"

    def list(self, options: DiscoverOptions, checkpoints: Checkpoints) -> Listing:
        """List the items; raise `SourceError` if the plugin fails, or lists nothing."""
        before = checkpoints.of(self.known_as, self.key)
        with self._blamed(SourceError):
            now = self._checked(_merged(before, self.reader.list(before.state)))
        if not now.items and not options.may_be_empty:
            raise SourceError(f"source {self.where} has no items; check its settings, or give --allow-delete")
        checkpoints.note(self.known_as, now)
        return admitted(self, now.items.values(), PathRules(options), self.version)

    def fetch(self, file: SourceFile, path: Path, most_bytes: int) -> None:
        """Write the bytes of an item; raise `Rejected` if the plugin fails, or if they are too many."""
        written, is_archive = 0, False
        with path.open("wb") as out:
            for piece in self._pieces(file):
                # Archives may be larger: their members are the documents.
                is_archive = is_archive or (not written and may_hold(file.uri, piece[:HEAD_BYTES]) == "archive")
                written += out.write(piece)
                if written > most_bytes and not is_archive:
                    raise Rejected("too_large", f"more than {most_bytes} bytes, the limit (discover.max_file_bytes)")

    def _pieces(self, file: SourceFile) -> Iterator[bytes]:
        assert file.item
        with self._blamed(plugin_failed):
            found = self.reader.fetch(file.item)
            for piece in [found] if isinstance(found, bytes) else found:
                if not isinstance(piece, bytes):
                    raise TypeError(f"fetch must give bytes, got {type(piece).__name__}")
                yield piece

    def link(self, file: SourceFile) -> str:
        """Return the URL of an item; raise `SourceError` if the plugin fails or gives none."""
        assert file.item
        with self._blamed(SourceError):
            found = self.reader.link(file.item)
            if found and not _LINK.fullmatch(found):
                raise ValueError(f"the link of {file.item.name!r} must be a URL, got {found[:_LONGEST]!r}")
            self._check_open("a link", found)
        return found

    def _checked(self, found: Checkpoint) -> Checkpoint:
        """Return a listing that holds no credential: names, versions and the checkpoint are stored."""
        self._check_open("a checkpoint", found.state)
        for item in found.items.values():
            self._check_open("an item", f"{item.name} {item.version}")
        return found

    def _check_open(self, what: str, text: str) -> None:
        if without(text, self.secrets) != text:
            raise ValueError(f"{what} has a credential in it, which would be stored")

    @contextmanager
    def _blamed(self, failure: Callable[[str], Exception]) -> Iterator[None]:
        """Name the plugin in whatever it raises, without credentials and without the exception that has them."""
        with blamed(self.giver, self.secrets, failure):
            yield


@contextmanager
def blamed(giver: Origin, secrets: Iterable[str], failure: Callable[[str], Exception]) -> Iterator[None]:
    """Raise `failure` with a message that names the plugin where its code raises anything.

    `Transient` and `Rejected` stay what they are. Messages have `***` for credentials, and the exception of the plugin,
    which a log would print with them, is left out.
    """
    try:
        yield
    except MemoryError:
        raise
    except Transient as error:
        raise Transient(f"{giver}: {without(str(error), secrets)}") from None
    except Exception as error:
        # First all of it, then the beginning: half a credential would not be found.
        said = without(described(error, None), secrets)[:_LONGEST]
        if isinstance(error, Rejected) and error.reason in REASONS:
            raise Rejected(error.reason, f"{giver}: {without(error.message, secrets)[:_LONGEST]}") from None
        raise failure(f"{giver} failed: {said}{place(error)}") from None


def _merged(before: Checkpoint, found: SourceListing) -> Checkpoint:
    """Return all items after a listing; raise `ValueError` for one that no source may give."""
    if not isinstance(found, SourceListing) or not isinstance(found.checkpoint, str):
        raise TypeError(f"list must return a docmill.plugins.SourceListing, got {type(found).__name__}")
    if found.gone is not None and not before.state:
        raise ValueError("it was asked for all items and gave only changes")
    items: dict[str, SourceItem] = {}
    for item in found.items:
        _check_item(item)
        if items.setdefault(item.name, item) is not item:
            raise ValueError(f"it lists {item.name!r} twice")
    if found.gone is not None:
        gone = {*found.gone} - items.keys()
        items = {name: item for name, item in before.items.items() if name not in gone} | items
    return Checkpoint(before.key, found.checkpoint, items)


def _check_item(item: SourceItem) -> None:
    texts = (item.name, item.version)
    if not all(isinstance(text, str) and text for text in texts):
        raise ValueError(f"an item needs a name and a version, got {item!r}")
    if not all(isinstance(number, int) and number >= 0 for number in (item.size, item.modified_ns)):
        raise ValueError(f"the size and the time of an item are numbers from 0, got {item!r}")
    "".join(texts).encode()  # half a character cannot be stored


def kind_of_plugin(giver: Origin, plugin: SourcePlugin) -> SourceKind:
    """Return what opens the sources of a plugin."""
    if not (isinstance(plugin.settings, type) and issubclass(plugin.settings, SourceSettings)):
        raise TypeError(f"its settings must extend docmill.plugins.SourceSettings, got {plugin.settings!r}")

    def open_source(address: Address, tables: Tables) -> Source:
        if wrong := list(faults(address, tables)):
            raise ConfigError(*(f"{'.'.join(key)}: {what}" for key, what in wrong))
        settings = plugin.settings(**tables.get(address.own, {}))
        secrets = tuple(_value(address, secret) for secret in secrets_in(settings))
        version, name = giver.version(plugin.version), address.name or address.own
        with blamed(giver, secrets, SourceError):
            reader = plugin.open(settings)
        key = key_of("source", version, settings.model_dump(mode="json"))
        known_as = f"{giver.name}-{address.own}"
        return PluginSource(name, "", f"{name}/", address.where, giver, version, known_as, key, reader, secrets)

    def faults(address: Address, tables: Tables) -> Iterator[tuple[tuple[str, ...], str]]:
        if not _NAME.fullmatch(address.own):
            what = "a name of letters, digits, - and _, whose settings are in [source.NAME]"
            raise SourceError(f"source {address.argument!r}: write {giver.name}://NAME, with {what}")
        try:
            plugin.settings(**tables.get(address.own, {}))
        except ValidationError as error:
            for one in error.errors(include_input=False, include_context=False):
                key = ("source", address.own, *map(str, one["loc"]))
                yield key, _explained(one["type"], one["msg"], str(key[-1]), plugin.settings)

    return SourceKind(open_source, faults)


def _explained(kind: str, message: str, name: str, settings: type[SourceSettings]) -> str:
    if kind == "extra_forbidden":
        return f"no such key; {nearest(name, list(settings.model_fields))}"
    wrong = message.removeprefix("Value error, ")
    return f"{wrong[0].lower()}{wrong[1:]}"


def _value(address: Address, secret: Secret) -> str:
    try:
        return secret.read()
    except ConfigError as error:
        raise ConfigError(f"[source.{address.own}] {error}") from None
