"""The samples of source code in code_samples.md: by language a text, words in it, and what encloses these."""

import re
from pathlib import Path

_SECTION = re.compile(r"^## (\w+): `(.+)`\n\n((?:- .*\n)+)\n```\w+\n([\s\S]*?)^```", re.MULTILINE)
_TEXT = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")

SAMPLES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    language: (text, words, tuple(re.findall(r"^- `(.*)`$", path, re.MULTILINE)))
    for language, words, path, text in _SECTION.findall(_TEXT)
}
