"""Questions and their answers, read from common file formats.

| given | is read as |
|---|---|
| a folder with `queries.jsonl` and `qrels/*.tsv` | BEIR; document ids are names of documents, with or without suffix |
| a `.tsv` or `.txt` of `id<TAB>question`, and a qrels file | TREC |
| a table with `question` and `uri`, `phrase` or both | a right document, passage, or passage of a document |
| a table with `question`, `references` and `corpus_id` | excerpts as in Chroma's chunking evaluation |

A table is a text with commas, semicolons or tabs between its fields, or a workbook such as `.xlsx`.
"""

import codecs
import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from docmill.storage.errors import QueryError
from docmill.storage.search.rank.candidates.search_options import check_query
from docmill.tasks.evaluate.overlap import Passage

_SHOWN = 60
"""Characters of a wrong line to show in an error: enough to find it, and short enough for one line."""
_ANSWERS = ("uri", "document", "corpus_id", "phrase", "answer", "references")
_NO_ANSWER = "no answer; fill in `uri`, `phrase` or both"
_NO_QUESTION = "no question with an answer; give a table, TREC topics or a BEIR folder"
_JUDGEMENT_LENGTHS = (3, 4)
"""Fields of a line of BEIR's judgements, and of TREC's, which has a 0 after the id."""


@dataclass(frozen=True, slots=True)
class Target:
    """An answer to a question: a document, a verbatim passage, or a passage of a document.

    `document` is a uri, or its name without folders or suffix. `grade` is above 0. `start` is the position of the
    quotation in its document, -1 if unknown. `share` is how much of the quotation, or of itself, a chunk must share;
    below 1, whole sentences are counted.
    """

    document: str = ""
    quotation: str = ""
    grade: int = 1
    start: int = -1
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Question:
    """A question and its targets, at least one.

    `place` is where it is in its file, for messages. A hit that overlaps one of `hidden` does not count: a question
    made from a document's own words would find the place of these words.
    """

    id: str
    text: str
    targets: tuple[Target, ...]
    place: str = field(default="", compare=False)
    hidden: tuple[Passage, ...] = ()

    @property
    def named(self) -> str:
        """Return the question's name for messages."""
        return f"question {self.id} ({self.place})" if self.place else f"question {self.id}"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A question that cannot be measured, and why; only `measures` are affected, or all if it is empty.

    `refused` says that a search refuses it, whatever the documents are.
    """

    id: str
    named: str
    reason: str
    measures: tuple[str, ...] = ()
    refused: bool = False

    def spelled(self) -> str:
        """Return it as readable text."""
        return f"{self.named}: {self.reason}"


def load_questions(path: Path, qrels: Path | None = None) -> list[Question]:
    """Return the questions of a file or folder, in order.

    Raise `QueryError` if none can be read, or if one can never be answered by a search.
    """
    found, faults = read_questions(path, qrels)
    # People who collect questions may not know every answer yet.
    wrong = [one for one in faults if one.reason != _NO_ANSWER]
    if wrong:
        raise QueryError(f"{path}: {wrong[0].spelled()}")
    return found


def read_questions(path: Path, qrels: Path | None = None) -> tuple[list[Question], list[LeftOut]]:
    """Return the questions of a file or folder, in order, and the questions that no search could answer.

    Raise `QueryError` if none can be asked, or if the file does not contain questions.
    """
    try:
        found = list(_load(path, qrels))
    except OSError as error:
        raise QueryError(f"{error.filename}: cannot be read: {error.strerror}") from error
    _check_ids(path, found)
    checked = [_checked(one) for one in found]
    faults = [one for one in checked if isinstance(one, LeftOut)]
    asked = [one for one in checked if isinstance(one, Question)]
    if not asked:
        raise QueryError(f"{path}: {faults[0].spelled() if faults else _NO_QUESTION}")
    return asked, faults


def _check_ids(path: Path, found: Iterable[Question | LeftOut]) -> None:
    # Rankings are kept by id: of two questions with the same id, one would be lost.
    again = next((key for key, count in Counter(one.id for one in found).items() if count > 1), None)
    if again is not None:
        raise QueryError(f"{path}: {again!r} is the id of two questions; ids must be unique")


def _checked(one: Question | LeftOut) -> Question | LeftOut:
    if isinstance(one, LeftOut):
        return one
    try:
        check_query(one.text)
    except QueryError as error:
        return LeftOut(one.id, one.named, str(error), refused=True)
    return one


def _load(path: Path, qrels: Path | None) -> Iterator[Question | LeftOut]:
    suffix = path.suffix.lower()
    if path.is_dir():
        yield from _beir(path, qrels)
    elif suffix == ".csv" or suffix in WORKBOOKS or (qrels is None and has_questions(path)):
        yield from _table(path)
    elif qrels is not None:
        yield from _judged(_trec_topics(path), _judgements(qrels))
    else:
        raise QueryError(f"{path}: questions without answers; give their qrels with --qrels FILE")


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the lines that are not blank, each with its place; U+2028 and the like do not end a line, as in JSON."""
    # Not by `splitlines`, which splits at further characters.
    lines = text_of(path).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return ((f"{path} line {number}", line) for number, line in enumerate(lines, start=1) if line.strip())


