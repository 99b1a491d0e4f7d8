"""Plugin source: how a plugin's sources are opened, and one of these as a source."""

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

from docmill.storage.errors import REASONS, ConfigError, Rejected, SourceError, Transient
from docmill.storage.keys import key_of
from docmill.storage.plugins.origin import Origin, described, place, plugin_failed
from docmill.storage.plugins.registry import nearest
from docmill.storage.stated_metadata import record_text
from docmill.tasks.archive.archive_kinds import HEAD_BYTES, may_hold
from docmill.tasks.sources.checkpoints import Checkpoint, Checkpoints
from docmill.tasks.sources.connectors.contract import SourceItem, SourceListing, SourcePlugin, SourceReader
from docmill.tasks.sources.connectors.own_connectors import Connector, name_by
from docmill.tasks.sources.fetch_files import admitted
from docmill.tasks.sources.source import DiscoverOptions, Listing, Passing, PathRules, Source, SourceFile

if TYPE_CHECKING:
    from docmill.storage.plugins.secret import Secret
    from docmill.tasks.sources.connectors.source_settings import SourceSettings

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
"""The name of a plugin's source: it is the start of uris, and part of a cache file's name."""
_LINK = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\x00-\x1f\x7f]{1,2000}")  # browsers take about 2,000 characters
_LONGEST = 500  # characters of a message


@dataclass(frozen=True, slots=True)
class Address:
    """An argument that names a source by address: `argument` is all of it, `name` the given name or ""."""

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
    """How to open the sources of one scheme, and how to check the settings of one, as (key, message)."""

    open: Callable[[Address, Tables], Source]
    faults: Callable[[Address, Tables], Iterator[tuple[tuple[str, ...], str]]]


@dataclass(frozen=True)
class PluginSource(Source):
    """A source that a plugin reads."""

    giver: Origin
    version: str
    known_as: str
    key: str
    reader: SourceReader
    secrets: tuple[str, ...] = field(repr=False)
    watch_s: float = 0.0

    @property
    def kind(self) -> str:
        """The plugin and its distribution."""
        return str(self.giver)

    @property
    def origin(self) -> str:
        """The address of the source, which is the start of each item's address."""
        return f"{self.where}/"

    def list(self, options: DiscoverOptions, checkpoints: Checkpoints, passing: Passing = iter) -> Listing:
        """List the items; raise `SourceError` if the plugin fails or lists nothing."""
        before = checkpoints.of(self.known_as, self.key)
        with self._blamed(SourceError):
            now = self._checked(_merged(before, self.reader.list(before.state), passing))
        if not now.items and not options.may_be_empty:
            raise SourceError(f"source {self.where} has no items; check its settings, or give --allow-delete")
        checkpoints.note(self.known_as, now)
        return admitted(self, now.items.values(), PathRules(options), self.version)

    def fetch(self, file: SourceFile, path: Path, most_bytes: int) -> None:
        """Write the bytes of an item; raise `Rejected` if the plugin fails or the bytes exceed the limit."""
        written, is_archive = 0, False
        with path.open("wb") as out:
            for piece in self._pieces(file):
                # Archives may be larger, because their members are the documents.
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
        """Return the URL of an item; raise `SourceError` if the plugin fails or returns no URL.

        A connector has links from data, such as a column of rows, where one that is no URL must not stop the others.
        """
        assert file.item
        with self._blamed(SourceError):
            found = self.reader.link(file.item)
            is_none = found and not _LINK.fullmatch(found)
            if is_none and self.giver.distribution:
                raise ValueError(f"the link of {file.item.name!r} must be a URL, got {found[:_LONGEST]!r}")
            self._check_open("a link", found)
        return "" if is_none else found

    def mark(self) -> str | None:
        """Return the plugin's mark for a watch; None if it has none."""
        ask: Callable[[], str | None] | None = getattr(self.reader, "mark", None)
        if ask is None:
            return None
        with self._blamed(SourceError):
            return ask()

    def wait(self, seconds: float, ended: Event) -> bool:
        """Let the plugin wait for a change; return False if it cannot."""
        wait: Callable[[float, Event], bool] | None = getattr(self.reader, "wait", None)
        with self._blamed(SourceError):
            return wait is not None and wait(seconds, ended)

    def _checked(self, found: Checkpoint) -> Checkpoint:
        """Return the listing if it contains no credential: names, versions and the checkpoint are stored."""
        self._check_open("a checkpoint", found.state)
        for item in found.items.values():
            self._check_open("an item", f"{item.name} {item.version} {record_text(item.metadata)}")
        return found

    def _check_open(self, what: str, text: str) -> None:
        if without(text, self.secrets) != text:
            raise ValueError(f"{what} has a credential in it, which would be stored")

    @contextmanager
    def _blamed(self, failure: Callable[[str], Exception]) -> Iterator[None]:
        """Name the plugin in whatever it raises; drop the original exception, which may contain credentials."""
        with blamed(self.giver, self.secrets, failure):
            yield


