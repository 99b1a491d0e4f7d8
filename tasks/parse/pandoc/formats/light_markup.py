"""Light markup that pandoc reads: AsciiDoc, MediaWiki, Textile, Typst, and FictionBook."""

import re

from docmill.storage.schema import Parsed
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.format import ParseOptions
from docmill.tasks.parse.pandoc.document import read_document
from docmill.tasks.parse.pandoc.formats.read_or_keep import read_or_keep

_ATTRIBUTE = re.compile(r"^:([\w-]+):[ \t]+(\S.*)$", re.MULTILINE)
_REFERENCE = re.compile(r"(?<!\\)\{([\w-]+)\}")
_INCLUDE = re.compile(r"^include::([^\[\n]+)\[[^\]\n]*\]$", re.MULTILINE)
_CONDITION = re.compile(r"^(?:ifn?def|endif|ifeval)::[^\[\n]*\[[^\]\n]*\]$", re.MULTILINE)
_SWITCH = re.compile(r"^__[A-Z]+__$", re.MULTILINE)  # __TOC__, __NOTOC__: switches of MediaWiki
_TYPST_SETTING = re.compile(r"^#(?:set|show|import)\b.*$", re.MULTILINE)


def parse_asciidoc(data: bytes, _: ParseOptions) -> Parsed:
    """Return an AsciiDoc document; attributes stand where they are referred to, included files are only named."""
    found = decode(data)
    text = found.text.replace("\r\n", "\n")
    values = dict(_ATTRIBUTE.findall(text))
    text = _REFERENCE.sub(lambda match: values.get(match[1], match[0]), text)
    text = _CONDITION.sub("", _INCLUDE.sub(r"`\1`", text))
    return read_or_keep(text, "asciidoc", found)


def parse_mediawiki(data: bytes, _: ParseOptions) -> Parsed:
    """Return a page in MediaWiki's markup; templates are left out."""
    found = decode(data)
    return read_or_keep(_SWITCH.sub("", found.text), "mediawiki", found)


def parse_textile(data: bytes, _: ParseOptions) -> Parsed:
    """Return a Textile document."""
    found = decode(data)
    return read_or_keep(found.text, "textile", found)


def parse_typst(data: bytes, _: ParseOptions) -> Parsed:
    """Return a Typst document; what its functions compute is left out."""
    found = decode(data)
    parsed = read_or_keep(found.text, "typst", found)
    if "read_as" not in parsed.metadata:
        return parsed
    # A rule that pandoc does not know fails the whole file, and most rules only lay out.
    plainer = read_or_keep(_TYPST_SETTING.sub("", found.text), "typst", found)
    return plainer if "read_as" not in plainer.metadata else parsed


def parse_fiction_book(data: bytes, _: ParseOptions) -> Parsed:
    """Return a FictionBook, with its title and authors."""
    return read_document(data, "fb2")
