"""Library loaders: documents from any installed LangChain loader, LlamaIndex reader or dlt resource."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

from pydantic import Field, field_validator

from docmill.storage.errors import ConfigError, SourceError, Transient
from docmill.storage.plugins.origin import described, place
from docmill.storage.plugins.secret import Secret
from docmill.tasks.sources.connectors.contract import OwnConnector
from docmill.tasks.sources.connectors.source_settings import WATCH_S, SourceSettings
from docmill.tasks.sources.connectors.text_entries import Entry, Format, TextReader, principals_in

_UNREACHED = ("Timeout", "ConnectionError", "ConnectError", "TooManyRequests", "RateLimit")
"""Parts of exception names by which common clients say that a server does not answer at the moment."""


class LoaderSettings(SourceSettings):
    """A class of another framework that reads documents. It runs with your rights."""

    loader: str = Field(
        pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$",
        description="MODULE:CLASS of a LangChain loader or a LlamaIndex reader, or MODULE:NAME of a dlt resource or"
        " source.",
    )
    args: dict[str, Any] = Field(
        default={}, description='Arguments to make it with. A credential is { env = "NAME" } or { file = "PATH" }.'
    )
    load: dict[str, Any] = Field(default={}, description="Arguments of load_data, which LlamaIndex readers take.")
    id: str = Field(
        default="",
        description="Metadata key that identifies a document; entries with the same value are its parts. Without it,"
        " a changed text is another document.",
    )
    link: str = Field(default="", description="Metadata key with the URL where a person opens the document.")
    access: str = Field(
        default="",
        description="Metadata key with the principals who may see a document: a list, a JSON list, or names between"
        " commas; a document without it is left to [access].",
    )
    text: str = Field(default="text", description="Key of the text in the rows of a dlt resource.")
    format: Format = Field(
        default="markdown", description="Format of the texts: markdown, text or html. Only markdown keeps metadata."
    )

    watch_s: float = Field(default=600.0, ge=0, description=WATCH_S)

    @field_validator("args", "load", mode="after")
    @classmethod
    def _read_credentials(cls, given: dict[str, Any]) -> dict[str, Any]:
        return {key: _credential(value) for key, value in given.items()}


def _credential(value: Any) -> Any:
    """Return a settings value in which tables that name a credential are `Secret`."""
    if isinstance(value, Mapping):
        if len(value) == 1 and value.keys() <= {"env", "file"}:
            return Secret.model_validate(dict(value))
        return {key: _credential(one) for key, one in value.items()}
    return [_credential(one) for one in value] if isinstance(value, list) else value


def _revealed(value: Any) -> Any:
    """Return a settings value with the credentials revealed."""
    if isinstance(value, Secret):
        return value.read()
    if isinstance(value, dict):
        return {key: _revealed(one) for key, one in value.items()}
    return [_revealed(one) for one in value] if isinstance(value, list) else value


def _entries(settings: LoaderSettings) -> Iterator[Entry]:
    target = _target(settings.loader)
    adapter = next((adapter for fits, adapter in ADAPTERS if fits(target)), None)
    if adapter is None:
        raise ConfigError(
            f"loader {settings.loader!r} is no class with load, lazy_load or load_data, and no dlt resource or source"
        )
    try:
        for text, metadata in adapter(target, settings):
            yield _entry(text, metadata, settings)
    except (ConfigError, SourceError, Transient):
        raise
    except Exception as error:
        said = f"{settings.loader} failed: {described(error)}{place(error)}"
        raise (Transient if _is_unreached(error) else SourceError)(said) from None


def _entry(text: str, metadata: Mapping[str, Any], settings: LoaderSettings) -> Entry:
    id = _text_at(metadata, settings.id, settings.loader)
    kept = {key: value for key, value in metadata.items() if key != settings.access or not key}
    access = principals_in(metadata.get(settings.access)) if settings.access else None
    return Entry(text, kept, id, str(metadata.get(settings.link) or ""), access)


def _is_unreached(error: Exception) -> bool:
    names = [kind.__name__ for kind in type(error).__mro__]
    return isinstance(error, TimeoutError) or any(mark in name for mark in _UNREACHED for name in names)


def _text_at(metadata: Mapping[str, Any], key: str, loader: str) -> str:
    """Return the identity from the metadata; raise `ConfigError` if they lack it."""
    if not key:
        return ""
    if metadata.get(key) in (None, ""):
        has = ", ".join(sorted(map(str, metadata))) or "none"
        raise ConfigError(f"a document of {loader} has no metadata {key!r} (id); its keys are {has}")
    return str(metadata[key])


def _target(loader: str) -> Any:
    module, _, name = loader.partition(":")
    try:
        found: Any = import_module(module)
        for step in name.split("."):
            found = getattr(found, step)
    except ModuleNotFoundError as error:
        raise ConfigError(f"loader {loader!r}: there is no module {error.name!r}; install its package") from None
    except AttributeError:
        raise ConfigError(f"loader {loader!r}: the module {module!r} has no {name!r}") from None
    return found


Found = Iterable[tuple[str, Mapping[str, Any]]]


def _of_langchain(kind: Any, settings: LoaderSettings) -> Found:
    """Yield the documents of a LangChain loader, which have `page_content` and `metadata`."""
    loader = kind(**_revealed(settings.args))
    load = loader.lazy_load if hasattr(loader, "lazy_load") else loader.load
    return ((one.page_content, one.metadata) for one in load())


def _of_llama_index(kind: Any, settings: LoaderSettings) -> Found:
    """Yield the documents of a LlamaIndex reader, which have `text` and `metadata`."""
    reader = kind(**_revealed(settings.args))
    return ((one.text, one.metadata) for one in reader.load_data(**_revealed(settings.load)))


def _of_dlt(resource: Any, settings: LoaderSettings) -> Found:
    """Yield the rows of a dlt resource or source, which come singly or in pages."""
    made = resource(**_revealed(settings.args)) if settings.args or not hasattr(resource, "__iter__") else resource
    for page in made:
        for row in page if isinstance(page, list) else [page]:
            yield _of_row(row, settings)


def _of_row(row: Any, settings: LoaderSettings) -> tuple[str, Mapping[str, Any]]:
    if not isinstance(row, Mapping) or settings.text not in row:
        has = ", ".join(map(str, row)) if isinstance(row, Mapping) else type(row).__name__
        raise ConfigError(f"a row of {settings.loader} has no {settings.text!r} (text); it has {has}")
    return str(row[settings.text] or ""), {key: row[key] for key in row if key != settings.text}


def _is_resource(target: Any) -> bool:
    """Return whether an object gives rows or makes one that does; never true for a function or a class."""
    made_by_dlt = type(target).__module__.split(".")[0] == "dlt"
    return not isinstance(target, type) and (made_by_dlt or (callable(target) and hasattr(target, "__iter__")))


ADAPTERS: tuple[tuple[Callable[[Any], bool], Callable[[Any, LoaderSettings], Found]], ...] = (
    (lambda target: isinstance(target, type) and hasattr(target, "load_data"), _of_llama_index),
    (
        lambda target: isinstance(target, type) and (hasattr(target, "lazy_load") or hasattr(target, "load")),
        _of_langchain,
    ),
    (_is_resource, _of_dlt),
)
"""Pairs of a test and an adapter for the configured object. A plain function fits none: `os:system` is one."""


CONNECTOR = OwnConnector(LoaderSettings, lambda settings: TextReader(lambda: _entries(settings), settings.format))
