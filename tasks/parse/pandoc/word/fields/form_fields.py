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
        state = next((one for name in ("checked", "default") if (one := box.find(_W + name)) is not None), None)
        return _TICKED if state is not None and state.get(_W + "val") not in _OFF else _EMPTY
    if choices is None:
        return ""
    entries = [one.get(_W + "val") or "" for one in choices.iter(_W + "listEntry")]
    stated = next((one for name in ("result", "default") if (one := choices.find(_W + name)) is not None), None)
    at = (stated.get(_W + "val") or "0") if stated is not None else "0"
    return entries[int(at)] if at.isdecimal() and int(at) < len(entries) else ""
