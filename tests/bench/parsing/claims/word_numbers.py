"""Word's automatic numbers: whether the text has those that LibreOffice, which knows nothing of ours, shows, too.

Levels in legal form, and those that say after which level they begin again, are left out: LibreOffice takes them for
ordinary ones.
"""

import io
import random
import re
from collections.abc import Iterator
from typing import Any

from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.bench.parsing.claims.claim import Claim
from tests.bench.parsing.claims.office import converted

_DOCUMENTS, _PARAGRAPHS = 30, 25
_FORMS = ("decimal", "lowerLetter", "upperLetter", "lowerRoman", "upperRoman")
_TEXTS = (
    ("%1.", "%1.%2", "(%3)"), ("Article %1", "%1.%2", "%1.%2.%3"), ("%1)", "%2)", "%3)"),
    ("§ %1", "(%2)", "%3."), ("%1", "%1.%2.", "%1.%2.%3."),
)  # fmt: skip
_SPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_WORD = re.compile(r"text(\d+)\b")


def measure() -> Iterator[Claim]:
    """Yield the claim on numbers, and one on paragraphs that have none."""
    written = {f"{seed}.docx": _document(random.Random(seed)) for seed in range(_DOCUMENTS)}
    numbers, bare = Claim("automatic numbers of Word as LibreOffice shows them"), Claim("paragraphs without a number")
    for name, data in converted(written, "txt:Text (encoded):UTF8").items():
        theirs = _labels(data.decode("utf-8-sig"))
        ours = _labels(parse(written[f"{name}.docx"], FileType("docx"), ParseOptions()).text)
        for word, shown in theirs.items():
            (numbers if shown else bare).judge(ours.get(word) == shown, f"{name}: {shown!r}, read {ours.get(word)!r}")
    yield from (numbers, bare)


def _labels(text: str) -> dict[str, str]:
    """Return what stands before the word of each paragraph."""
    found = ((_WORD.search(line), line) for line in text.splitlines())
    return {match[1]: line[: match.start()].strip().lstrip("#").strip() for match, line in found if match}


def _document(chance: random.Random) -> bytes:
    from docx import Document
    from docx.oxml import parse_xml

    document = Document()
    numbering: Any = document.part.numbering_part.element
    for child in list(numbering):
        numbering.remove(child)
    texts, forms = chance.choice(_TEXTS), [chance.choice(_FORMS) for _ in range(3)]
    levels = "".join(_level(at, forms[at], texts[at], chance) for at in range(3))
    numbering.append(parse_xml(f'<w:abstractNum {_SPACE} w:abstractNumId="1">{levels}</w:abstractNum>'))
    start = f'<w:lvlOverride w:ilvl="0"><w:startOverride w:val="{chance.randint(2, 9)}"/></w:lvlOverride>'
    for name, more in ((1, ""), (2, start)):
        numbering.append(parse_xml(f'<w:num {_SPACE} w:numId="{name}"><w:abstractNumId w:val="1"/>{more}</w:num>'))
    level = 0
    for at in range(_PARAGRAPHS):
        paragraph = document.add_paragraph(f"text{at} of the clause")
        level = min(level + 1, 2) if chance.random() < 0.4 else chance.randint(0, level)
        if chance.random() > 0.15:
            number = 2 if at > _PARAGRAPHS // 2 else 1
            place = f'<w:ilvl w:val="{level}"/><w:numId w:val="{number}"/>'
            paragraph._p.get_or_add_pPr().append(parse_xml(f"<w:numPr {_SPACE}>{place}</w:numPr>"))
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def _level(at: int, form: str, text: str, chance: random.Random) -> str:
    start = f'<w:start w:val="{chance.choice((1, 1, 1, 4))}"/><w:numFmt w:val="{form}"/>'
    return f'<w:lvl w:ilvl="{at}">{start}<w:lvlText w:val="{text}"/></w:lvl>'
