"""Message words: what a message of a chat says outside of its text: blocks, attachments, files, embeds, calls of tools.

No list of programs: any word in a field for words, at any depth, is said, unless it has been said before.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

_WORD_FIELDS = """
    text title subtitle pretext header footer name label value description summary caption content body message query
    question answer input output arguments args result code alt alt_text alttext filename file_name displayname
    plain_text reasoning_content reasoning thinking transcript transcription author_name poll
"""
_WORDS = frozenset(_WORD_FIELDS.split())
_OTHER_FIELDS = """
    user author from sender sender_name speaker role username nickname user_name user_profile u actor by creator
    reactions mentions edited edited_at replies reply_users thread metadata meta avatar icon icons icon_url image_url
    url type id ts time timestamp date style emoji team bot_profile usage model provider channelidentity policyviolation
    thumbnail proxy_url permalink mimetype filetype access seen_by read_by
"""
_OTHERS = frozenset(_OTHER_FIELDS.split())
"""Who wrote, when, who reacted, and what only a program needs: no words of a message."""
_CALLED = frozenset(("arguments", "args", "input", "parameters"))  # of a tool: fields of any name
_OF_ITS_OWN = frozenset(("reasoning_content", "reasoning", "thinking", "caption", "transcript", "transcription"))
"""Fields of a message itself that are said besides its text; its others, such as its name, are read as they are."""
_STANDBY = "fallback"  # said by programs that cannot show an attachment
_INLINE = frozenset(
    ("text", "link", "emoji", "user", "channel", "broadcast", "usergroup", "date", "bold", "italic", "mention", "code")
)
_LISTS_OF_PIECES = frozenset(("elements", "parts", "text", "runs", "textruns"))
_INSTEAD = ("blocks", "attachments", "embeds", "files", "file", "tool_calls", "function_call", "sticker_items", "poll")
"""Fields in which a message without a text has its words; any other one may be part of something that is no message."""
_DATA = re.compile(r"data:|[A-Za-z0-9+/=_-]{200}|https?://\S+\Z")  # no words: embedded files, keys, addresses
_MAX_DEPTH = 60
"""Levels of fields that are read; deeper ones, which only a damaged file has, would exceed Python's stack."""


def further_words(message: dict[str, Any], said: str) -> str:
    """Return in lines what a message says besides `said`, each once."""
    lines: list[str] = []
    heard = _spaced(said)
    for line in _fields(message, 0):
        line = "\n".join(filter(None, map(_spaced, line.split("\n"))))
        if line and not _occurs(_spaced(line), heard) and not _DATA.match(line):
            lines.append(line)
            heard += f"\n{_spaced(line)}"
    return "\n".join(lines)


def has_further(message: dict[str, Any]) -> bool:
    """Return whether a message without a text may say something in its other fields."""
    return any(isinstance(message.get(name), dict | list) and message[name] for name in _INSTEAD)


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _occurs(line: str, heard: str) -> bool:
    before, after = (r"(?<!\w)" * line[0].isalnum(), r"(?!\w)" * line[-1].isalnum())
    return re.search(before + re.escape(line) + after, heard) is not None


def _fields(value: dict[str, Any], depth: int) -> Iterator[str]:
    """Yield the words of an object's fields; of the message itself, plain ones only if they are said besides."""
    said = False
    for key, one in value.items() if depth < _MAX_DEPTH else ():
        name = key.lower()
        if _may_say(name, one, depth):
            for words in _called(one) if name in _CALLED else _words(name, one, depth):
                said = True
                yield words
    if not said and isinstance(value.get(_STANDBY), str):
        yield value[_STANDBY]


def _may_say(name: str, value: Any, depth: int) -> bool:
    return name not in _OTHERS and (depth > 0 or not isinstance(value, str) or name in _OF_ITS_OWN)


def _words(name: str, value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        if name in _WORDS:
            yield value
    elif isinstance(value, dict):
        yield from _fields(value, depth + 1)
    elif isinstance(value, list):
        if name in _LISTS_OF_PIECES and _are_pieces(value):
            yield "".join(_piece(one) for one in value)
        else:
            for one in value:
                yield from _words(name, one, depth + 1)


def _are_pieces(values: Sequence[Any]) -> bool:
    """Return whether a list holds the pieces of one line."""
    return any(isinstance(one, dict) for one in values) and all(
        isinstance(one, str) or (isinstance(one, dict) and one.get("type") in _INLINE and not _holds(one))
        for one in values
    )


def _holds(piece: dict[str, Any]) -> bool:
    return any(isinstance(piece.get(name), list) for name in _LISTS_OF_PIECES)


def _piece(one: Any) -> str:
    if isinstance(one, str):
        return one
    stated = next((one[key] for key in ("text", "name", "url") if isinstance(one.get(key), str) and one[key]), "")
    return f":{stated}:" if one.get("type") == "emoji" else stated


def _called(value: Any) -> Iterator[str]:
    """Yield what a tool is called with, as it is written or as JSON."""
    if isinstance(value, str):
        yield value
    elif value:
        yield json.dumps(value, ensure_ascii=False)
