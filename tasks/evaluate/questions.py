"""Questions and their answers, read from common file formats.

| given | is read as |
|---|---|
| a folder with `queries.jsonl` and `qrels/*.tsv` | BEIR; document ids are names of documents, with or without suffix |
| a `.tsv` or `.txt` of `id<TAB>question`, and a qrels file | TREC |
| a `.csv` with `question` and `uri`, `phrase` or both | one right document, passage, or passage of a document |
| a `.csv` with `question`, `references` and `corpus_id` | excerpts as in Chroma's chunking evaluation |
"""

import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docmill.storage.errors import QueryError
from docmill.storage.retrieval.candidates.search_options import check_query

_FIELD_LIMIT = 10_000_000
"""Maximum characters of a CSV field: a passage may be as long as a document, and Python's limit is 131,072."""
_SHOWN = 60
"""Characters of a wrong line to show in an error: enough to find it, short enough for one line."""
_JUDGEMENT_LENGTHS = (3, 4)
"""Fields of a line of BEIR's judgements, and of TREC's, which has a 0 after the id."""


@dataclass(frozen=True, slots=True)
class Target:
    """An answer to a question: a document, a verbatim passage, or a passage of a document.

    `document` is a uri, or its name without folders or suffix. `grade` is above 0. `start` is the position of the
    quotation in its document, -1 if unknown.
    """

    document: str = ""
    quotation: str = ""
    grade: int = 1
    start: int = -1


@dataclass(frozen=True, slots=True)
class Question:
    """A question and its targets, at least one."""

    id: str
    text: str
    targets: tuple[Target, ...]


def load_questions(path: Path, qrels: Path | None = None) -> list[Question]:
    """Return the questions of a file or folder in their order.

    Raises `QueryError` if none can be read, or if no search could answer one.
    """
    try:
        found = list(_load(path, qrels))
    except OSError as error:
        raise QueryError(f"{error.filename}: cannot be read: {error.strerror}") from error
    if not found:
        raise QueryError(f"{path}: no question with an answer; give a CSV file, TREC topics or a BEIR folder")
    # Rankings are kept by id: of two questions with one id, one would be lost.
    again = next((key for key, count in Counter(one.id for one in found).items() if count > 1), None)
    if again is not None:
        raise QueryError(f"{path}: {again!r} is the id of two questions; ids must be unique")
    for one in found:
        try:
            check_query(one.text)
        except QueryError as error:
            raise QueryError(f"{path}: question {one.id}: {error}") from None
    return found


def _load(path: Path, qrels: Path | None) -> Iterator[Question]:
    if path.is_dir():
        yield from _beir(path, qrels)
    elif path.suffix.lower() == ".csv":
        yield from _csv(path)
    elif qrels is not None:
        yield from _judged(_trec_topics(path), _judgements(qrels))
    else:
        path.stat()  # report a missing file first
        raise QueryError(f"{path}: questions without answers; give their qrels with --qrels FILE")


def _text(path: Path) -> str:
    """Return the text of a file with its line ends, without a byte order mark."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise QueryError(f"{path}: not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8") from None


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the lines that are not blank, each with its place; U+2028 and the like end none, as in JSON."""
    # Not by `splitlines`, which knows further ends of lines.
    lines = _text(path).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return ((f"{path} line {number}", line) for number, line in enumerate(lines, start=1) if line.strip())


def _beir(folder: Path, qrels: Path | None) -> Iterator[Question]:
    texts = [_beir_query(place, line) for place, line in _lines(folder / "queries.jsonl")]
    # BEIR's sets have judgements for training as well; results are published for those of the test.
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
    """Read TREC's `id 0 document grade` or BEIR's `id document grade`; grades of 0 and less are no answers.

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
    # Names of documents may contain blanks, so tabs are tried first.
    tabbed = [part.strip() for part in line.split("\t")]
    return tabbed if len(tabbed) in _JUDGEMENT_LENGTHS else line.split()


def _grade(parts: Sequence[str]) -> int | None:
    """Return the grade of a judgement, or None if these are not its fields."""
    try:
        return int(parts[-1]) if len(parts) in _JUDGEMENT_LENGTHS else None
    except ValueError:
        return None


def _judged(texts: Iterable[tuple[str, str]], judgements: Mapping[str, Mapping[str, Target]]) -> Iterator[Question]:
    for key, text in texts:
        if judgements.get(key):
            yield Question(key, text, tuple(judgements[key].values()))


def _csv(path: Path) -> Iterator[Question]:
    csv.field_size_limit(_FIELD_LIMIT)
    rows = csv.DictReader(io.StringIO(_text(path), newline=""))
    try:
        _check_columns(path, rows.fieldnames or ())
        for number, row in enumerate(rows, start=1):
            yield from _csv_question(row, number, f"{path} line {rows.line_num}")
    except csv.Error as error:
        raise QueryError(f"{path} after line {rows.line_num}: {error}") from None


def _check_columns(path: Path, names: Sequence[str]) -> None:
    if "question" not in [name.strip().lower() for name in names]:
        raise QueryError(f"{path}: no column `question`" + (f", only {', '.join(names)}" if names else ""))


def _csv_question(row: Mapping[str | None, str | None], number: int, place: str) -> Iterator[Question]:
    """Yield the question of a row, if it has one with a target; fields without a column are ignored."""
    fields = {name.strip().lower(): value or "" for name, value in row.items() if name is not None}
    targets = tuple(_targets(fields, place))
    if fields["question"].strip() and targets:
        yield Question(fields.get("id") or str(number), fields["question"], targets)


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
            yield Target(document, quotation)