@contextmanager
def blamed(giver: Origin, secrets: Iterable[str], failure: Callable[[str], Exception]) -> Iterator[None]:
    """Raise `failure` with a message that names the plugin if its code raises anything.

    `Transient` and `Rejected` pass unchanged, as do errors of settings and sources during a listing. Messages have
    `***` for credentials. The plugin's own exception, which a log would print with them, is left out.
    """
    try:
        yield
    except MemoryError:
        raise
    except Transient as error:
        raise Transient(f"{giver}: {without(str(error), secrets)}") from None
    except Exception as error:
        # Replace credentials before shortening: half a credential would not be recognised.
        said = without(described(error, None), secrets)[:_LONGEST]
        if isinstance(error, Rejected) and error.reason in REASONS:
            raise Rejected(error.reason, f"{giver}: {without(error.message, secrets)[:_LONGEST]}") from None
        if isinstance(error, SourceError | ConfigError) and failure is SourceError:
            raise type(error)(f"{giver}: {without(str(error), secrets)[:_LONGEST]}") from None
        raise failure(f"{giver} failed: {said}{place(error)}") from None


def _merged(before: Checkpoint, found: SourceListing, passing: Passing) -> Checkpoint:
    """Return all items after a listing; raise `ValueError` for items that no source may give."""
    if not isinstance(found, SourceListing):
        raise TypeError(f"list must return a docmill.plugins.SourceListing, got {type(found).__name__}")
    if found.gone is not None and not before.state:
        raise ValueError("it was asked for all items and gave only changes")
    items: dict[str, SourceItem] = {}
    for item in passing(found.items):
        _check_item(item)
        if items.setdefault(item.name, item) is not item:
            raise ValueError(f"it lists {item.name!r} twice")
    state = found.checkpoint() if callable(found.checkpoint) else found.checkpoint
    if not isinstance(state, str):
        raise TypeError(f"a checkpoint is a text, got {type(state).__name__}")
    if found.gone is not None:
        gone = {*found.gone} - items.keys()
        items = {name: item for name, item in before.items.items() if name not in gone} | items
    return Checkpoint(before.key, state, items)


def _check_item(item: SourceItem) -> None:
    texts = (item.name, item.version)
    if not all(isinstance(text, str) and text for text in texts):
        raise ValueError(f"an item needs a name and a version, got {item!r}")
    if not all(isinstance(number, int) and number >= 0 for number in (item.size, item.modified_ns)):
        raise ValueError(f"the size and the time of an item are numbers from 0, got {item!r}")
    "".join((*texts, record_text(item.metadata))).encode()  # half a character cannot be stored


def kind_of_plugin(giver: Origin, plugin: SourcePlugin) -> SourceKind:
    """Return how to open the sources of a plugin."""
    from docmill.tasks.sources.connectors.source_settings import SourceSettings

    if not (isinstance(plugin.settings, type) and issubclass(plugin.settings, SourceSettings)):
        raise TypeError(f"its settings must extend docmill.plugins.SourceSettings, got {plugin.settings!r}")

    def asked(address: Address, tables: Tables) -> _Asked:
        return _Asked(address, giver, plugin, f"{giver.name}-{address.own}", address.own, tables.get(address.own, {}))

    return _kind(asked)


