"""Capabilities: what the terminal takes: colours, hyperlinks, and lines of which width."""

import os
import shutil
import sys
from collections.abc import Mapping
from typing import TextIO

_LINKING = {
    "TERM_PROGRAM": ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "rio"),
    "TERM": ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "contour", "wezterm"),
}
"""Values of variables by which terminals that show OSC 8 hyperlinks make themselves known."""
_LINKING_BY_PRESENCE = ("WT_SESSION", "KONSOLE_VERSION", "DOMTERM")
_FIRST_VTE = 5002
"""The first release of VTE (GNOME Terminal and others) to take hyperlinks without a fault: 0.50.0 crashes on them."""


def colours(stream: TextIO | None = None) -> bool:
    """Return whether to write colours to a stream, by default standard output.

    Only to a terminal that knows them, and never if NO_COLOR (https://no-color.org) is set and not empty.
    """
    stream = stream or sys.stdout
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def hyperlinks() -> bool:
    """Return whether to write hyperlinks to standard output: FORCE_HYPERLINK says it, else a known terminal takes them.

    Other terminals would show the address in the text, or nothing at all.
    """
    forced = os.environ.get("FORCE_HYPERLINK")
    if forced:
        return forced != "0"
    return sys.stdout.isatty() and takes_links(os.environ)


def takes_links(environment: Mapping[str, str]) -> bool:
    """Return whether the terminal that set these variables is known to take hyperlinks."""
    if environment.get("TERM") == "dumb":
        return False
    named = any(environment.get(variable) in known for variable, known in _LINKING.items())
    vte = environment.get("VTE_VERSION", "")
    return named or any(map(environment.get, _LINKING_BY_PRESENCE)) or (vte.isdecimal() and int(vte) >= _FIRST_VTE)


def width_of_terminal() -> int | None:
    """Return the columns of the terminal that standard output is, or None if it is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
