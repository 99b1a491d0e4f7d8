"""Chat JSON: the turns of exported chats (Slack, Discord, Telegram, WhatsApp, conversations with models).

Text outside a message's own text, in blocks, attachments, files, embeds and tool calls, is read without a list of
programs: any text in a text field, at any depth, unless it has already been given. Source of Slack's markup: Slack,
Formatting text for app surfaces, "Advanced formatting". Programs and notebooks print messages as Python objects, too,
`{'role': 'user', 'content': 'Hello'}` or `HumanMessage(content='Hello')`, the last often truncated. Nothing is
evaluated: each object is matched whole, parsed, and read if it contains only plain values.
"""

import ast
import html
import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.markup.html.hypertext import plain_words

_LISTS = (
    "messages", "chat_messages", "conversation", "conversations", "chat", "history", "dialog", "dialogue", "turns",
    "log", "MessageList", "messageList", "contents", "posts", "value",
)  # fmt: skip
_HOLDERS = ("chats", "list", "channels", "rooms")  # keys with lists of chats
_SPEAKERS = (
    "user", "author", "from", "sender", "sender_name", "sender_full_name", "senderName", "speaker", "role", "username",
    "nickname", "user_name",
)  # fmt: skip
_WITH_TIME = ("name", "nick", "actor", "by", "displayName", "creator", "u")  # speakers' names only beside a time
_TEXTS = ("text", "content", "message", "body", "msg", "value", "parts")
_TIMES = (
    "ts", "timestamp", "date", "time", "created_at", "createdAt", "create_time", "create_at", "createdDateTime",
    "created_date", "timestamp_ms", "sent_at", "datetime", "originalarrivaltime", "$date",
)  # fmt: skip
_NOT_MESSAGES = frozenset(("title", "url", "link", "price", "headline"))
_PERSON = (
    "real_name", "display_name", "displayName", "global_name", "nickname", "name", "username", "role", "user", "id"
)  # fmt: skip
_MOST = 0.8
"""The share of a list's items that must have a speaker and text. With less, lists of articles with an occasional author
would count as chats; requiring all would reject chats with pictures or calls among the messages."""
_SAMPLE = 200
"""Items from which a list is judged. Fewer may all be pictures or notices of who joined; with all, long lists would be
read once more at each place where a chat may have a list."""
_EARLIEST = 631_152_000  # 1990, in seconds since 1970; a smaller number is a count or a length
_LATEST = 4_102_444_800  # 2100; a larger number is in milliseconds
_MILLISECONDS = 1_000  # in a second
_WORD_FIELDS = """
    text title subtitle pretext header footer name label value description summary caption content body message query
    question answer input output arguments args result code alt alt_text alttext filename file_name displayname
    plain_text extracted_content reasoning_content reasoning thinking transcript transcription author_name poll
"""
_WORDS = frozenset(_WORD_FIELDS.split())
_OTHER_FIELDS = """
    user author from sender sender_name speaker role username nickname user_name user_profile u actor by creator
    reactions mentions edited edited_at replies reply_users thread metadata meta avatar icon icons icon_url image_url
    url type id ts time timestamp date style emoji team bot_profile usage model provider channelidentity policyviolation
    thumbnail proxy_url permalink mimetype filetype access seen_by read_by
"""
_OTHERS = frozenset(_OTHER_FIELDS.split())
"""Author, time, reactions, and data that only a program needs: not part of a message's text."""
_CALLED = frozenset(("arguments", "args", "input", "parameters"))  # of a tool: fields with any name
_OF_ITS_OWN = frozenset(("reasoning_content", "reasoning", "thinking", "caption", "transcript", "transcription"))
"""Fields of the message itself that add to its text; its other plain fields, such as its name, do not."""
_OF_TOOLS = {"function_call": ("assistant", "tool_calls"), "function_call_output": ("tool", "content")}
"""Entries of OpenAI's Responses API that are no messages: who speaks, and the field that a message has for them."""
_STANDBY = "fallback"  # for programs that cannot show an attachment
_INLINE = frozenset(
    ("text", "link", "emoji", "user", "channel", "broadcast", "usergroup", "date", "bold", "italic", "mention", "code")
)
_LISTS_OF_PIECES = frozenset(("elements", "parts", "text", "runs", "textruns"))
_INSTEAD = ("blocks", "attachments", "embeds", "files", "file", "tool_calls", "function_call", "sticker_items", "poll")
"""Fields with the text of a message that has no text field; any other field may belong to something else."""
_DATA = re.compile(r"data:|[A-Za-z0-9+/=_-]{200}|https?://\S+\Z")  # not text: embedded files, keys, addresses
_MAX_DEPTH = 60
"""Maximum depth of fields that are read; only a damaged file has deeper ones, which would exceed Python's stack."""
_NAMES = ("real_name", "display_name", "name")  # in a profile, the most informative first
_MARK = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")
_STRING = r"(?:'(?:[^'\\\n]|\\.)*+'|\"(?:[^\"\\\n]|\\.)*+\")"
_ATOM = rf"{_STRING}(?:\s*+{_STRING})*+|(?:None|True|False)\b|-?\d[\d.]{{0,30}}"
_DEPTH = 4
"""Maximum nesting of brackets in a message, such as `{'tool_calls': [{'function': {'name': 'f'}}]}`; a deeper object is
not a message, but its parts may be."""
_MOST_PARTS = 200
"""Values in a bracket of a message. With more, a bracket is a whole conversation, whose messages are found one by one.
"""