def kind_of_connector(scheme: str, connector: Connector) -> SourceKind:
    """Return how to open the sources of a built-in connector, which is imported on demand."""

    def asked(address: Address, tables: Tables) -> _Asked:
        table = (address.name or name_by(address.where)) if connector.takes else address.own
        given = {connector.takes: address.where} if connector.takes else {}
        giver = Origin("source", address.argument, "", "")
        return _Asked(address, giver, connector.load(), f"{scheme}-{table}", table, {**given, **tables.get(table, {})})

    return _kind(asked)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A source that an address asks for: its reader and its settings, from the table `[source.TABLE]`."""

    address: Address
    giver: Origin
    plugin: SourcePlugin
    known_as: str
    table: str
    given: Mapping[str, Any]

    def open(self) -> Source:
        """Return the source; raise `ConfigError` for wrong settings."""
        from docmill.storage.plugins.secret import secrets_in

        if wrong := list(self.faults()):
            raise ConfigError(*(f"{'.'.join(key)}: {what}" for key, what in wrong))
        settings, where = self.plugin.settings(**self.given), self.address.where
        secrets = tuple(self._value(secret) for secret in secrets_in(settings))
        version, name = self.giver.version(self.plugin.version), self.address.name or self.table
        with blamed(self.giver, secrets, SourceError):
            reader = self.plugin.open(settings)
        key = key_of("source", version, settings.model_dump(mode="json", exclude={"watch_s"}))
        return PluginSource(
            name, "", f"{name}/", where, None, self.giver, version,
            self.known_as, key, reader, secrets, settings.watch_s,
        )  # fmt: skip

    def faults(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield the key of each wrong setting and what is wrong; raise `SourceError` for a wrong name."""
        from pydantic import ValidationError  # 0.06 s of CPU, spared by runs without such sources

        if not _NAME.fullmatch(self.table):
            what = "a name of letters, digits, - and _, whose settings are in [source.NAME]"
            kind = self.address.where.partition("://")[0]
            raise SourceError(f"source {self.address.argument!r}: write {kind}://NAME, with {what}")
        try:
            self.plugin.settings(**self.given)
        except ValidationError as error:
            for one in error.errors(include_input=False, include_context=False):
                key = ("source", self.table, *map(str, one["loc"]))
                yield key, _explained(one["type"], one["msg"], str(key[-1]), self.plugin.settings)

    def _value(self, secret: "Secret") -> str:
        try:
            return secret.read()
        except ConfigError as error:
            raise ConfigError(f"[source.{self.table}] {error}") from None


def _kind(asked: Callable[[Address, Tables], _Asked]) -> SourceKind:
    return SourceKind(
        lambda address, tables: asked(address, tables).open(), lambda address, tables: asked(address, tables).faults()
    )


def _explained(kind: str, message: str, name: str, settings: "type[SourceSettings]") -> str:
    if kind == "extra_forbidden":
        return f"no such key; {nearest(name, list(settings.model_fields))}"
    wrong = message.removeprefix("Value error, ")
    return f"{wrong[0].lower()}{wrong[1:]}"


HIDDEN = "***"


def without(text: str, values: Iterable[str]) -> str:
    """Return a text with `***` for each credential, in plain form and as spelled in URLs and messages."""
    for form in sorted({form for value in values for form in _forms(value)}, key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    return text


def _forms(value: str) -> set[str]:
    packed = base64.b64encode(value.encode()).decode()
    # A message may repeat it as a URL, a Python literal or JSON, or as sent in a request header.
    spelled = {
        value,
        quote(value, safe=""),
        quote(value),
        quote_plus(value),
        repr(value)[1:-1],
        json.dumps(value)[1:-1],
    }
    return spelled | {packed, packed.rstrip("=")}
