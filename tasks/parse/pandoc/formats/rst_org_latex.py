"""RST, Org, LaTeX: reStructuredText, Org and LaTeX as read by pandoc.

These documents are drawn as Markdown instead of kept as written: readers need the meaning of a directive, macro or grid
table, and pandoc interprets these better than rules on lines could.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.pandoc.document import as_text, drawn_document, read_or_keep
from docmill.tasks.parse.pandoc.formats.source_parts import RefusedParts, longest_part, read_light_parts, read_parts
from docmill.tasks.parse.pandoc.formats.tex_source import prepared
from docmill.tasks.parse.pandoc.inlines import Node
from docmill.tasks.parse.pandoc_program import read_tree
from docmill.tasks.parse.pictures.addresses import Loader
from docmill.tasks.parse.pictures.picture_files import loader_beside

_OBJECT = re.compile(
    r"^([ \t]*)\.\. (?:[\w-]+:)?(?:function|class|method|attribute|data|exception|module|option|envvar|decorator|type"
    r"|macro|member|property|classmethod|staticmethod|cmdoption|describe|confval|opcode|rst:dir)::[ \t]+(\S.*)\n"
    r"(?:\1[ \t]+:[\w-]+:.*\n)*(?:[ \t]*\n)?",
    re.MULTILINE,
)
_OPTIONS = re.compile(r"^([ \t]*#\+OPTIONS:.*?)\b(?:H|arch):\w+", re.MULTILINE | re.IGNORECASE)
# Dates below a headline, which pandoc treats as properties of it; after a blank line they are text.
_PLANNED = re.compile(r"^(\*+ .*\n)(?=[ \t]*(?:DEADLINE|SCHEDULED|CLOSED):)", re.MULTILINE)
_DEFINED = re.compile(r"^[ \t]*#\+MACRO:[ \t]+(\S+)", re.MULTILINE | re.IGNORECASE)
_CALL = re.compile(r"\{\{\{([\w-]+)(?:\(((?:[^\n]|\n(?!\n))*?)\))?\}\}\}")
_ENVIRONMENT = re.compile(r"(?<!\\)%.*|\\(begin|end)\s*\{([\w*]+)\}")
_VERBATIM = ("verbatim", "lstlisting", "minted", "comment")
_BACKTRACKED = ("itemize", "enumerate", "tabular", "longtable")
_MAX_UNCLOSED = 4
"""Maximum number of unclosed lists: each triples pandoc's time, so four take 81 times as long, fine for short texts.
"""
_HEADER = re.compile(r"(?=(?:.+\n)*?Title: *\S)(?:[A-Z][\w-]+: *.*\n(?:[ \t]+\S.*\n)*){3,}\n")
# A definition directly below the title, which pandoc reads as metadata, like fields.
_FIRST_TERM = re.compile(
    r"\A(?:(?:\s*([^\w\s])\1{2,}[ \t]*\n)?[ \t]*\S.*\n([^\w\s])\2{2,}[ \t]*\n)?"
    r"\s*^(?=(?!:|\.\.|[-*+#\d])\S.*\n[ \t]+\S)",
    re.MULTILINE,
)
# An invisible block before the definition, so that it is not first.
_WALL = "\\g<0>.. raw:: nothing\n\n   -\n\n"
_FIELD = re.compile(r"[A-Z][\w-]+:")
_FIELD_NAME = re.compile(r"^:([A-Z][\w-]+): *", re.MULTILINE)
_VERSION = re.compile(
    r"^([ \t]*)\.\. (versionadded|versionchanged|deprecated|versionremoved)::[ \t]*(\S*)[ \t]*(.*)$", re.MULTILINE
)
# References to other files, which are not read: their names replace them, as pandoc rejects documents that need them.
_ELSEWHERE = re.compile(
    r"^([ \t]*)\.\. (?:include|literalinclude)::[ \t]+(\S+).*\n(?:\1[ \t]+:.*\n)*"
    r"|^([ \t]*)\.\. (?:raw::.*|(?:csv-)?table::[ \t]*(.*))\n(?:\3[ \t]+:(?!file|url).*\n)*"
    r"\3[ \t]+:(?:file|url):[ \t]*(\S+).*\n(?:\3[ \t]+:.*\n)*",
    re.MULTILINE,
)
_VERSIONS = {
    "versionadded": "Added in version", "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version", "versionremoved": "Removed in version",
}  # fmt: skip
_PROMPT = ">>> "
_LITERAL = re.compile(
    r"[ \t]*(?:\.\. (?!\[|_)(?:code(?:-block)?|sourcecode|parsed-literal|raw|math|highlight|csv-table)::.*"
    r"|(?!\.\. ).*::)[ \t]*\Z"
)
_SHOWN = re.compile(r"([ \t]*)\.\. (doctest|testcode|testsetup|testoutput|prompt|jupyter-execute|ipython)::[ \t]*(\S*)")
_LANGUAGES = {"doctest": "pycon", "testoutput": "text"}
_BODY = re.compile(r"\\begin\s*\{document\}(.*?)(?:\\end\s*\{document\}|\Z)", re.DOTALL)
_DECLARATION = re.compile(r"^[ \t]*\\newtheorem\*?\s*\{\w+\}(?:\[\w+\])?\{[^{}]*\}(?:\[\w+\])?", re.MULTILINE)
_CLASS = re.compile(r"\\documentclass\s*(?:\[[^\]]*\])?\s*\{[^{}]*\}")
_ABOUT = re.compile(r"\\(?:title|author|date)\b\s*(?:\[[^\]]*\])?\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}")
_NESTED = r"\{(?:[^{}]|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})*\}"
_MACRO = re.compile(
    r"^[ \t]*\\(?:(?:re)?newcommand|providecommand|DeclareMathOperator)\*?\s*\{?\\\w+\}?(?:\[\d\])?(?:\[[^\]]*\])?\s*"
    + _NESTED,
    re.MULTILINE,
)
_SECTION_COMMAND = re.compile(r"^(?=[ \t]*\\(?:part|chapter|(?:sub){0,2}section)\b)", re.MULTILINE)
_HEADING = re.compile(
    r"^[ \t]*\\(?P<name>part|chapter|(?:sub){0,2}section)\*?(?:\[[^\]]*\])?\{(?P<title>(?:[^{}]|\{[^{}]*\})*)\}",
    re.MULTILINE,
)
_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection")


def parse_rst(data: bytes, options: ParseOptions) -> Parsed:
    """Return a reStructuredText document; the field list at its top becomes metadata."""
    found = decode(data)
    text = found.text.replace("\r\n", "\n")
    header = _HEADER.match(text)
    text = _as_fields(header[0]) + text[header.end() :] if header else text
    text = _OBJECT.sub(_as_term, text)
    text = _VERSION.sub(lambda m: f"{m[1]}{_VERSIONS[m[2]]} {m[3]}: {m[4]}".rstrip(": "), text)
    text = _ELSEWHERE.sub(_named, text)
    text = with_sessions(_FIRST_TERM.sub(_WALL, text, count=1))
    load = loader_beside(options.pictures)
    return read_or_keep(text, "rst", found, load, partial(read_light_parts, load))


def _as_term(found: re.Match[str]) -> str:
    """Return what a directive documents as a term for the indented lines below it, or else as a paragraph."""
    indented = found.string.startswith((f"{found[1]} ", f"{found[1]}\t"), found.end())
    return f"{found[1]}``{found[2].strip()}``\n" + "\n" * (not indented)


def _named(found: re.Match[str]) -> str:
    if found[2]:
        return f"{found[1]}``{found[2]}``\n"
    return found[3] + f"{found[4] or ''} ``{found[5]}``\n".lstrip()


def parse_org(data: bytes, options: ParseOptions) -> Parsed:
    """Return an Org document; `#+TITLE` and similar lines become metadata."""
    found = decode(data)
    # Otherwise headings below level 3 become lists, snake_case gets a subscript, and archived parts are left out.
    text = _PLANNED.sub(r"\1\n", found.text.replace("\r\n", "\n"))
    text = "#+OPTIONS: H:99 ^:nil arch:t\n" + _OPTIONS.sub(r"\1", text)
    known = frozenset(_DEFINED.findall(text))
    # A call of a macro defined in another file is replaced by its arguments.
    text = _CALL.sub(lambda call: call[0] if call[1] in known else (call[2] or ""), text) if "{{{" in text else text
    load = loader_beside(options.pictures)
    return read_or_keep(text, "org", found, load, partial(read_light_parts, load))


def parse_latex(data: bytes, options: ParseOptions) -> Parsed:
    """Return a LaTeX document; the arguments of unknown macros are kept."""
    found = decode(data)
    if _unclosed(found.text) > _MAX_UNCLOSED:
        return as_text(found, "lists or tables that begin within one another do not end")
    load = loader_beside(options.pictures, data)
    return read_or_keep(prepared(found.text), "latex+raw_tex", found, load, partial(_in_parts, load))


def _in_parts(load: Loader, text: str, reader: str, why: Rejected) -> Parsed:
    """Return a source that pandoc refuses as a whole, read in parts; raise Rejected if it refuses all of them."""
    tree, raw = read_tex_parts(text, reader, longest_part(why))
    said = (
        f"LaTeX in parts, {raw} of them as text" if raw or why.reason == "timeout" else "LaTeX without its own macros"
    )
    parsed = drawn_document(tree, load=load)
    return replace(parsed, metadata=parsed.metadata | {"read_as": f"{said}; {why.message}"})


def _unclosed(text: str) -> int:
    """Return the number of unclosed lists and tables; for each, pandoc reads the rest three times and then gives up."""
    held: list[str] = []
    for match in _ENVIRONMENT.finditer(text):
        verb, name = match.groups()
        if verb == "end" and held and held[-1] == name:
            held.pop()
        elif verb == "begin" and not (held and held[-1] in _VERBATIM):
            held.append(name)
    return sum(name.startswith(_BACKTRACKED) for name in held)


def _as_fields(header: str) -> str:
    """Return a mail-like header, as in Python's PEPs, as a title with a field list."""
    title = header.split("Title:", 1)[1].split("\n", 1)[0].strip()
    fields = "".join(f":{line}\n" if _FIELD.match(line) else f"{line}\n" for line in header.strip().splitlines())
    fields = _FIELD_NAME.sub(r":\1: ", fields)
    rule = "=" * (2 * len(title))  # wide letters take two columns
    return f"{rule}\n{title}\n{rule}\n\n{fields}\n"