def _beir(folder: Path, qrels: Path | None) -> Iterator[Question]:
    texts = [_beir_query(place, line) for place, line in _lines(folder / "queries.jsonl")]
    # BEIR's sets also have training judgements, but results are published for the test set.
    judged = sorted((folder / "qrels").glob("test*.tsv")) or sorted(folder.glob("qrels/*.tsv"))
    if not (qrels or judged):
        raise QueryError(f"{folder / 'qrels'}: no judgements (*.tsv); give them with --qrels FILE")
    yield from _judged(texts, _judgements(qrels or judged[0]))


def _beir_query(place: str, line: str) -> tuple[str, str]:
    try:
        row = json.loads(line)
        return str(row["_id"]), str(row["text"])
    except (ValueError, LookupError, TypeError):
        raise QueryError(f"{place}: not a JSON object with `_id` and `text`: {line[:_SHOWN]!r}") from None


def _trec_topics(path: Path) -> Iterator[tuple[str, str]]:
    for place, line in _lines(path):
        key, tab, text = line.partition("\t")
        if not tab:
            raise QueryError(f"{place}: no tab between the id and the question: {line[:_SHOWN]!r}")
        yield key.strip(), text.strip()


def _judgements(path: Path) -> dict[str, dict[str, Target]]:
    """Read TREC's `id 0 document grade` or BEIR's `id document grade`; grades of 0 or less are not answers.

    If tabs separate the fields, names may contain spaces.
    """
    found: dict[str, dict[str, Target]] = defaultdict(dict)
    for number, (place, line) in enumerate(_lines(path)):
        parts = _parts(line)
        grade = _grade(parts)
        if grade is None:
            if number == 0 and len(parts) in _JUDGEMENT_LENGTHS:
                continue  # BEIR's header
            raise QueryError(f"{place}: expected an id, a document and an integer, got {line[:_SHOWN]!r}")
        if grade > 0:
            found[parts[0]][parts[-2]] = Target(document=parts[-2], grade=grade)
    return found


def _parts(line: str) -> list[str]:
    # Document names may contain blanks, so tabs are tried first.
    tabbed = [part.strip() for part in line.split("\t")]
    return tabbed if len(tabbed) in _JUDGEMENT_LENGTHS else line.split()


def _grade(parts: Sequence[str]) -> int | None:
    """Return the grade of a judgement, or None if the fields are not a judgement."""
    try:
        return int(parts[-1]) if len(parts) in _JUDGEMENT_LENGTHS else None
    except ValueError:
        return None


def _judged(texts: Iterable[tuple[str, str]], judgements: Mapping[str, Mapping[str, Target]]) -> Iterator[Question]:
    for key, text in texts:
        if judgements.get(key):
            yield Question(key, text, tuple(judgements[key].values()))


def _table(path: Path) -> Iterator[Question | LeftOut]:
    names, rows = rows_of(path)
    known = f", only {', '.join(names)}" if names else ""
    if "question" not in names:
        raise QueryError(f"{path}: no column `question`{known}")
    if not set(names) & set(_ANSWERS):
        raise QueryError(f"{path}: no column that names an answer, such as `uri` or `phrase`{known}")
    found: dict[str, Question | LeftOut] = {}
    for number, row in enumerate(rows, start=1):
        one = _table_question(path, row, number)
        before = found.get(one.id)
        # Rows with the same id and question are its answers.
        if isinstance(one, Question) and isinstance(before, Question) and one.text == before.text:
            found[one.id] = replace(before, targets=(*before.targets, *one.targets))
        else:
            found[one.id if before is None else f"{one.id}\0{number}"] = one
    yield from found.values()


def _table_question(path: Path, row: "TableRow", number: int) -> Question | LeftOut:
    """Return the question of a row, or why it is not one."""
    targets = () if row.fault else tuple(_targets(row.fields, f"{path} {row.place}"))
    one = Question(row.fields.get("id") or str(number), row.fields["question"], targets, row.place)
    if row.fault:
        return LeftOut(one.id, one.named, row.fault)
    return one if targets else LeftOut(one.id, one.named, _NO_ANSWER)


def _targets(fields: Mapping[str, str], place: str) -> Iterator[Target]:
    document = fields.get("uri") or fields.get("document") or fields.get("corpus_id", "")
    if "references" in fields:
        try:
            references: list[dict[str, Any]] = json.loads(fields["references"])
            yield from [
                Target(document, str(one["content"]), start=int(one.get("start_index", -1))) for one in references
            ]
        except (ValueError, LookupError, TypeError, AttributeError):
            raise QueryError(f"{place}: `references` is not a JSON list of objects with `content`") from None
    else:
        quotation = fields.get("phrase") or fields.get("answer", "")
        if document or quotation:
            yield Target(document, quotation, share=_share(fields, place))


