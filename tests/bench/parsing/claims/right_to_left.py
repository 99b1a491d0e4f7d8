"""Arabic and Hebrew in PDFs: whether words can be found, paragraphs are whole, and columns stand in their order."""

import random
from collections.abc import Iterator

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.bench.parsing.claims.claim import Claim
from tests.bench.parsing.claims.office import converted
from tests.bench.parsing.furniture import by_chromium, by_weasyprint

_DOCUMENTS, _WORDS = 10, 60
_ARABIC = (
    "الأولاد يلعبون في الحديقة والسلام عليكم لا بد من قراءة الإعلان الأخير قبل الاجتماع القاعة الكبرى ولا يسمح بالتأخير"
    " لأي سبب إلا الآن كلام ثلاثة أولاد خلال الأسبوع الماضي والآخرون"
)
_HEBREW = (
    "הילדים משחקים בגינה של הבית הגדול ליד הנהר אין להיכנס לאחר השעה הזאת בלי רשות מן המנהל אלא אם כן נאמר אחרת בכתב"
    " על ידי הוועד"
)
_STYLE = (
    "<meta charset=utf-8><style>body { font: 12pt 'DejaVu Sans' } p { text-align: justify }"
    " table { border-collapse: collapse } td { border: 1px solid; padding: 3pt 8pt }</style>"
)


def measure() -> Iterator[Claim]:
    """Yield claims on words, paragraphs and rows for each script and program."""
    for script, words in (("Arabic", _ARABIC), ("Hebrew", _HEBREW)):
        wrote = {f"{seed}": _content(random.Random(seed), words.split()) for seed in range(_DOCUMENTS)}
        pages = {name: _page(*content) for name, content in wrote.items()}
        office = converted(
            {f"{name}.html": one.encode() for name, one in pages.items()}, "pdf:writer_pdf_Export", "HTML (StarWriter)"
        )
        printed = {
            "Chromium": {name: by_chromium(one) for name, one in pages.items()},
            "WeasyPrint": {name: by_weasyprint(one) for name, one in pages.items()},
            "LibreOffice": {name: office.get(name) for name in pages},
        }
        for program, files in printed.items():
            yield from _judged(f"{script}, {program}", wrote, {name: one for name, one in files.items() if one})


def _content(chance: random.Random, words: list[str]) -> tuple[list[str], list[list[str]]]:
    paragraphs = [" ".join([*chance.choices(words, k=_WORDS), str(chance.randint(1000, 9999))]) for _ in range(3)]
    return paragraphs, [[f"{word} {chance.randint(10, 99)}" for word in chance.sample(words, 3)] for _ in range(4)]


def _page(paragraphs: list[str], rows: list[list[str]]) -> str:
    table = "".join(f"<tr><td>{'<td>'.join(row)}</tr>" for row in rows)
    body = f"<p>{'<p>'.join(paragraphs)}<table border=1>{table}</table>"
    return f"<!doctype html><html dir=rtl>{_STYLE}<body>{body}</html>"


def _judged(name: str, wrote: dict[str, tuple[list[str], list[list[str]]]], files: dict[str, bytes]) -> Iterator[Claim]:
    words, whole, tables = (Claim(f"{what}, {name}") for what in ("words", "paragraphs", "rows"))
    for file, data in files.items():
        parsed = parse(data, FileType("pdf"), ParseOptions())
        told, parts = set(parsed.text.split()), [" ".join(one.split()) for one in _paragraphs(parsed)]
        for paragraph in wrote[file][0]:
            whole.judge(paragraph in parts, f"{file}: {paragraph[:60]}")
            for word in paragraph.split():
                words.judge(word in told, f"{file}: {word}")
        cells = [row for one in parsed.elements if one.kind == "table" for row in one.attributes["cells"]]
        for row in wrote[file][1]:
            tables.judge(row in cells, f"{file}: {row}, read {cells[:4]}")
    yield from (words, whole, tables)


def _paragraphs(parsed: Parsed) -> list[str]:
    return [parsed.text[one.start_char : one.end_char] for one in parsed.elements if one.kind == "paragraph"]
