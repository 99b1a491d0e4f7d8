"""Capabilities: colours, hyperlinks and the line width that the terminal supports."""

import os
import shutil
import sys
from collections.abc import Mapping
from typing import TextIO

_LINKING = {
    "TERM_PROGRAM": ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "rio"),
    "TERM": ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "contour", "wezterm"),
}
"""Values of environment variables that identify terminals with OSC 8 hyperlinks."""
_LINKING_BY_PRESENCE = ("WT_SESSION", "KONSOLE_VERSION", "DOMTERM")
_FIRST_VTE = 5002
"""The first release of VTE (GNOME Terminal and others) that supports hyperlinks; 0.50.0 crashes on them."""


def colours(stream: TextIO | None = None) -> bool:
    """Return whether to write colours to a stream, by default standard output.

    Only a terminal that supports them gets colours, and never if NO_COLOR (https://no-color.org) is set and not empty.
    """
    stream = stream or sys.stdout
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def hyperlinks() -> bool:
    """Return whether to write hyperlinks to standard output, by FORCE_HYPERLINK or else by the terminal.

    Terminals without support would show the address in the text, or nothing at all.
    """
    forced = os.environ.get("FORCE_HYPERLINK")
    if forced:
        return forced != "0"
    return sys.stdout.isatty() and takes_links(os.environ)


def takes_links(environment: Mapping[str, str]) -> bool:
    """Return whether the terminal that set these variables is known to support hyperlinks."""
    if environment.get("TERM") == "dumb":
        return False
    named = any(environment.get(variable) in known for variable, known in _LINKING.items())
    vte = environment.get("VTE_VERSION", "")
    return named or any(map(environment.get, _LINKING_BY_PRESENCE)) or (vte.isdecimal() and int(vte) >= _FIRST_VTE)


def width_of_terminal() -> int | None:
    """Return the columns of the terminal, or None if standard output is no terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
