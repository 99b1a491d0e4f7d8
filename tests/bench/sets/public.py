"""Read public sets of documents and judged questions: Chroma's excerpts, BEIR's judgements, FAQ rows, answers."""

import csv
import json
import random
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from docmill.tasks.evaluate.overlap import Passage
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import ParseOptions
from tests.bench.sets.collection import Asked, Collection


def read_excerpts(folder: Path) -> Collection:
    """Read `questions.csv` in Chroma's form and the corpora that it names, each `<corpus_id>.md`."""
    questions = []
    with (folder / "questions.csv").open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file)):
            uri = f"{row['corpus_id']}.md"
            spans = [(one["start_index"], one["end_index"]) for one in json.loads(row["references"])]
            references = tuple(Passage(uri, start, end) for start, end in spans)
            questions.append(Asked(str(number), row["question"], references))
    uris = sorted({one.document for question in questions for one in question.references})
    documents = {uri: (folder / uri).read_bytes().decode("utf-8") for uri in uris}
    return Collection(documents, tuple(questions))


def read_beir(folder: Path) -> Collection:
    """Read a BEIR folder; a document is a Markdown file of its title and its text."""
    lines = (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    documents = {f"{row['_id']}.md": f"# {row['title']}\n\n{row['text']}\n" for row in rows}
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / "qrels" / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        question, document, grade = line.split("\t")
        if int(grade) > 0:
            grades[question][f"{document}.md"] = int(grade)
    asked = [json.loads(line) for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()]
    questions = [Asked(str(one["_id"]), one["text"], grades=grades[str(one["_id"])]) for one in asked]
    return Collection(documents, tuple(question for question in questions if question.grades))


def read_faq(path: Path, count: int) -> Collection:
    """Read a CSV of questions and answers with `count` of its questions: right is the own row, or an equal one."""
    data = path.read_bytes()
    with path.open(encoding="utf-8", newline="") as file:
        rows = [(row["Question"], row["Answer"]) for row in csv.DictReader(file)]
    text = parse(data, detect_file_type(path.name, data), ParseOptions()).text
    spans = [Passage(path.name, *line.span()) for line in re.finditer(r".+", text)][2:]
    if len(spans) != len(rows):
        raise ValueError(f"{path}: {len(rows)} rows, {len(spans)} in its table")
    same = defaultdict[tuple[str, str], list[Passage]](list)
    for row, span in zip(rows, spans, strict=True):
        same[row].append(span)
    chosen = random.Random(7).sample(sorted(same), min(count, len(same)))
    questions = [Asked(str(number), row[0], tuple(same[row])) for number, row in enumerate(chosen)]
    return Collection({path.name: data.decode("utf-8")}, tuple(questions), {path.name: text})


def read_answers(folder: Path) -> Collection:
    """Read `docs/` and `questions.jsonl`, whose questions name the places of their answers, or the right documents."""
    documents = {path.name: path.read_bytes().decode("utf-8") for path in sorted((folder / "docs").iterdir())}
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return Collection(documents, tuple(_answered(str(number), json.loads(line)) for number, line in enumerate(lines)))


def _answered(name: str, row: dict[str, Any]) -> Asked:
    places = [(one["document"], one["start_char"], one["end_char"]) for one in row.get("answers", ())]
    references = tuple(Passage(*place) for place in places)
    return Asked(name, row["question"], references, dict.fromkeys(row.get("documents", ()), 1))
