"""Golden files: what each format's samples are read as, written so that a reviewer can see it.

`tests/golden/<format>/<case>.<suffix>` is a document, `<case>.<suffix>.golden` what it is read as; so are some
documents of the corpus. After a wanted change `python -m tests.kit.making.make_golden` writes these anew; review the
difference.
"""

import json
from pathlib import Path

from docmill.storage.errors import Rejected
from docmill.storage.schema import Element
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import ParseOptions

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "tests" / "golden"
SESSIONS = FOLDER / "terminal"
"""Recorded sessions of the command line, which are no samples of a format."""
CORPUS = ROOT / "tests" / "corpus"
FROM_CORPUS = {  # what each is a sample of
    CORPUS / "legal/field-safety-policy.docx": "docx",
    CORPUS / "products/ptarmigan.html": "html",
    CORPUS / "products/ptarmigan-installation.pdf": "pdf",
}
SUFFIX = ".golden"
PASSWORDS = ("secret",)


def samples() -> list[Path]:
    """Return the documents, in order."""
    files = (path for path in FOLDER.rglob("*") if path.is_file() and SESSIONS not in path.parents)
    own = (path for path in files if path.suffix != SUFFIX)
    return sorted([*own, *FROM_CORPUS])


def format_of(sample: Path) -> str:
    """Return the name of the format that a document is a sample of."""
    return FROM_CORPUS.get(sample) or sample.parent.name


def golden(sample: Path) -> Path:
    """Return where it is written what a document is read as."""
    return FOLDER / format_of(sample) / (sample.name + SUFFIX)


def reading(sample: Path) -> str:
    """Return what a document is read as: its type, what it says of itself, its elements with their text."""
    data = sample.read_bytes()
    try:
        file_type = detect_file_type(sample.name, data)
    except Rejected as why:
        return f"rejected: {why}\n"
    form = f"format: {' '.join(filter(None, (file_type.format, file_type.language)))}"
    try:
        parsed = parse(data, file_type, ParseOptions(passwords=PASSWORDS))
    except Rejected as why:
        return f"{form}\nrejected: {why}\n"
    lines = [
        form,
        f"title: {parsed.title}",
        *(f"{name}: {_json(value)}" for name, value in sorted(parsed.metadata.items())),
    ]
    for element in parsed.elements:
        lines += ["", f"[{_about(element)}]", parsed.text[element.start_char : element.end_char]]
    return "\n".join(lines) + "\n"


def _about(element: Element) -> str:
    facts = [element.kind, f"{element.start_char}-{element.end_char}", f"line {element.line}"]
    facts += [f"{name} {value}" for name in ("level", "page") if (value := getattr(element, name))]
    if element.box:
        facts.append("box " + " ".join(f"{side:.0f}" for side in element.box))
    return ", ".join(facts + [f"{name} {_json(value)}" for name, value in element.attributes.items()])


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def main() -> None:
    """Write all golden files."""
    for sample in samples():
        golden(sample).write_text(reading(sample), encoding="utf-8", newline="")


if __name__ == "__main__":
    main()
