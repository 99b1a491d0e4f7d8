"""Slack markup: replace members' ids by names, and markup by plain text.

Source: Slack, Formatting text for app surfaces, "Advanced formatting".
"""

import html
import re
from collections.abc import Sequence
from typing import Any

_NAMES = ("real_name", "display_name", "name")  # in a profile, the most telling first
_MARK = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")


def is_slack(message: dict[str, Any]) -> bool:
    """Return whether a message is from Slack: it has a type, and a time in seconds as its id."""
    return message.get("type") == "message" and isinstance(message.get("ts"), str)


def names_in(messages: Sequence[Any]) -> dict[str, str]:
    """Return the names, by id, of the members whose messages state both."""
    names: dict[str, str] = {}
    for one in messages:
        profile = one.get("user_profile") if isinstance(one, dict) else None
        if isinstance(profile, dict) and isinstance(one.get("user"), str):
            name = next((profile[key] for key in _NAMES if profile.get(key)), "")
            if isinstance(name, str) and name:
                names.setdefault(one["user"], name)
    return names


def plain(text: str, names: dict[str, str]) -> str:
    """Return a message's text with readable names, channels and links."""

    def shown(mark: re.Match[str]) -> str:
        sign, said, label = mark.groups()
        if sign == "@":
            return f"@{names.get(said) or label or said}"
        if sign == "!":
            return label or f"@{said.partition('^')[0]}"
        return f"{sign}{label or said}"

    return html.unescape(_MARK.sub(shown, text))
