"""vCard: people and organisations, each a section with addresses, telephone numbers and notes."""

from docmill.storage.schema import Parsed
from docmill.tasks.parse.agenda.content_lines import Property, components, cut_off, properties
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.format import ParseOptions

_NAMES = {
    "N": "Name", "NICKNAME": "Nickname", "ORG": "Organisation", "TITLE": "Title", "ROLE": "Role", "EMAIL": "E-mail",
    "TEL": "Telephone", "ADR": "Address", "LABEL": "Address", "URL": "URL", "BDAY": "Birthday",
    "ANNIVERSARY": "Anniversary", "CATEGORIES": "Categories", "NOTE": "Note", "IMPP": "Messages", "LANG": "Language",
    "RELATED": "Related", "TZ": "Time zone",
}  # fmt: skip
_KINDS = ("home", "work", "cell", "fax", "pager", "main")
_URIS = ("tel:", "mailto:")


def parse_cards(data: bytes, _: ParseOptions) -> Parsed:
    """Return the cards of an address book in the order of the file; pictures, sounds and keys are left out."""
    found = decode(data)
    canvas, count = Canvas(), 0
    lines = list(properties(found.text))
    for card in (own for _name, own in components(lines, ("VCARD",))):
        _draw(canvas, card)
        count += 1
    return canvas.parsed("", found.metadata | {"cards": count} | cut_off(lines, "an address book"))


def _draw(canvas: Canvas, card: list[Property]) -> None:
    named = {one.name: one for one in reversed(card)}
    name = next((_value(named[key]) for key in ("FN", "N", "ORG", "EMAIL") if key in named), "")
    canvas.heading(name or "Card", 2)
    lines = filter(None, map(_line, card))
    canvas.paragraph("\n".join(line for line in lines if line != f"Name: {name}"), kind="text")


def _line(one: Property) -> str:
    """Return a property as a line, "" for those that only programs read."""
    value = _value(one) if one.name in _NAMES else ""
    return f"{_NAMES[one.name]}{_kind(one)}: {value}" if value else ""


def _kind(one: Property) -> str:
    """Return what an address or a number is for, in brackets."""
    kinds = [kind for kind in _KINDS if kind in one.parameters.lower()]
    return f" ({', '.join(kinds)})" if kinds else ""


def _value(one: Property) -> str:
    """Return a value in one line; a name as it is spoken."""
    if one.name == "N":
        family, given, more, before, after = [*one.parts, "", "", "", "", ""][:5]
        return " ".join(filter(None, (before, given, more, family, after)))
    parts = one.parts if one.name in ("ADR", "ORG") else [one.text]
    text = ", ".join(" ".join(part.split()) for part in parts if part.strip())
    return next((text[len(uri) :] for uri in _URIS if text.lower().startswith(uri)), text)
