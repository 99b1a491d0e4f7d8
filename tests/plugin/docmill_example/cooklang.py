"""A parser: recipes in Cooklang, where @salt{1%tsp} is an ingredient, #pan{} a tool and ~{5%minutes} a time."""

import re
from dataclasses import dataclass
from typing import ClassVar

from docmill.plugins import Canvas, Parsed, Rejected

_MARKED = re.compile(r"([@#~])(?:([^@#~{}\n]*)\{([^{}\n]*)\}|(\w+))")


@dataclass(frozen=True)
class CooklangOptions:
    """`ingredients` is the heading of the list of ingredients; "" leaves the list out."""

    ingredients: str = "Ingredients"

    def __post_init__(self) -> None:
        if not isinstance(self.ingredients, str):
            raise ValueError(f"ingredients must be a text, got {self.ingredients!r}")


class Cooklang:
    """The parser `cooklang`."""

    version = 1
    options = CooklangOptions
    formats: ClassVar = {"cooklang": (".cook",)}

    def parse(self, data: bytes, _format: str, options: CooklangOptions) -> Parsed:
        """Return the title, the ingredients as a list, and a paragraph for each step."""
        try:
            lines = data.decode().splitlines()
        except UnicodeDecodeError as error:
            raise Rejected("undecodable", str(error)) from None
        facts = dict(_fact(line) for line in lines if line.startswith(">>"))
        steps = [line for line in lines if line.strip() and not line.startswith((">>", "--"))]
        canvas = Canvas()
        canvas.heading(facts.get("title", ""), 1)
        canvas.heading(options.ingredients, 2)
        for found in _MARKED.finditer("\n".join(steps) if options.ingredients else ""):
            if found[1] == "@":
                canvas.item(_shown(found), 1)
        for step in steps:
            canvas.paragraph(_MARKED.sub(_shown, step))
        return canvas.parsed(facts.pop("title", ""), facts)


def _fact(line: str) -> tuple[str, str]:
    name, _, value = line.removeprefix(">>").partition(":")
    return name.strip().lower(), value.strip()


def _shown(found: re.Match[str]) -> str:
    """Return a marked word as a cook writes it: "salt (1 tsp)", "pan", "5 minutes"."""
    name, amount = found[2] or found[4] or "", (found[3] or "").replace("%", " ")
    return f"{name} ({amount})" if name and amount else name or amount
