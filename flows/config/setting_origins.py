"""Setting origins: report each setting's value, and whether a flag, the environment, the file or a default set it."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Literal

from docmill.flows.config.configuration import Key, KeyPath, chosen_file, keys, load, read_text
from docmill.flows.config.key_lines import key_lines

Origin = Literal["flag", "environment", "file", "default"]


@dataclass(frozen=True, slots=True)
class Present:
    """A setting with its current value; `place` says where it is written, such as `docmill.toml:12`."""

    key: Key
    value: Any
    origin: Origin
    place: str


def present(
    flags: Mapping[KeyPath, Any], assigned: Mapping[KeyPath, Any], config: Path | None = None
) -> Iterator[Present]:
    """Yield every setting in the order of the model; raise ConfigError if a value is wrong.

    `flags` and `assigned` are as in `configuration.load`.
    """
    # First, so that a wrong value is reported instead of listed.
    settings = load(flags, config, assigned=assigned)
    file = chosen_file(config)
    lines = key_lines(read_text(file)) if file else {}
    for key in keys():
        value = reduce(getattr, key.path, settings)
        if key.path in flags:
            yield Present(key, value, "flag", key.flag)
        elif any(path[: len(key.path)] == key.path for path in assigned):
            yield Present(key, value, "flag", f"--set {key.dotted}")
        elif os.environ.get(key.variable):
            yield Present(key, value, "environment", key.variable)
        elif key.path in lines:
            yield Present(key, value, "file", f"{_near(file)}:{lines[key.path]}")
        else:
            yield Present(key, value, "default", "default")


def _near(file: Path | None) -> Path | None:
    """Return a file's path relative to the working folder if it is below it, else the path as it is."""
    return file.relative_to(Path.cwd()) if file and file.is_relative_to(Path.cwd()) else file
