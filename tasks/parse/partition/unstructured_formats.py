"""Unstructured formats: those that `unstructured` reads without a network or a model, and the packages each needs."""

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec

from docmill.storage.process.extras import command

_PANDOC = ("pypandoc",)
NEEDED: dict[str, tuple[str, ...]] = {
    "text": (), "markdown": ("markdown",), "html": (), "xml": (), "json": (), "jsonl": (), "csv": ("pandas",),
    "docx": ("docx",), "odt": ("docx", *_PANDOC), "pptx": ("pptx",), "xlsx": ("pandas", "openpyxl"),
    "xls": ("pandas", "xlrd"), "pdf": ("pdfminer", "pi_heif", "pypdf", "unstructured_inference"), "eml": (),
    "msg": ("oxmsg",), "epub": _PANDOC, "rtf": _PANDOC, "rst": _PANDOC, "org": _PANDOC,
}  # fmt: skip
"""It reads pictures with a layout model, and Word and PowerPoint until 2003 with LibreOffice; neither is used here."""
_APART = {"pdf": "pdf"}
"""Formats whose packages docmill's extra leaves out, and the extra of `unstructured` that has them: its module for PDF
imports `unstructured_inference`, layout models with OpenCV, even when only text is read."""


@dataclass(frozen=True)
class UnstructuredOptions:
    """`furniture` keeps headers, footers and page numbers, separate from the text; `notes` keeps slide notes."""

    furniture: bool = True
    notes: bool = True

    def __post_init__(self) -> None:
        for name, value in (("furniture", self.furniture), ("notes", self.notes)):
            if not isinstance(value, bool):
                raise ValueError(f"{name} must be true or false, got {value!r}")


def lacking(form: str) -> str:
    """Return what to install before a format can be read, or "" if nothing; for no format, check the library itself."""
    missing = [package for package in ("unstructured", *NEEDED.get(form, ())) if not is_installed(package)]
    return why_not(missing[0], form) if missing else ""


def why_not(package: str, form: str) -> str:
    """Return a message that a package is missing for a format, or for all if it is "", and how to install it."""
    apart = form in _APART and package != "unstructured"
    install = f"pip install 'unstructured[{_APART[form]}]'" if apart else command("unstructured")
    return f"unstructured needs the package {package}{f' for {form} files' if form else ''}: {install}"


@cache
def is_installed(package: str) -> bool:
    """Return whether a package can be imported."""
    return find_spec(package) is not None