def _share(fields: Mapping[str, str], place: str) -> float:
    """Return how much of an answer's quotation a chunk must have."""
    text = fields.get("share", "").strip() or "1"
    try:
        share = float(text.replace(",", "."))
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise QueryError(f"{place}: share must be in (0, 1], got {text!r}")
    return share


WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_SEPARATORS = (",", ";", "\t")
"""Field separators. Excel writes semicolons where a comma is the decimal sign."""
_FIELD_LIMIT = 10_000_000
"""Maximum characters of a CSV field: a passage may be as long as a document, and Python's limit is 131,072."""
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_ASKS = "question"


class TableRow(NamedTuple):
    """A row below the header: its place in the file, for messages, and its fields by column name.

    `fault` says why the fields cannot be distinguished, or is "".
    """

    place: str
    fields: dict[str, str]
    fault: str = ""


def rows_of(path: Path) -> tuple[list[str], Iterator[TableRow]]:
    """Return the column names, in lower case, and the rows of a table; rows without a value are left out.

    A file may be separated by commas, semicolons or tabs, in UTF-8 or in the UTF-16 of Excel's "Unicode text". Raise
    `QueryError` if it cannot be read as a table.
    """
    lines = _sheet(path) if path.suffix.lower() in WORKBOOKS else _lines_of(path, text_of(path))
    _, header = next(lines, ("", []))
    names = [name.strip().lower() for name in header]
    return names, (_row(at, names, cells) for at, cells in lines if any(map(str.strip, cells)))


def has_questions(path: Path) -> bool:
    """Return whether the first line of a text names a column `question`."""
    return _ASKS in _names(text_of(path), _separator(text_of(path)))


def text_of(path: Path) -> str:
    """Return the text of a file with its line ends, without a byte order mark; raise `QueryError` if it is not text."""
    data = path.read_bytes()
    coding = "utf-16" if data.startswith(_UTF_16) else "utf-8-sig"
    try:
        return data.decode(coding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        name = "UTF-16" if coding == "utf-16" else "UTF-8"
        said = f"not {name} ({error.reason} at byte {error.start}, line {line})"
        raise QueryError(f"{path}: {said}; save it as UTF-8") from None


def _row(place: str, names: Sequence[str], cells: Sequence[str]) -> TableRow:
    fields = {name: cells[at] if at < len(cells) else "" for at, name in enumerate(names)}
    if not any(map(str.strip, cells[len(names) :])):
        return TableRow(place, fields)
    fault = f"{len(cells)} fields, the header has {len(names)}; put a field with a separator between quotation marks"
    return TableRow(place, fields, fault)


def _separator(text: str) -> str:
    """Return the field separator: the one with which a column is named `question`."""
    return next((one for one in _SEPARATORS if _ASKS in _names(text, one)), _SEPARATORS[0])


def _names(text: str, separator: str) -> list[str]:
    first = text.lstrip("\r\n").splitlines()[:1]
    return [name.strip().lower() for name in next(csv.reader(first, delimiter=separator), [])]


def _lines_of(path: Path, text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the records of a CSV file, each with the line on which it begins."""
    csv.field_size_limit(_FIELD_LIMIT)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text))
    begins = 1
    try:
        for row in rows:
            if row:
                yield f"line {begins}", row
            begins = rows.line_num + 1
    except csv.Error as error:
        raise QueryError(f"{path} after line {begins - 1}: {error}") from None


def _sheet(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of the first sheet of a workbook that has a column `question`, else of the first sheet."""
    from python_calamine import CalamineError, load_workbook

    data = path.read_bytes()
    try:
        book = load_workbook(io.BytesIO(data))
        sheets = [(name, book.get_sheet_by_name(name).to_python(skip_empty_area=False)) for name in book.sheet_names]
    except CalamineError as error:
        raise QueryError(f"{path}: cannot be read as a workbook: {error}") from None
    tables = [_filled(name, rows) for name, rows in sheets]
    return iter(next((rows for rows in tables if _asks(rows)), next(iter(tables), [])))


def _filled(name: str, rows: Sequence[Sequence[object]]) -> list[tuple[str, list[str]]]:
    """Return the rows of a sheet that have a value, each with its place."""
    placed = [(f"sheet {name!r} row {number}", [*map(_cell, row)]) for number, row in enumerate(rows, start=1)]
    return [(place, cells) for place, cells in placed if any(cells)]


def _asks(rows: Sequence[tuple[str, Sequence[str]]]) -> bool:
    return bool(rows) and _ASKS in [cell.strip().lower() for cell in rows[0][1]]


def _cell(value: object) -> str:
    """Return a cell as text; every number in a workbook is a float, but an id is an integer."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
