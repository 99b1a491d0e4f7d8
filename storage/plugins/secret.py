"""Secret: a credential that settings refer to but never contain."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from docmill.storage.errors import ConfigError

_WRITE = 'write { env = "NAME" } or { file = "PATH" }, which name where the credential is'


class Secret(BaseModel):
    """A credential, as the settings of a source name it: by an environment variable or by a file.

    In docmill.toml, `token = { env = "NEWS_TOKEN" }` or `token = { file = "./token" }`. The value is read each time
    that it is asked for; docmill stores and prints neither the value nor a text of the plugin that has it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    env: str = ""
    file: str = ""

    @model_validator(mode="before")
    @classmethod
    def _check_form(cls, given: Any) -> Any:
        if isinstance(given, Secret):
            return given
        if not isinstance(given, dict) or len(given) != 1 or not given.keys() <= {"env", "file"}:
            raise ValueError(f"do not write a credential here: {_WRITE}")
        return given

    @model_validator(mode="after")
    def _check_name(self) -> "Secret":
        if not (self.env or self.file):
            raise ValueError(f"it names nothing: {_WRITE}")
        return self

    def read(self) -> str:
        """Return the credential without surrounding white space; raise `ConfigError` if there is none."""
        if self.env:
            value, where = os.environ.get(self.env, ""), f"the environment variable {self.env}"
        else:
            value, where = _text_of(Path(self.file).expanduser()), self.file
        if not value.strip():
            raise ConfigError(f"{where} is not set or empty")
        return value.strip()


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ConfigError(f"{path} cannot be read: {why}") from None


def secrets_in(settings: Any) -> Iterator[Secret]:
    """Yield the secrets in a settings model, including those in its lists, tables and models."""
    if isinstance(settings, Secret):
        yield settings
    elif isinstance(settings, BaseModel):
        for name in type(settings).model_fields:
            yield from secrets_in(getattr(settings, name))
    elif isinstance(settings, dict | list | tuple):
        for one in settings.values() if isinstance(settings, dict) else settings:
            yield from secrets_in(one)
