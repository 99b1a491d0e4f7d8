"""Measure detection on a folder of labelled documents: accuracy with and without suffixes, and what is taken for what.

    python -m tests.bench.parsing.detect --data FOLDER [--wrong]

FOLDER holds `manifest.csv` with the columns `file` and `label`. `ACCEPTED` says which content types are right
for a label; labels that name a container are left out. The figures of two halves of the files, by a hash of
their names, are told apart: rules were tuned on the first half only.
"""

import argparse
import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from docmill.storage.errors import Rejected
from docmill.storage.keys import key_of
from docmill.tasks.detect.content_types import CONTENT_TYPES
from docmill.tasks.detect.type_scores import detect
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import ParseOptions

ACCEPTED = {
    "api_reference": ("reference",),
    "changelog": ("structured", "technical"),  # lists of changes, of software
    "chat_log": ("chat",),
    "code": ("code",),
    "config": ("data",),
    "data_json": ("data",),
    "email": ("email",),
    "faq": ("faq",),
    "legal_contract": ("legal",),
    "legal_policy": ("legal",),
    "narrative": ("narrative",),
    "patent": ("legal", "technical"),  # claims, and the description of a technique
    "readme": ("technical", "structured"),  # mostly how to use software; some are lists of links
    "scientific_abstract": ("technical", "narrative"),  # one paragraph of prose about a technical matter
    "scientific_paper": ("technical", "narrative"),  # the same, longer
    "slides": ("slides",),
    "specification": ("technical", "reference"),
    "speech": ("narrative", "transcript"),  # running speech, written down
    "subtitle_transcript": ("transcript",),
    "system_log": ("log",),
    "table_csv": ("table",),
    "tutorial": ("technical",),
}
NEEDED = {"with suffixes": 92.0, "without suffixes": 88.0}
REJECTED = "rejected"


class Case(NamedTuple):
    """A labelled file and what it was taken for."""

    file: str
    label: str
    found: str

    @property
    def right(self) -> bool:
        return self.found in ACCEPTED[self.label]

    @property
    def tuned(self) -> bool:
        return int(key_of("half", self.file)[0], 16) < 8


def detected(name: str, data: bytes) -> str:
    """Return the content type of a file's content, or that it is rejected."""
    try:
        file_type = detect_file_type(name, data)
        return detect(parse(data, file_type, ParseOptions()), file_type).content_type
    except Rejected:
        return REJECTED


def cases(folder: Path, with_suffix: bool) -> Iterator[Case]:
    """Yield the labelled files of a folder."""
    with (folder / "manifest.csv").open(encoding="utf-8", newline="") as manifest:
        for row in csv.DictReader(manifest):
            if row["label"] in ACCEPTED:
                name = PurePosixPath(row["file"]).name if with_suffix else "document"
                yield Case(row["file"], row["label"], detected(name, (folder / row["file"]).read_bytes()))


def share(some: list[Case]) -> float:
    """Return how many of a hundred cases are right."""
    return 100 * sum(case.right for case in some) / max(1, len(some))


def confusion(some: list[Case]) -> str:
    """Return a table of labels by types; what is right for a label is marked."""
    kinds = [kind for kind in (*CONTENT_TYPES, REJECTED) if any(case.found == kind for case in some)]
    lines = ["| label | right | " + " | ".join(kinds) + " |", "|---|---:|" + "---:|" * len(kinds)]
    for label, accepted in ACCEPTED.items():
        own = [case for case in some if case.label == label]
        found = Counter(case.found for case in own)
        cells = (f"{found[kind] or ''}{'*' if kind in accepted and found[kind] else ''}" for kind in kinds)
        lines.append(f"| {label} | {sum(case.right for case in own)}/{len(own)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Print accuracies and confusion matrices; end with 1 where a needed accuracy is missed."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--wrong", action="store_true", help="name the files that are taken for something else")
    given = options.parse_args()
    missed = False
    for name, needed in NEEDED.items():
        some = list(cases(given.data, name == "with suffixes"))
        halves = [share([case for case in some if case.tuned is tuned]) for tuned in (True, False)]
        print(f"\n## {name}: {share(some):.1f} % of {len(some)} documents, needed {needed:.0f} %")
        print(f"\nhalf for tuning {halves[0]:.1f} %, half held out {halves[1]:.1f} %; * is right\n")
        print(confusion(some))
        if given.wrong:
            print("\n".join(f"- {case.file}: {case.found}" for case in some if not case.right and case.tuned))
        missed |= share(some) < needed
    raise SystemExit(missed)


if __name__ == "__main__":
    main()
