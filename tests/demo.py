"""Show docmill at work: `make demo`.

Ingests a copy of tests/corpus through Prefect's embedded server, asks it a question and a query,
edits one document, ingests again, and checks that only what the edit changed was embedded.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

FOLDER = Path(".demo")
CORPUS, STORE = FOLDER / "corpus", FOLDER / "store"
EDITED = CORPUS / "products" / "chough-guide.md"
BEFORE, AFTER = "Keep the card.", "Keep the card where the station is not."
QUESTION = "How long does the station run without sun?"
STATEMENT = "SELECT content_type, count(*) AS chunks, sum(tokens) AS tokens FROM chunks GROUP BY 1 ORDER BY 2 DESC"
INGEST = ["ingest", str(CORPUS), "--engine", "prefect", "--json"]


def say(title: str) -> None:
    """Print a heading."""
    print(f"\n── {title} {'─' * max(0, 96 - len(title))}", flush=True)


def docmill(*arguments: str, show: bool = True) -> str:
    """Run a command on the demo's store and return its standard output; end the demo where it fails."""
    if show:
        print(f"$ docmill {shlex.join([*arguments, '--store', str(STORE)])}", flush=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DOCMILL_", "PREFECT_"))}
    done = subprocess.run(
        [sys.executable, "-m", "docmill.flows.cli.app", *arguments, "--store", str(STORE)],
        env={**kept, "PREFECT_HOME": str((FOLDER / "prefect").absolute())},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"demo: that ended with exit status {done.returncode}\n{done.stdout}")
    if show:
        print(done.stdout, end="", flush=True)
    return done.stdout


def ingest() -> tuple[dict[str, Any], float]:
    """Ingest; return the report and the seconds that a person waited."""
    start = time.monotonic()
    report: dict[str, Any] = json.loads(docmill(*INGEST))
    return report, time.monotonic() - start


def chunks() -> dict[str, str]:
    """Return the text of each chunk by its id."""
    rows = json.loads(docmill("sql", "SELECT chunk_id, text FROM chunks", "--json", show=False))
    return {row["chunk_id"]: row["text"] for row in rows}


def edit() -> None:
    """Change one sentence of one document."""
    text = EDITED.read_text(encoding="utf-8")
    assert text.count(BEFORE) == 1, f"{EDITED} has no longer the sentence that the demo edits"
    EDITED.write_text(text.replace(BEFORE, AFTER), encoding="utf-8")
    print(f"{EDITED}: {BEFORE!r} becomes {AFTER!r}")


def main() -> None:
    """Run the whole course in `.demo`, from nothing."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    shutil.copytree("tests/corpus", CORPUS)
    say("Ingest a corpus through the Prefect flow, on an embedded server")
    first, first_s = ingest()
    before = chunks()
    say("Search: keywords and vectors together")
    docmill("search", QUESTION, "-k", "3")
    say("Query: SQL over the same chunks")
    docmill("sql", STATEMENT)
    say("What the store holds")
    docmill("status")
    say("Edit one document")
    edit()
    say("Ingest again")
    second, second_s = ingest()
    after = chunks()
    docmill("verify")
    added = [text for key, text in after.items() if key not in before]
    say("Chunks that are new")
    print("\n\n".join(added))
    summarise(first, first_s, second, second_s, len(after))
    check(first, second, added, len(after))


def summarise(first: dict[str, Any], first_s: float, second: dict[str, Any], second_s: float, total: int) -> None:
    """Print what happened."""
    say("Summary")
    documents = first["documents"]
    print(f"first ingest    {documents['added']} documents, {first['chunks']['added']} chunks,", end=" ")
    print(f"{first['embedded']} embedded, snapshot {first['snapshot']}, {first_s:.0f} s")
    print(f"second ingest   {second['documents']['changed']} document edited, {second['parsed']} parsed,", end=" ")
    print(f"{second['embedded']} of {total} chunks embedded, snapshot {second['snapshot']}, {second_s:.0f} s")
    print(f"try             .venv/bin/docmill search 'who signs a contract' --store {STORE}")
    print(f"                .venv/bin/docmill --help; settings: .venv/bin/docmill init {FOLDER}")


def check(first: dict[str, Any], second: dict[str, Any], added: list[str], total: int) -> None:
    """End with an error unless the second run did what the edit asked for, and no more."""
    assert first["embedded"], first
    assert not first["documents"]["rejected"], first
    assert (second["parsed"], second["documents"]["changed"]) == (1, 1), second
    assert 1 <= second["embedded"] <= len(added) == second["chunks"]["added"] < 10 < total, second
    assert second["chunks"]["kept"] == total - len(added), second
    print("\nOnly the changed chunks were embedded.")


if __name__ == "__main__":
    main()
