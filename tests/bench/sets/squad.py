"""Make a judged set of a file in SQuAD's form: `docs/` and `questions.jsonl`, as `read_answers` reads them.

    python -m tests.bench.sets.squad FILE FOLDER [--questions 300] [--letters 300000]

The documents are chosen by a fixed seed until they have that many letters, and the questions among theirs likewise.
"""

import argparse
import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

SEED = 7


def articles(path: Path) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return the questions of each paragraph of each article, by title; paragraphs that a file repeats are one."""
    text = path.read_text(encoding="utf-8")
    rows = list(map(json.loads, text.splitlines())) if path.suffix == ".jsonl" else json.loads(text)["data"]
    found = defaultdict[str, dict[str, list[dict[str, Any]]]](lambda: defaultdict(list))
    for number, row in enumerate(rows):
        for paragraph in row.get("paragraphs") or [row | {"qas": [row]}]:
            context = paragraph["context"].replace("\r", " ").strip()
            shift = len(paragraph["context"]) - len(paragraph["context"].lstrip())
            for one in paragraph["qas"]:
                answers = [(int(start) - shift, answer) for start, answer in told(one.get("answers") or [])]
                found[row.get("title") or str(number)][context].append(
                    {"question": one["question"], "answers": answers}
                )
    return found


def told(answers: Any) -> list[tuple[Any, str]]:
    """Return start and text of each answer, of which a file has a list, or a list of each."""
    if isinstance(answers, dict):
        return list(zip(answers["answer_start"], answers["text"], strict=True))
    return [(one["answer_start"], one["text"]) for one in answers]


def places(uri: str, before: int, context: str, answers: list[tuple[int, str]]) -> list[dict[str, Any]]:
    """Return the places of the answers that are where the file says, in a document that has `before` characters."""
    found = {}
    for start, text in answers:
        if text.strip() and context[start : start + len(text)] == text:
            begin = before + start
            found[begin] = {"document": uri, "start_char": begin, "text": text, "end_char": begin + len(text)}
    return list(found.values())


def write(path: Path, folder: Path, most_questions: int, letters: int) -> None:
    """Write the set of a file into a folder."""
    given, chance, written, count = list(articles(path).items()), random.Random(SEED), 0, 0
    asked = dict[str, list[dict[str, Any]]]()
    chance.shuffle(given)
    (folder / "docs").mkdir(parents=True)
    for title, paragraphs in given:
        if written > letters:
            break
        uri, text = f"{count:03}.md", f"# {title.replace('_', ' ')}\n"
        for context, questions in paragraphs.items():
            text += "\n"
            found = {one["question"]: places(uri, len(text), context, one["answers"]) for one in questions}
            asked |= {question: answers for question, answers in found.items() if answers}
            text += context + "\n"
        (folder / "docs" / uri).write_bytes(text.encode())
        written, count = written + len(text), count + 1
    chosen = chance.sample(list(asked), min(most_questions, len(asked)))
    lines = [json.dumps({"question": one, "answers": asked[one]}, ensure_ascii=False) for one in chosen]
    (folder / "questions.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{folder.name}: {count:,} documents, {written:,} letters, {len(lines):,} of {len(asked):,} questions")


def main() -> None:
    """Write one set."""
    parser = argparse.ArgumentParser(description="Make a judged set of a file in SQuAD's form.")
    parser.add_argument("file", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--letters", type=int, default=300_000)
    given = parser.parse_args()
    write(given.file, given.folder, given.questions, given.letters)


if __name__ == "__main__":
    main()
