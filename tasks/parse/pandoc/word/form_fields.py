"""Form fields of Word: write the tick of a box and the chosen entry of a list, which only their settings tell."""

from typing import Any

from docmill.tasks.parse.pandoc.word.word_runs import OFF, W, run_of

_TICKED, _EMPTY = "☒", "☐"


def write_form_fields(root: Any) -> None:
    """Put a run with the value of each box and list of choices before its field."""
    for data in list(root.iter(W + "ffData")):
        shown = _shown(data)
        run = next(data.iterancestors(W + "r"), None)
        if shown and run is not None and run.getparent() is not None:
            run.addprevious(run_of(shown))


def _shown(data: Any) -> str:
    box, choices = data.find(W + "checkBox"), data.find(W + "ddList")
    if box is not None:
        return _EMPTY if _stated(box, ("checked", "default"), "1") in OFF else _TICKED
    if choices is None:
        return ""
    entries = [one.get(W + "val") or "" for one in choices.iter(W + "listEntry")]
    at = _stated(choices, ("result", "default"), "0")
    return next((one for number, one in enumerate(entries) if str(number) == at), "")


def _stated(settings: Any, names: tuple[str, ...], bare: str) -> str:
    """Return the value of the first of some settings, `bare` for one without a value, "0" if there is none."""
    found = next((one for name in names if (one := settings.find(W + name)) is not None), None)
    return "0" if found is None else found.get(W + "val") or bare
