"""Patterns: those of `.gitignore`, matched in polynomial time whatever the pattern.

A pattern becomes regular expressions that never backtrack: each run of `*` in a name takes as little as possible, each
`**` as few folders as possible, and both are atomic groups. The first place where a fixed piece fits is always the best
one, so nothing is lost. The semantics are those of `pathspec.GitIgnoreSpec`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from docmill.storage.errors import ConfigError

_STAR = "*"
_FOLDERS = "(?:[^/]++/)*?"
_NAME_ENDS = "(?![^/])"
_NOTHING = re.compile(r"(?!)")
_ANYTHING = re.compile(r"(?s:.)")
_TOKEN = re.compile(r"\\(?P<escaped>.?)|\[(?P<negated>[!^]?+)(?P<members>\]?+[^\]]*+)\]|(?P<plain>.)", re.DOTALL)
_MEMBER = re.compile(r"(.)-(.)|(.)", re.DOTALL)


class _Unclosed(ValueError):
    """A `[` without its `]`; git ignores such a pattern."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """A pattern. `itself` matches a path that it selects, `below` a selected folder and the paths below it."""

    include: bool
    itself: re.Pattern[str]
    below: re.Pattern[str]


class PathPatterns:
    """Patterns in order: the last one that matches a path itself decides, else the last that matches a folder above."""

    def __init__(self, rules: Iterable[_Rule]) -> None:
        # The last rule decides: searching from the end, the first match is the answer.
        self._rules = tuple(rules)[::-1]

    def match(self, path: str) -> bool:
        """Return whether the patterns select a path; a folder's path ends in `/`."""
        for rule in self._rules:
            if rule.itself.match(path):
                return rule.include
        # Only now: a rule about the path itself is more specific than one about a folder above it.
        return next((rule.include for rule in self._rules if rule.below.match(path)), False)


def patterns_of(lines: Iterable[str], where: str) -> PathPatterns:
    """Compile patterns; raise ConfigError for a wrong one, with a message that begins with `where`."""
    return PathPatterns(rule for line in lines if (rule := _checked(line, where)))


def patterns_in(text: str, file: str) -> PathPatterns:
    """Compile the lines of an ignore file; raise ConfigError for a wrong one, with `file` and the line number."""
    lines = enumerate(text.splitlines(), start=1)
    return PathPatterns(rule for number, line in lines if (rule := _checked(line, f"{file}:{number}")))


def _checked(line: str, where: str) -> _Rule | None:
    try:
        return _rule(line)
    # git silently ignores such a line, and files of other projects must be read as git reads them.
    except _Unclosed:
        return None
    except ValueError as error:
        raise ConfigError(f"{where}: {error}: {line!r}") from None


def _rule(line: str) -> _Rule | None:
    """Return the rule of a line, or None for a blank line, a comment or `/`."""
    pattern = line if line.endswith("\\ ") else line.rstrip()  # an escaped blank at the end belongs to the name
    if pattern in ("", "/") or pattern.startswith("#"):
        return None
    steps = _steps(pattern.removeprefix("!"))
    return _Rule(not pattern.startswith("!"), *_compile(steps, only_folders=pattern.endswith("/")))


def _steps(pattern: str) -> list[str]:
    """Return the names in a pattern and their `**`: one before a pattern for any folder, and one for a final slash."""
    if not pattern:
        raise ValueError("a pattern must follow the exclamation mark")
    is_anchored = "/" in pattern.removesuffix("/")
    steps = ([] if is_anchored else ["**"]) + pattern.removeprefix("/").split("/")
    if not steps[-1]:
        steps[-1] = "**"
    return [step for step, run in groupby(steps) for step in ([step] if step == "**" else run)]


def _compile(steps: list[str], only_folders: bool) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the expressions `itself` and `below` of a rule."""
    if not only_folders and steps in (["**"], ["**", _STAR]):
        # Both match every path themselves, so that no folder above need be checked.
        return _ANYTHING, _NOTHING
    if steps == ["**"]:
        steps = ["**", _STAR, "**"]
    if steps[-1] != "**":
        path = _path(steps)
        return re.compile(rf"{path}\Z"), re.compile(f"{path}/")
    content = re.compile(f"{_path(steps[:-1])}/")
    return (_NOTHING, content) if only_folders else (content, _NOTHING)


def _path(steps: list[str]) -> str:
    """Return an expression for names and `**`, up to the end of the last name."""
    runs = [list(run) for is_deep, run in groupby(steps, lambda step: step == "**") if not is_deep]
    blocks = ["/".join(map(_name, run)) for run in runs]
    lead = _FOLDERS if steps[0] == "**" else ""
    found = [f"(?>{_FOLDERS if i else lead}{block}/)" for i, block in enumerate(blocks[:-1])]
    return "".join(found) + (_FOLDERS if found else lead) + blocks[-1]


def _name(glob: str) -> str:
    """Return an expression for one whole name."""
    if glob == _STAR:
        return "[^/]++"
    first, *others = _pieces(glob)
    if not others:
        return f"(?>{first}{_NAME_ENDS})"
    inner = "".join(f"(?>[^/]*?{piece})" for piece in others[:-1] if piece)
    return f"(?>{first}{inner}[^/]*{others[-1]}{_NAME_ENDS})"


def _pieces(glob: str) -> list[str]:
    """Return expressions of fixed length for the text between the stars of a name."""
    pieces = [""]
    for token in _TOKEN.finditer(glob):
        if token["plain"] == _STAR:
            pieces.append("")
        else:
            pieces[-1] += _character(token)
    return pieces


def _character(token: re.Match[str]) -> str:
    """Return an expression for one character, which is never a slash."""
    if token["members"] is not None:
        members = "".join(map(_member, _MEMBER.finditer(token["members"])))
        return f"(?!/)[{'^' if token['negated'] else ''}{members}]"
    if token["plain"] == "[":
        raise _Unclosed
    if token["plain"] == "?":
        return "[^/]"
    if token["escaped"] == "":
        raise ValueError("a backslash must be followed by the character that it escapes")
    return re.escape(token["escaped"] or token["plain"])


def _member(member: re.Match[str]) -> str:
    low, high, single = member.groups()
    if single is not None:
        return re.escape(single)
    if low > high:
        raise ValueError(f"the range {low}-{high} is in the wrong order")
    return f"{re.escape(low)}-{re.escape(high)}"
