"""The page on errors: the exceptions, what a message on standard error holds, and the reasons of rejects."""

import re

from docmill.storage import errors
from tests.kit.making.reference.markdown import block, code, entries, page, prose, table

_SETTING = re.compile(r"\[(\w+)(?:\] |\.)((?:[a-z]+_[a-z_]+|passwords|ocr|exclude)\b)\]?")
_SECTION = re.compile(r"(?<!docmill)(?<![`\[])\[(\w+)\](?!\()")
HEAD = """\
Every exception that docmill raises on purpose is in `docmill.errors`. Two kinds matter to a program: after `Terminal`,
no retry helps; after `Transient`, the same call may work later."""
PRINTED = """\
A command prints the message on standard error and ends with status 1; the traceback is shown with `--debug`. With
`--json` the error is one line of JSON on standard error, and nothing is on standard output:"""
SAMPLE = '{"error": {"kind": "Locked", "message": "...", "retry": true, "status": 1}}'
FIELDS = (
    ("kind", "text", "A class of `docmill.errors`, `OSError`, or `UsageError` for a wrong command line."),
    ("message", "text", "What was wrong, the value, and what would be right."),
    ("retry", "boolean", "Whether the same call may work later: the kind is `Transient` or below it."),
    ("status", "integer", "The [exit status](exit-statuses.md)."),
)
REJECTED = """\
A document that cannot be used does not end a run. It becomes a row of the table [`rejects`](tables.md#rejects), with
the code of a reason and a message; `docmill rejects` lists them. If the store has an earlier version of the document,
it keeps that version, marked `stale`. [Rejected files](../concepts/invalidation.md#rejected-files) are tried again when
the file or the cause changes."""
REMEDIES = {
    "corrupt": "open it in its own program and save it again, or restore it from a backup",
    "crashed": "report it, with the file if you may share it; until then save it in another format, such as PDF",
    "empty": "nothing, if it is meant to be empty; [discover] exclude leaves such files out",
    "encrypted": "add its password to [parse] passwords, or save it without one",
    "memory": "raise [parse] memory_mb, or split the file",
    "misrouted": "correct the strategy in its front matter; docmill explain FILE says what is wrong",
    "no_text": "pip install 'docmill[ocr]', which reads scans unless [parse] ocr = false; a drawing stays rejected",
    "not_installed": "install the program that the message names; docmill doctor checks it",
    "plugin_failed": "tell the author of the plugin that the message names, or take another strategy or contextualizer",
    "timeout": "raise [parse] timeout_s, or split the file",
    "too_large": "raise the limit that the message names, or split the file",
    "undecodable": "save it as UTF-8",
    "unreadable": "give the user who runs docmill permission to read it, or close the program that locks it",
    "unsafe_path": "repack the archive with relative names, or copy the object to a key that is a plain path",
    "unsupported": "save it in a format that is read, or leave it out with [discover] exclude",
}
"""What a person can do about each reason; the document is tried again when the file or the setting changes."""


def made() -> str:
    """Return the page."""
    tree = (errors.__doc__ or "").split("\n\n")[1]
    reasons = [
        (f'<a id="{name}"></a>{code(name)}', _linked(said), _linked(_sentence(REMEDIES[name])))
        for name, said in errors.REASONS.items()
    ]
    return page(
        "Errors and rejects",
        HEAD,
        block(tree),
        *map(_class, [one for one in _classes() if one.__name__ not in tree]),
        "## What a command prints",
        PRINTED,
        block(SAMPLE, "json"),
        entries((code(name), kind, said) for name, kind, said in FIELDS),
        "## Reject reasons",
        REJECTED,
        table(("reason", "what it says of a file", "what you can do"), reasons),
    )


def _classes() -> list[type[Exception]]:
    found = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, Exception)]
    return [one for one in found if one.__module__ == errors.__name__]


def _class(one: type[Exception]) -> str:
    """Return a line about an exception that the tree leaves out."""
    return f"{code(one.__name__)}: {prose(' '.join((one.__doc__ or '').split()))}"


def _linked(text: str) -> str:
    """Return a text with a link for each setting, such as [parse] ocr or [parse.passwords]."""
    linked = _SETTING.sub(lambda found: f"[{code(found[0])}](settings.md#{found[1]}_{found[2]})", text)
    return _SECTION.sub(lambda found: f"[{code(found[0])}](settings.md#{found[1]})", linked)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
