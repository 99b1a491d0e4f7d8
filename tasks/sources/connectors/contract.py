"""Contract: what a connector or a plugin must provide to read a kind of source."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from docmill.tasks.sources.connectors.source_settings import SourceSettings


@dataclass(frozen=True, slots=True)
class SourceItem:
    """One document of a source.

    Attributes:
        name: Its path within the source, with `/` between folders, such as `guides/start.md`. The suffix gives the
            type. It is a plain path: relative, without `..`, of at most 1,024 characters.
        version: A text that changes whenever the bytes change, such as a revision or a hash. An item with an unchanged
            version is not fetched again.
        size: Its bytes, or 0 if unknown before it is fetched.
        modified_ns: When it was last changed, in nanoseconds since 1970, or 0.
        metadata: What the source says about it besides its bytes, such as its author; stored in the column `described`.
            `access` is a list of the principals who may see it. If only this changes, nothing is fetched.
    """

    name: str
    version: str
    size: int = 0
    modified_ns: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class SourceListing:
    """What a source lists.

    Attributes:
        items: All items, or only new and changed ones.
        checkpoint: A short text that the next call gets, so that it can list what has changed since; "" if the source
            always lists everything. A function that returns it is called once all items have been taken.
        gone: None says that `items` are all. Otherwise they are the changes since the checkpoint of the call, and these
            are the names of the items that are gone.
    """

    items: Iterable[SourceItem]
    checkpoint: str | Callable[[], str] = ""
    gone: Iterable[str] | None = None


class SourceReader(Protocol):
    """An open source of a plugin: it lists items, fetches them, and links to them.

    It may have a method `mark() -> str | None` for `docmill watch`. It returns a text that changes whenever a listing
    would, at a fraction of the cost, or None if only a listing can show a change. Without it, a watch lists. A thread
    of its own calls it, on a reader that no run uses.

    Beside it may be `wait(seconds: float, ended: threading.Event) -> bool`, called between two marks: wait until the
    source itself reports a change, so many seconds are over, or `ended` is set. Return False at once if the source
    cannot tell; the watch then waits by itself.
    """

    def list(self, checkpoint: str) -> SourceListing:
        """Return the items, each name once.

        `checkpoint` is that of the last listing that reached the store, or "" if all items have to be listed: at first,
        after another version or other settings, and whenever docmill has lost it. A listing without an item is refused
        unless documents may be deleted, as is one that lacks too many. An exception ends the run and changes nothing;
        raise `docmill.errors.Transient` if the source cannot be reached now.
        """
        ...

    def fetch(self, item: SourceItem) -> bytes | Iterable[bytes]:
        """Return the bytes of an item, a large one in pieces; several threads call it at once.

        It is called for items that are new or have another version. Raise `Rejected("unreadable", WHY)` for an item
        that is gone, and `Transient` if the source cannot be reached. Any other exception rejects this document, with a
        message that names the plugin; what the store has of it stays.
        """
        ...

    def link(self, item: SourceItem) -> str:
        """Return the URL where a person opens the item, or "", without using the network."""
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
    settings: "type[SourceSettings]"

    def open(self, settings: Any) -> SourceReader:
        """Return a reader of the source with these settings. Open connections in its methods."""
        ...


@dataclass(frozen=True, slots=True)
class OwnConnector:
    """A built-in connector in the form of a `SourcePlugin`; `open` makes no requests before the source is listed."""

    settings: "type[SourceSettings]"
    open: Callable[[Any], SourceReader]
    version: int = 1
