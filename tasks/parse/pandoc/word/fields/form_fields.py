"""Form fields of Word: write the tick of a box and the chosen entry of a list, which only their settings tell."""

from typing import Any

from lxml import etree

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_OFF = ("0", "false", "off")
_TICKED, _EMPTY = "☒", "☐"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"


def write_form_fields(root: Any) -> None:
    """Put a run with the value of each box and list of choices before its field."""
    for data in list(root.iter(_W + "ffData")):
        shown = _shown(data)
        run = next(data.iterancestors(_W + "r"), None)
        if shown and run is not None and run.getparent() is not None:
            made = etree.Element(_W + "r")
            text = etree.SubElement(made, _W + "t")
            text.text = shown
            text.set(_SPACE, "preserve")
            run.addprevious(made)


def _shown(data: Any) -> str:
    box, choices = data.find(_W + "checkBox"), data.find(_W + "ddList")
    if box is not None:
        return _EMPTY if _stated(box, ("checked", "default"), "1") in _OFF else _TICKED
    if choices is None:
        return ""
    entries = [one.get(_W + "val") or "" for one in choices.iter(_W + "listEntry")]
    at = _stated(choices, ("result", "default"), "0")
    return next((one for number, one in enumerate(entries) if str(number) == at), "")


def _stated(settings: Any, names: tuple[str, ...], bare: str) -> str:
    """Return the value of the first of some settings, `bare` for one without a value, "0" if there is none."""
    found = next((one for name in names if (one := settings.find(_W + name)) is not None), None)
    return "0" if found is None else found.get(_W + "val") or bare
