"""Measure how the language of short texts and of code is told, by docmill and by public detectors.

    python -m tests.bench.finding.languages.measure --data FOLDER [--peers PYTHON] [--packages FOLDER] [--search]

FOLDER has XQuAD's sets by language (`xquad-de` ...) and `jaquad`, each with questions and paragraphs. PYTHON is that of
an environment with `requirements.txt` beside this file. Code is that of Python packages, of this environment or of a
folder, without docstrings. Texts are told one by one, without the help of others nearby. `--search` prints what a
detector without doubt would gain: how often a keyword search finds the answer where chunks are read as detected, and
where those in doubt are read in their true language.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from sysconfig import get_path
from typing import Any

from docmill.storage.search.keywords.keyword_search import KeywordIndex
from docmill.storage.search.keywords.keyword_writer import rebuild
from docmill.storage.search.sentences.sentence_spans import sentence_spans
from tests.bench.finding.languages.telling import TOOLS
from tests.bench.sets.code import read_code

_ROOT = Path(__file__).parents[4]
_SETS = {"xquad-en": "en", "xquad-de": "de", "xquad-es": "es", "xquad-zh": "zh", "jaquad": "ja"}
_CUTS = (20, 50, 200)
_MOST = 300  # texts of a kind in a language
_CODE = "code"
_SEARCHED = {"xquad-en": "english", "xquad-de": "german", "xquad-es": "spanish"}
_CHUNKS = (100_000, 200, 100)  # characters; the first is a paragraph
_RANKS = (1, 5)
_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class _Cut:
    """A piece of a document, from an offset."""

    document: str
    start: int
    text: str

    @property
    def chunk_id(self) -> str:
        return f"{self.document}:{self.start}"

    def answers(self, answers: list[dict[str, Any]]) -> bool:
        """Return whether an answer begins in the piece."""
        end = self.start + len(self.text)
        return any(one["document"] == self.document and self.start <= one["start_char"] < end for one in answers)


Texts = dict[tuple[str, str], list[str]]
"""Texts by their kind and language; code has the language ""."""


def texts_of(data: Path, packages: Path) -> Texts:
    """Return the questions, the cuts of paragraphs, and the pieces of code."""
    found: Texts = {}
    for name, tag in _SETS.items():
        lines = (data / name / "questions.jsonl").read_text(encoding="utf-8").splitlines()
        found["questions", tag] = [json.loads(line)["question"] for line in lines][:_MOST]
        paragraphs = [*_paragraphs(data / name / "docs")][:_MOST]
        found["1 sentence", tag] = [text[slice(*sentence_spans(text, False)[0])].strip() for text in paragraphs]
        for cut in _CUTS:
            found[f"{cut} characters", tag] = [text[:cut] for text in paragraphs]
    files = read_code(packages).documents.values()
    for cut in _CUTS:
        found[f"{_CODE}, {cut} characters", ""] = [piece for text in files for piece in _pieces(text, cut)][:_MOST]
    found[f"{_CODE}, files", ""] = [*files]
    return found


def _paragraphs(folder: Path) -> Iterator[str]:
    for path in sorted(folder.iterdir()):
        yield from (one for one in path.read_text(encoding="utf-8").split("\n\n") if len(one) > max(_CUTS))


def _pieces(text: str, cut: int) -> Iterator[str]:
    """Yield pieces of a file from the starts of lines, two a file."""
    for part in (len(text) // 3, len(text) * 2 // 3):
        start = text.find("\n", part) + 1
        yield text[start : start + cut]


def told(tool: str, python: Path, texts: list[str]) -> dict[str, Any] | None:
    """Return what a tool tells of texts, or None with a message if it is not installed."""
    with tempfile.TemporaryDirectory() as place:
        asked, answered = Path(place, "texts.json"), Path(place, "told.json")
        asked.write_text(json.dumps(texts), encoding="utf-8")
        command = [str(python), str(Path(__file__).with_name("telling.py")), tool, str(asked), str(answered)]
        done = subprocess.run(command, cwd=_ROOT, env={**os.environ}, timeout=_SECONDS, check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)  # fmt: skip
        if done.returncode:
            print(f"{tool}: left out: {done.stderr.decode(errors='replace').strip().splitlines()[-1:]}")
            return None
        found: dict[str, Any] = json.loads(answered.read_text(encoding="utf-8"))
        return found


def rows(texts: Texts, tags: dict[str, list[str]]) -> Iterator[list[str]]:
    """Yield a row for each kind of texts and language, with a cell for each tool."""
    start = 0
    for (kind, language), own in texts.items():
        cells = [_cell(language, found[start : start + len(own)]) for found in tags.values()]
        yield [kind, language or "–", str(len(own)), *cells]
        start += len(own)


def _cell(language: str, found: list[str]) -> str:
    """Return the % that are right and wrong, the rest is in doubt; of code those called English, and another language.

    Code that is called English is indexed as code in doubt is.
    """
    right = sum(tag == (language or "en") for tag in found) / len(found)
    wrong = sum(tag not in (language or "en", "") for tag in found) / len(found)
    return f"{100 * right:.0f} / {100 * wrong:.0f}"


def searched(data: Path) -> Iterator[list[str]]:
    """Yield for each set and size of chunks the % of questions whose answer is among the first hits."""
    for name, language in _SEARCHED.items():
        lines = (data / name / "questions.jsonl").read_text(encoding="utf-8").splitlines()
        asked = [json.loads(line) for line in lines]
        for size in _CHUNKS:
            chunks = {one.chunk_id: one for one in _chunks(data / name / "docs", size)}
            ranks = [_ranks(chunks, asked, default) for default in ("english", language)]
            yield [name, str(size), *(_share(own, rank) for rank in _RANKS for own in ranks)]


def _share(ranks: list[int], most: int) -> str:
    return f"{100 * sum(rank <= most for rank in ranks) / len(ranks):.1f}"


def _chunks(folder: Path, size: int) -> Iterator[_Cut]:
    for path in sorted(folder.iterdir()):
        text = path.read_text(encoding="utf-8")
        for found in re.finditer(r"(?:[^\n]|\n(?!\n))+", text):
            for start in range(found.start(), found.end(), size):
                yield _Cut(path.name, start, text[start : min(start + size, found.end())])


def _ranks(chunks: dict[str, _Cut], asked: list[dict[str, Any]], default: str) -> list[int]:
    """Return the rank of the first hit with an answer of each question; `default` is the language in doubt."""
    with tempfile.TemporaryDirectory() as place:
        index = KeywordIndex(
            Path(place), rebuild(Path(place), [(key, one.text) for key, one in chunks.items()], default)
        )
        found = [[chunks[key] for key in index.search(one["question"], max(_RANKS)).ids] for one in asked]
    return [
        next((rank for rank, hit in enumerate(hits, 1) if hit.answers(one["answers"])), max(_RANKS) + 1)
        for one, hits in zip(asked, found, strict=True)
    ]


def main() -> None:
    """Print the tables."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path, required=True, help="folder of the judged sets")
    arguments.add_argument("--peers", type=Path, help="Python of the environment of the public detectors")
    arguments.add_argument("--packages", type=Path, default=Path(get_path("purelib")), help="folder of packages")
    arguments.add_argument("--search", action="store_true", help="what a detector without doubt would gain")
    chosen = arguments.parse_args()
    if chosen.search:
        print("| set | characters | hit@1, detected | without doubt | hit@5, detected | without doubt |")
        print("|---|---:|---:|---:|---:|---:|")
        for row in searched(chosen.data):
            print(f"| {' | '.join(row)} |")
        return
    texts = texts_of(chosen.data, chosen.packages)
    every = [text for own in texts.values() for text in own]
    pythons = {tool: Path(sys.executable) if tool == "docmill" else chosen.peers for tool in TOOLS}
    found = {tool: one for tool, python in pythons.items() if python and (one := told(tool, python, every))}
    print(f"| texts | language | number | {' | '.join(found)} |\n|---|---|---:|{'---:|' * len(found)}")
    for row in rows(texts, {tool: one["tags"] for tool, one in found.items()}):
        print(f"| {' | '.join(row)} |")
    for name, value in (
        ("CPU, µs a text", lambda one: f"{1e6 * one['seconds'] / len(every):.0f}"),
        ("CPU to the first answer, ms", lambda one: f"{1e3 * one['start']:.0f}"),
        ("memory, MB", lambda one: f"{one['memory']:.0f}"),
    ):
        print(f"| {name} | | {len(every)} | {' | '.join(map(value, found.values()))} |")


if __name__ == "__main__":
    main()