def with_sessions(text: str) -> str:
    """Return a text with its sessions, and the code in Sphinx directives, as code blocks."""
    if _PROMPT not in text and not _SHOWN.search(text):
        return text
    return "\n".join(_lines(text.split("\n")))


def _lines(lines: list[str]) -> Iterator[str]:
    literal = -1  # indentation of the line that introduces the current code block
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


def read_tex_parts(text: str, reader: str, longest: int) -> tuple[dict[str, Any], int]:
    """Return the syntax tree of a source, and how many of its parts are raw because pandoc refuses them.

    From the preamble, the definitions of theorems and simple macros are kept; a paragraph that is rejected with the
    macros is read without them. Raise Rejected if pandoc rejects every part or is too slow.
    """
    found = _BODY.search(text)
    top, body = (text[: found.start()], found[1]) if found else ("", text)
    head = "\n".join(_CLASS.findall(top) + _DECLARATION.findall(top) + _ABOUT.findall(top))
    macros = "\n".join(_MACRO.findall(top))

    def read(own: str, part: str) -> dict[str, Any]:
        return read_tree(f"{head}\n{own}\n\\begin{{document}}\n{part}\n\\end{{document}}\n".encode(), reader)

    ways = [partial(read, own) for own in dict.fromkeys((macros, ""))]
    return read_parts(body, RefusedParts(_SECTION_COMMAND, ways, lambda part: list(_raw(part)), longest))


def _raw(text: str) -> Iterator[Node]:
    """Yield text that pandoc rejects as raw blocks between its headings."""
    at = 0
    for heading in _HEADING.finditer(text):
        yield {"t": "RawBlock", "c": ["latex", text[at : heading.start()]]}
        title = [{"t": "RawInline", "c": ["latex", heading["title"]]}]
        yield {"t": "Header", "c": [max(1, _LEVELS.index(heading["name"]) - 1), ["", [], []], title]}
        at = heading.end()
    yield {"t": "RawBlock", "c": ["latex", text[at:]]}