def is_chat(value: Any) -> bool:
    """Return whether a JSON value is a list of messages, an object with such a list, or a list of such objects."""
    if isinstance(value, dict):
        return _holds_messages(value)
    if not isinstance(value, list) or not value:
        return False
    return _are_messages(value) or all(map(_is_chat_object, value[:_SAMPLE]))


def _is_chat_object(value: Any) -> bool:
    return isinstance(value, dict) and _holds_messages(value)


def _messages_of(value: dict[str, Any]) -> Iterator[Any]:
    """Yield possible lists of messages; ChatGPT's export stores messages in nodes, in the order of the conversation."""
    yield from (value.get(key) for key in _LISTS)
    nodes = value.get("mapping")
    if isinstance(nodes, dict):
        held = (node.get("message") for node in nodes.values() if isinstance(node, dict))
        # The first nodes are empty, for the program's own use.
        yield [one for one in held if isinstance(one, dict) and _words(one.get("content")).strip()]


def _holds_messages(value: dict[str, Any]) -> bool:
    messages = any(map(_are_messages, _messages_of(value)))
    return messages or any(_holds_chats(value.get(key)) for key in _HOLDERS)


def _holds_chats(value: Any) -> bool:
    """Return whether a value is a list with at least one chat, or an object with such a list."""
    if isinstance(value, dict):
        return _holds_messages(value)
    return isinstance(value, list) and any(map(_is_chat_object, value[:_SAMPLE]))


def draw_chat(canvas: Canvas, value: Any) -> None:
    """Draw every message as an element of kind `turn` with `speaker` and, if stated, `time`."""
    if isinstance(value, dict):
        _draw_object(canvas, value)
        return
    names = names_in(value)
    for one in value:
        if _is_chat_object(one):
            _draw_object(canvas, one)
        else:
            _draw(canvas, one, names)


def _draw_object(canvas: Canvas, value: dict[str, Any]) -> None:
    """Draw the name of a chat and its contents: its messages, and chats within it."""
    name = value.get("name") or value.get("title")
    if isinstance(name, str):
        canvas.heading(name, 1)
    for messages in _messages_of(value):
        if _are_messages(messages):
            draw_chat(canvas, messages)
    for key in _HOLDERS:
        if _holds_chats(value.get(key)):
            draw_chat(canvas, value[key])


def _draw(canvas: Canvas, entry: Any, names: dict[str, str]) -> None:
    message = _message_in(entry)
    if not isinstance(message, dict):
        canvas.paragraph(str(getattr(message, "line", message)), kind="text")
        return
    speaker, time = _speaker(message), _time(message)
    said = "\n".join(dict.fromkeys(filter(None, map(_words, (message.get(key) for key in _TEXTS)))))
    text = "\n".join(filter(None, (plain_words(said), plain_words(further_words(message, said)))))
    if is_slack(message):
        speaker, text = names.get(speaker, speaker), plain(text, names)
    told: dict[str, Any] = {"speaker": speaker} | ({"time": time} if time else {})
    if text.strip():
        stamp = f"[{time}] " if time else ""
        canvas.paragraph(f"{stamp}{speaker}: {text}", kind="turn" if speaker else "text", **told)


