"""Doctests: mark Python sessions (`>>> `) in reStructuredText, which pandoc takes for prose."""

import re
from collections.abc import Iterator

_PROMPT = ">>> "
_LITERAL = re.compile(
    r"[ \t]*(?:\.\. (?!\[|_)(?:code(?:-block)?|sourcecode|parsed-literal|raw|math|highlight|csv-table)::.*"
    r"|(?!\.\. ).*::)[ \t]*\Z"
)
_SHOWN = re.compile(r"([ \t]*)\.\. (doctest|testcode|testsetup|testoutput|prompt|jupyter-execute|ipython)::[ \t]*(\S*)")
_LANGUAGES = {"doctest": "pycon", "testoutput": "text"}


def with_sessions(text: str) -> str:
    """Return a text with its sessions, and the code in Sphinx's directives, as code blocks."""
    if _PROMPT not in text and not _SHOWN.search(text):
        return text
    return "\n".join(_lines(text.split("\n")))


def _lines(lines: list[str]) -> Iterator[str]:
    literal = -1  # indent of the line that introduces the current code block
    session = False
    blank = True
    for line in lines:
        stripped = line.lstrip()
        indent = len(line) - len(stripped)
        if not stripped:
            session, blank = False, True
            yield line
            continue
        literal = literal if indent > literal else -1
        if literal < 0:
            shown = _SHOWN.match(line)
            if shown:
                line = f"{shown[1]}.. code-block:: {_language(shown[2], shown[3])}"
            elif blank and stripped.startswith(_PROMPT):
                session = True
                yield f"{line[:indent]}.. code-block:: pycon\n"
            if _LITERAL.match(line) and not session:
                literal = indent
        blank = False
        yield f"   {line}" if session else line


def _language(directive: str, stated: str) -> str:
    if directive == "prompt":
        return stated or "bash"
    return _LANGUAGES.get(directive, "python")
