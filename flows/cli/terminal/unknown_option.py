"""Unknown names: suggestions for options and commands that docmill does not have."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

_ALIKE = 0.75
"""The minimal similarity of a suggested name. With 0.6, the default, `--wait` would be suggested for `--quiet`."""
_MOST = 3  # names in a suggestion
_ELSEWHERE = {
    "top-k": "-k N",
    "top": "-k N",
    "filter": "--where CONDITION",
    "source": "--where \"source = 'NAME'\"",
    "format": "--where \"format = 'pdf'\"",
}
"""Options of other search tools, with docmill's equivalents."""


def suggestion(command: Any, context: Any, name: str, value: str) -> str:
    """Return a sentence with what to type instead of the option `name` with this value, or "" if nothing is similar."""
    wanted = name.lstrip("-")
    options = [one for parameter in command.get_params(context) for one in parameter.opts]
    ours = _ELSEWHERE.get(wanted, "")
    if ours.partition(" ")[0] in options:
        return f"Type {ours} instead."
    typed = _settings_as_options(command, value)
    # The size in [chunk] is a word, that of a strategy a number.
    is_setting = f"--{wanted}" in typed and not value.isdigit()
    if "*" in getattr(command, "sections", ()) and not is_setting:
        if strategies := _strategies_with(_option_of(wanted)):
            return _for_a_strategy(_option_of(wanted), strategies, value)
        if wanted == "strategy":
            return "[[routes]] in docmill.toml choose the strategies; `docmill explain FILE --strategy NAME` tries one."
    names = [*options, *typed]
    found = dict.fromkeys([*_by_last_word(wanted, names), *get_close_matches(name, names, _MOST, _ALIKE)])
    meant = list(dict.fromkeys(typed.get(one, one) for one in found))[:_MOST]
    return f"Did you mean {' or '.join(meant)}?" if meant else ""


def _settings_as_options(command: Any, value: str) -> dict[str, str]:
    """Return what to type for each setting of a command, by the option that users may have typed for it."""
    from docmill.flows.config.configuration import keys

    sections = getattr(command, "sections", ())
    own = [key for key in keys() if "*" in sections or key.path[0] in sections]
    return {
        "--" + "-".join(key.path).replace("_", "-"): key.flag or f"--set {key.dotted}={value or 'VALUE'}" for key in own
    }


def _by_last_word(wanted: str, options: Sequence[str]) -> Iterator[str]:
    """Yield the options that equal or end in a name: users may have left out the section of a setting."""
    for end in (wanted, f"{wanted}s"):
        yield from (one for one in options if one.endswith(f"-{end}"))


def _option_of(wanted: str) -> str:
    """Return the strategy option in a name such as `chunk-size`."""
    return wanted.removeprefix("chunk-").replace("-", "_")


def _strategies_with(option: str) -> list[str]:
    from docmill.tasks.split.strategies import SPLITTERS

    return [name for name in SPLITTERS if option in {field.name for field in fields(SPLITTERS[name].options)}]


def _for_a_strategy(option: str, strategies: Sequence[str], value: str) -> str:
    first = "structure" if "structure" in strategies else strategies[0]
    return (
        f"{option} is an option of a strategy: type --set split.{first}.{option}={value or 'VALUE'}."
        " `docmill explain FILE` says which strategy splits a file."
    )


_MEANT = {
    "list": ("ls", "dir", "documents", "docs", "files"),
    "show": ("cat", "get", "view", "info", "describe", "inspect", "open"),
    "search": ("query", "ask", "find", "grep", "retrieve", "lookup"),
    "ingest": ("add", "index", "load", "import", "build", "run", "sync", "update", "upload", "insert", "embed"),
    "remove": ("rm", "delete", "del", "forget", "drop"),
    "sql": ("select", "duckdb"),
    "serve": ("server", "web", "ui", "api", "start", "up"),
    "status": ("stats", "stat", "count"),
    "history": ("log", "snapshots", "versions"),
    "restore": ("rollback", "revert", "checkout", "reset"),
    "verify": ("check", "fsck", "validate"),
    "repair": ("fix", "mend"),
    "vacuum": ("gc", "clean", "prune", "purge"),
    "rejects": ("errors", "failures", "failed"),
    "settings": ("config", "configure", "options"),
    "evaluate": ("eval", "benchmark"),
    "--help": ("help",),
    "--version": ("version",),
}
"""Names of commands in other tools, by docmill's name for the same."""
_OURS = {name: command for command, names in _MEANT.items() for name in names}


def meant_by(name: str, commands: Collection[str]) -> str:
    """Return the command or option that was meant by a name, or "" if none is known."""
    ours = _OURS.get(name.lower(), "")
    return ours if ours in commands or ours.startswith("--") else ""
