"""Measure what readers get wrong easily, on documents that are written here, so that it is known what they say.

    python -m tests.bench.parsing.claims.measure [--only CLAIM ...] [--show]

Chromium, WeasyPrint and LibreOffice write some of them, where they are installed; a claim without documents has no row.
"""

import argparse
from collections.abc import Callable, Iterator

from tests.bench.parsing.claims import latex, lost_pages, marks, raised, right_to_left, word_numbers
from tests.bench.parsing.claims.claim import Claim

_SHOWN = 12  # failures of a claim: most have one cause
CLAIMS: dict[str, Callable[[], Iterator[Claim]]] = {
    "marks": marks.measure,
    "pages": lost_pages.measure,
    "numbers": word_numbers.measure,
    "raised": raised.measure,
    "latex": latex.measure,
    "right-to-left": right_to_left.measure,
}


def main() -> None:
    """Print a row for each claim: how many are right, of how many, and what is false."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", nargs="+", choices=CLAIMS, default=[*CLAIMS])
    arguments.add_argument("--show", action="store_true", help="print what is missed and what is false")
    chosen = arguments.parse_args()
    print("| what | right | of | false |\n|---|---:|---:|---:|")
    for name in chosen.only:
        for claim in CLAIMS[name]():
            if claim.of:
                print(f"| {claim.name} | {claim.right} | {claim.of} | {claim.false} |", flush=True)
            for one in claim.missed[:_SHOWN] if chosen.show else ():
                print(f"    {one}", flush=True)


if __name__ == "__main__":
    main()
