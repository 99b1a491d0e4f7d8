"""Source code: the file itself, one element in its language."""

from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.format import ParseOptions
from docmill.tasks.parse.plain import newlines


def parse_code(data: bytes, options: ParseOptions) -> Parsed:
    """Return the decoded file, newlines as they are, as one code element."""
    found = decode(data)
    text = found.text
    end = len(text.rstrip())
    start = len(text) - len(text.lstrip())
    # The first line keeps its indent, to match the lines below.
    start = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    line = 1 + newlines(text, 0, start)
    element = Element("code", start, end, 0, 0, line, None, {"language": options.language})
    return Parsed(text, (element,) if end else (), "", found.metadata)
