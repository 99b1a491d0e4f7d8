"""Questions with what answers them, from the files in which people keep such things.

| given | is read as |
|---|---|
| a folder with `queries.jsonl` and `qrels/*.tsv` | BEIR; document ids are names of documents, with or without suffix |
| a `.tsv` or `.txt` of `id<TAB>question`, and a qrels file | TREC |
| a `.csv` with `question` and `uri`, `phrase` or both | one right document, passage, or passage of a document |
| a `.csv` with `question`, `references` and `corpus_id` | excerpts as in Chroma's chunking evaluation |
"""

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from storage.errors import QueryError

_FIELD_LIMIT = 10_000_000


@dataclass(frozen=True, slots=True)
class Target:
    """What answers a question: a document, a passage quoted word for word, or a passage of a document.

    `document` is a uri, or the name of one without its folders or its suffix. `grade` is above 0. `start` is where
    the quotation begins in its document, -1 where that is not said.
    """

    document: str = ""
    quotation: str = ""
    grade: int = 1
    start: int = -1


@dataclass(frozen=True, slots=True)
class Question:
    """One question and its targets, of which there is at least one."""

    id: str
    text: str
    targets: tuple[Target, ...]


def load_questions(path: Path, qrels: Path | None = None) -> list[Question]:
    """Return the questions of a file or folder in their order; raise QueryError where none can be read."""
    try:
        found = list(_load(path, qrels))
    except OSError as error:
        raise QueryError(f"{error.filename}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
        raise QueryError(f"{path}: cannot be read as questions: {error!r}") from error
    if not found:
        raise QueryError(f"{path}: no question with a target; see the README on evaluation for the forms")
    again = next((key for key, count in Counter(one.id for one in found).items() if count > 1), None)
    if again is not None:
        raise QueryError(f"{path}: {again!r} is the id of two questions; give each its own")
    return found


def _load(path: Path, qrels: Path | None) -> Iterator[Question]:
    if path.is_dir():
        yield from _beir(path, qrels)
    elif path.suffix.lower() == ".csv":
        yield from _csv(path)
    elif qrels is not None:
        yield from _judged(_trec_topics(path), _judgements(qrels))
    else:
        path.stat()  # of a missing file that is the first thing to say
        raise QueryError(f"{path}: questions without answers; name their qrels with --qrels FILE")


def _beir(folder: Path, qrels: Path | None) -> Iterator[Question]:
    lines = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    texts = {str(row["_id"]): str(row["text"]) for row in map(json.loads, filter(str.strip, lines))}
    judged = sorted((folder / "qrels").glob("test*.tsv")) or sorted(folder.glob("qrels/*.tsv"))
    if not (qrels or judged):
        raise QueryError(f"{folder / 'qrels'}: no judgements (*.tsv) there; name them with --qrels FILE")
    chosen = qrels or judged[0]
    yield from _judged(texts, _judgements(chosen))


def _trec_topics(path: Path) -> dict[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    pairs = (line.split("\t", 1) for line in lines if line.strip())
    return {pair[0].strip(): pair[1].strip() for pair in pairs}


def _judgements(path: Path) -> dict[str, list[Target]]:
    """Read TREC's `id 0 document grade` or BEIR's `id document grade`; grades of 0 and less are no answers."""
    found: dict[str, list[Target]] = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        parts = line.split()
        if len(parts) < 3 or not parts[-1].lstrip("-").isdigit():
            continue  # the header, a blank line
        if int(parts[-1]) > 0:
            found[parts[0]].append(Target(document=parts[-2], grade=int(parts[-1])))
    return found


def _judged(texts: Mapping[str, str], judgements: Mapping[str, list[Target]]) -> Iterator[Question]:
    for key, text in texts.items():
        if judgements.get(key):
            yield Question(key, text, tuple(judgements[key]))


def _csv(path: Path) -> Iterator[Question]:
    csv.field_size_limit(_FIELD_LIMIT)
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        names = rows.fieldnames or ()
        if "question" not in [name.strip().lower() for name in names]:
            raise QueryError(f"{path}: no column `question`" + (f", only {', '.join(names)}" if names else ""))
        for number, row in enumerate(rows, start=1):
            fields = {(name or "").strip().lower(): value or "" for name, value in row.items() if name is not None}
            targets = tuple(_targets(fields))
            if fields["question"].strip() and targets:
                yield Question(fields.get("id") or str(number), fields["question"], targets)


def _targets(fields: Mapping[str, str]) -> Iterator[Target]:
    document = fields.get("uri") or fields.get("document") or fields.get("corpus_id", "")
    if "references" in fields:
        references: list[dict[str, Any]] = json.loads(fields["references"])
        for one in references:
            yield Target(document, str(one["content"]), start=int(one.get("start_index", -1)))
    else:
        quotation = fields.get("phrase") or fields.get("answer", "")
        if document or quotation:
            yield Target(document, quotation)