def _are_messages(value: Any) -> bool:
    if not isinstance(value, list) or not value:
        return False
    sample = list(map(_message_in, value[:_SAMPLE]))
    good = sum(isinstance(one, dict) and bool(_speaker(one)) and _has_text(one) for one in sample)
    # Telegram lists joins and calls among the messages.
    events = sum(isinstance(one, dict) and one.get("type") == "service" for one in sample)
    return good > 0 and good >= _MOST * (len(sample) - events)


def _message_in(entry: Any) -> Any:
    """Return the message in a log entry, with the entry's time; or the entry itself, which may be a message."""
    if not isinstance(entry, dict):
        return entry
    for name in ("message", "payload"):
        inner = entry.get(name)
        inner = _of_tool(inner) if isinstance(inner, dict) else {}
        if _speaker(inner) and _has_text(inner):
            return {key: entry[key] for key in _TIMES if key in entry} | inner
    return _of_tool(entry)


def _of_tool(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the call of a tool, or its output, as a message; any other entry as it is."""
    kind = entry.get("type")
    role, field = _OF_TOOLS.get(kind, ("", "")) if isinstance(kind, str) else ("", "")
    if not role or "role" in entry:
        return entry
    return {"role": role, field: entry.get("output") if role == "tool" else [entry]}


def _has_text(message: dict[str, Any]) -> bool:
    if _NOT_MESSAGES & message.keys():
        return False
    return any(isinstance(message.get(key), str | list | dict) for key in _TEXTS) or has_further(message)


def _speaker(message: dict[str, Any]) -> str:
    profile = message.get("user_profile")
    if isinstance(profile, dict) and (name := _name(profile)):
        return name
    keys = (*_SPEAKERS, *(_WITH_TIME if _time(message) else ()))
    return next(filter(None, (_name(message.get(key)) for key in keys)), "")


def _name(value: Any) -> str:
    if isinstance(value, dict):
        return next(filter(None, map(_name, (value.get(key) for key in _PERSON))), "")
    return value.strip() if isinstance(value, str) else ""


def _words(value: Any) -> str:
    """Return the words of a text, or of a list of its pieces: some programs separate links and code."""
    if isinstance(value, dict):
        return next(filter(None, (_words(value.get(key)) for key in _TEXTS)), "")
    if isinstance(value, list):
        return "".join(_pieces(value))
    return value if isinstance(value, str) else ""


def _pieces(values: list[Any]) -> Iterator[str]:
    for one in values:
        yield one if isinstance(one, str) else _words(one)


def _time(message: dict[str, Any]) -> str:
    for key in _TIMES:
        value = message.get(key)
        value = value.get("$date") if isinstance(value, dict) else value
        if isinstance(value, str) and value.strip():
            return _clock(value.strip())
    return ""


def _clock(written: str) -> str:
    """Return seconds or milliseconds since 1970 as a time in UTC; any other time is unchanged."""
    try:
        seconds = float(written)
    except ValueError:
        return written
    seconds = seconds / _MILLISECONDS if seconds > _LATEST else seconds
    if not _EARLIEST < seconds < _LATEST:
        return ""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def further_words(message: dict[str, Any], said: str) -> str:
    """Return, as lines, the text of a message in addition to `said`, each text once."""
    lines: list[str] = []
    heard = _spaced(said)
    for line in _fields(message, 0):
        line = "\n".join(filter(None, map(_spaced, line.split("\n"))))
        if line and not _occurs(_spaced(line), heard) and not _DATA.match(line):
            lines.append(line)
            heard += f"\n{_spaced(line)}"
    return "\n".join(lines)


def has_further(message: dict[str, Any]) -> bool:
    """Return whether a message without a text field may have text in its other fields."""
    return any(isinstance(message.get(name), dict | list) and message[name] for name in _INSTEAD)


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _occurs(line: str, heard: str) -> bool:
    before, after = (r"(?<!\w)" * line[0].isalnum(), r"(?!\w)" * line[-1].isalnum())
    return re.search(before + re.escape(line) + after, heard) is not None


def _fields(value: dict[str, Any], depth: int) -> Iterator[str]:
    """Yield the text of an object's fields; in the message itself, plain fields only if they add to its text."""
    said = False
    for key, one in value.items() if depth < _MAX_DEPTH else ():
        name = key.lower()
        if _may_say(name, one, depth):
            for words in _called(one) if name in _CALLED else _field_words(name, one, depth):
                said = True
                yield words
    if not said and isinstance(value.get(_STANDBY), str):
        yield value[_STANDBY]


def _may_say(name: str, value: Any, depth: int) -> bool:
    return name not in _OTHERS and (depth > 0 or not isinstance(value, str) or name in _OF_ITS_OWN)


def _field_words(name: str, value: Any, depth: int) -> Iterator[str]:
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
                yield from _field_words(name, one, depth + 1)


def _are_pieces(values: Sequence[Any]) -> bool:
    """Return whether a list contains the pieces of one line."""
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
    """Yield the arguments of a tool call, as written or as JSON."""
    if isinstance(value, str):
        yield value
    elif value:
        yield json.dumps(value, ensure_ascii=False)


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


def _nested(depth: int) -> str:
    """Return the pattern of a value with brackets up to this depth; the parser checks that they match."""
    return rf"{_ATOM}|(?:[A-Za-z_][\w.]{{0,60}}+)?+[\[({{]{_parts(depth - 1)}" if depth else _ATOM


def _parts(depth: int) -> str:
    key = rf"(?:(?:{_STRING}\s*+:|\w{{1,60}}+=)\s*+)?+"
    return rf"(?:\s*+{key}(?:{_nested(depth)})\s*+(?:,|(?=[\])}}]))){{0,{_MOST_PARTS}}}+\s*+[\])}}]"


_OBJECT = re.compile(rf"(?:[A-Z]\w{{0,60}}+(?=\())?+[({{]{_parts(_DEPTH)}")
_BEGIN = re.compile(
    r"\s*\[?\s*(?:\{\s*(?:'|\"[^\"\n]{1,40}\"\s*:\s*')|\(\s*['\"]|[A-Z]\w{0,60}\(\w{1,40}=)",
)
"""How such a text begins; JSON has double quotes around keys and values."""
_LARGEST = 20_000_000
"""Maximum characters of a text to search, as for JSON."""
_SEPARATORS = "[], \t\r\n"
_MOST_ELSE = 0.2
"""Maximum share of the text outside objects. A truncated file ends in a part of a long message; more text is a program,
or a log with dicts."""
_PAIR = 2
"""Values of a message that is printed as `('user', 'Hello')`."""


def messages_in(text: str) -> list[Any]:
    """Return the messages of a text that consists of printed objects; empty if it does not, or if they are not a chat.

    Anything else between them, such as the beginning of a truncated message, becomes a text of its own.
    """
    if len(text) > _LARGEST or not _BEGIN.match(text):
        return []
    found = list(_OBJECT.finditer(text))
    if sum(len(one.group()) for one in found) < (1 - _MOST_ELSE) * len(text.strip()):
        return []
    try:
        values = [_paired(_plain_value(ast.parse(one.group(), mode="eval").body)) for one in found]
    except (ValueError, SyntaxError, MemoryError, RecursionError):  # an escape such as \x4, or a number such as 1.2.3
        return []
    return _with_rests(text, found, values) if is_chat(values) else []


def _plain_value(node: ast.expr) -> Any:
    """Return the value of a parsed object; raise ValueError if it is not a plain value."""
    if isinstance(node, ast.Dict):
        keys = (_plain_value(key) for key in node.keys if key is not None)
        return dict(zip(keys, map(_plain_value, node.values), strict=True))
    if isinstance(node, ast.List | ast.Tuple):
        return list(map(_plain_value, node.elts))
    return _printed_fields(node) if isinstance(node, ast.Call) else ast.literal_eval(node)


def _printed_fields(call: ast.Call) -> dict[str, Any] | None:
    """Return the fields of a printed object, or None for one without fields, such as a time."""
    if not call.keywords:
        return None
    name = ast.unparse(call.func).rpartition(".")[2]
    role = {"role": name.removesuffix("Message").lower()} if name.endswith("Message") else {}
    return role | {str(one.arg): _plain_value(one.value) for one in call.keywords}


def _paired(value: Any) -> Any:
    """Return a message that is printed as a pair in the same form as the others."""
    if isinstance(value, list) and len(value) == _PAIR and all(isinstance(one, str) for one in value):
        return {"role": value[0], "content": value[1]}
    return value


def _with_rests(text: str, found: Sequence[re.Match[str]], values: Sequence[Any]) -> list[Any]:
    """Return the values in order, with any other text between and after them."""
    starts, ends = [one.start() for one in found], [one.end() for one in found]
    rests = [text[end:start].strip(_SEPARATORS) for end, start in zip([0, *ends], [*starts, len(text)], strict=True)]
    return [one for pair in zip(rests, [*values, ""], strict=True) for one in pair if one]
