"""Write the PDF and the DOCX of tests/corpus, the same bytes on every run: `python -m tests.kit.making.make_corpus`."""

from __future__ import annotations

from pathlib import Path

from tests.kit.making.corpus_manual import installation_manual
from tests.kit.making.corpus_policy import field_safety_policy

CORPUS = Path(__file__).resolve().parents[2] / "corpus"
MAKERS = {
    "products/ptarmigan-installation.pdf": installation_manual,
    "legal/field-safety-policy.docx": field_safety_policy,
}

if __name__ == "__main__":
    for name, make in MAKERS.items():
        (CORPUS / name).write_bytes(make())
