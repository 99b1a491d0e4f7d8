"""Measure which snippets of web pages reach chunks: those of the article, and those of what surrounds it.

    python -m tests.bench.parsing.main_content --data FOLDER [--half look|report] [--failures]

`FOLDER` has pages and `expected.json`: for each file's name snippets that a reader must keep (`with`) and must leave
out (`without`), as the evaluation of trafilatura has them. Snippets are compared without spaces, signs and case.
"""

import argparse
import json
import re
from pathlib import Path

from docmill.storage.keys import key_of
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.bench.table import Figure, show

_SIGNS = re.compile(r"[\W_]+")
_LEFT_OUT = ("furniture", "toc")
_MAX_UNWANTED, _MAX_LOST = 25, 1.5
"""Most snippets around articles that are kept, and of articles that are lost, in %."""


def main() -> None:
    """Print the shares of snippets of both kinds that are judged wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--half", choices=("look", "report"), help="by a hash of the name; rules were made on `look`")
    parser.add_argument("--failures", action="store_true", help="print each snippet judged wrong")
    chosen = parser.parse_args()
    pages = {
        name: snippets
        for name, snippets in json.loads((chosen.data / "expected.json").read_bytes()).items()
        if chosen.half in (None, half_of(name))
    }
    counts = {"with": [0, 0], "without": [0, 0]}
    for name, snippets in sorted(pages.items()):
        read = _kept((chosen.data / name).read_bytes())
        for kind, count in counts.items():
            wrong = [one for one in snippets[kind] if (_plain(one) in read) == (kind == "without")]
            count[0] += len(wrong)
            count[1] += len(snippets[kind])
            for one in wrong if chosen.failures else ():
                print(f"{'lost' if kind == 'with' else 'kept'}\t{name}\t{one}")
    (lost, wanted), (kept, unwanted) = counts.values()
    show(
        f"{len(pages)} web pages",
        [
            Figure(f"lost of {wanted} snippets of articles", 100 * lost / wanted, "%", _MAX_LOST),
            Figure(f"kept of {unwanted} snippets around articles", 100 * kept / unwanted, "%", _MAX_UNWANTED),
        ],
    )


def half_of(name: str) -> str:
    """Return the half that a page belongs to: `look` to make rules on, `report` to measure them."""
    return "look" if int(key_of("half", name)[0], 16) < 8 else "report"


def _kept(page: bytes) -> str:
    """Return the letters of a page that reach chunks."""
    parsed = parse(page, FileType("html"), ParseOptions())
    kept = (one for one in parsed.elements if one.kind not in _LEFT_OUT)
    return _plain(" ".join(parsed.text[one.start_char : one.end_char] for one in kept))


def _plain(text: str) -> str:
    return _SIGNS.sub("", text).casefold()


if __name__ == "__main__":
    main()
