"""Content lines: the properties of calendars (RFC 5545) and of cards (RFC 6350), unfolded and unescaped."""

import quopri
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

_FOLD = re.compile(r"\r?\n[ \t]")
_SOFT_BREAK = re.compile(r"=\r?\n")
_PROPERTY = re.compile(
    r"(?:[\w-]+\.)?(?P<name>[\w-]+)(?P<parameters>(?:;[^:\"]*(?:\"[^\"]*\"[^:\"]*)*)?):(?P<value>.*)"
)
_ESCAPE = re.compile(r"\\([\\;,:nN\"])")
_QUOTED = "ENCODING=QUOTED-PRINTABLE"


class Property(NamedTuple):
    """A property: its name in capitals, its parameters as written, and its value, still escaped."""

    name: str
    parameters: str
    value: str

    @property
    def text(self) -> str:
        """Return the value as text."""
        return unescaped(self.value)

    @property
    def parts(self) -> list[str]:
        """Return the parts of a structured value, such as those of an address."""
        return [unescaped(part).strip() for part in re.split(r"(?<!\\);", self.value)]

    def parameter(self, name: str) -> str:
        """Return the value of a parameter, "" if it has none."""
        found = re.search(rf";{name}=(\"[^\"]*\"|[^;]*)", self.parameters, re.IGNORECASE)
        return found[1].strip('"') if found else ""


def unescaped(value: str) -> str:
    """Return a value with its escapes as what they stand for."""
    return _ESCAPE.sub(lambda match: "\n" if match[1] in "nN" else match[1], value)


def properties(text: str) -> Iterator[Property]:
    """Yield the properties of a file in order; lines that are none are skipped."""
    if "quoted-printable" in text.lower():  # vCard 2.1 breaks such lines as mail does
        text = _SOFT_BREAK.sub("", text)
    for line in _FOLD.sub("", text).splitlines():
        match = _PROPERTY.match(line)
        if match is None:
            continue
        value = match["value"]
        if _QUOTED in match["parameters"].upper():
            value = quopri.decodestring(value.encode()).decode("utf-8", "replace").replace("\r\n", "\\n")
        yield Property(match["name"].upper(), match["parameters"], value)


def components(lines: Iterable[Property], kinds: Collection[str]) -> Iterator[tuple[str, list[Property]]]:
    """Yield the components of some kinds with their own properties, in the order in which they end.

    What stands within them in others, such as alarms, is left out; of a file that is cut off the last one is read.
    """
    open_: list[str] = []
    inside: list[Property] = []
    for one in lines:
        value = one.value.strip().upper()
        if one.name == "BEGIN":
            open_.append(value)
            inside = [] if value in kinds else inside
        elif one.name == "END":
            if _ends(open_, value, kinds):
                yield value, inside
        elif _is_within(open_, kinds):
            inside.append(one)
    if inside:
        yield from [(name, inside) for name in open_ if name in kinds][:1]


def _ends(open_: list[str], value: str, kinds: Collection[str]) -> bool:
    """Close the innermost component; return whether it is one of some kinds."""
    return bool(open_) and open_.pop() in kinds and value in kinds


def _is_within(open_: Sequence[str], kinds: Collection[str]) -> bool:
    return bool(open_) and open_[-1] in kinds


def cut_off(lines: Sequence[Property], what: str) -> dict[str, str]:
    """Return what metadata say of a file whose parts do not all end; nothing for a whole one."""
    begun = sum((line.name == "BEGIN") - (line.name == "END") for line in lines)
    return {"read_as": f"{what} up to where it is cut off"} if begun > 0 else {}
