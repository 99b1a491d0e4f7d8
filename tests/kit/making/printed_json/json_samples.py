"""What every command prints with `--json`, run on one tiny store with the fake model and the fake language model."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.storage.search.encode import encoder, space
from docmill.storage.snapshots.history.judgements import id_of
from tests.kit import fake_encoder
from tests.kit.model_server import ModelServer, model_server

DOCUMENTS = {
    "git.md": "# Undo\n\nTo undo a commit, reset the branch.\n\n## Push\n\nPush when the tests pass.\n",
    "mill.md": "# Mill\n\nThe mill grinds wheat.\n",
    "empty.txt": "",
}
CHANGED = {"mill.md": "# Mill\n\nThe mill grinds rye and wheat.\n"}
QUESTIONS = "question,uri\nHow do I undo a commit?,git.md\nWhat does the mill grind?,mill.md\n"
Command = tuple[str, ...]
BEFORE: tuple[Command, ...] = (
    ("ingest", "docs"),
    ("tag", "first"),
    ("judge", "add", "grind gold", "--nothing", "--by", "Bo"),
)
"""What makes the first snapshot, which the commands below compare with."""
COMMANDS: dict[str, Command] = {
    "settings": ("settings", "context_tokens"),
    "plan": ("plan", "docs"),
    "ingest": ("ingest", "docs"),
    "search": ("search", "undo a commit", "-k", "1", "--passages", "40"),
    "sql": ("sql", "SELECT uri, chunks FROM documents ORDER BY uri"),
    "list": ("list",),
    "show": ("show", "git.md"),
    "explain": ("explain", "docs/git.md"),
    "export": ("export", "chunks.jsonl"),
    "history": ("history",),
    "diff": ("diff", "first", "--text"),
    "tag": ("tag",),
    "publish": ("publish",),
    "judge add": ("judge", "add", "undo a commit", "--uri", "git.md", "--quote", "reset the branch", "--by", "Ada"),
    "judge list": ("judge", "list"),
    "judge export": ("judge", "export", "judged.csv"),
    "judge withdraw": ("judge", "withdraw", id_of("undo a commit", "Ada", "git.md", "reset the branch")),
    "queries list": ("queries", "list"),
    "queries gaps": ("queries", "gaps"),
    "replay": ("replay", "first"),
    "queries clear": ("queries", "clear"),
    "evaluate questions": ("evaluate", "questions", "--questions", "q.csv", "--mode", "hybrid", "--weight", ".2",
                           "--weight", ".4", "--measure", "RR", "--by", "source"),
    "evaluate chunks": ("evaluate", "chunks", "--no-needles", "--no-coherence"),
    "evaluate context": ("evaluate", "context", "--questions", "q.csv"),
    "evaluate facts": ("evaluate", "facts", "--questions", "q.csv", "--mode", "hybrid", "--top", "3"),
    "learn run": ("learn", "run", "docs", "--budget", "50"),
    "learn list": ("learn", "list"),
    "tune": ("tune", "docs", "--questions", "q.csv", "--strategy", "recursive", "--size", "100", "--budget", "50"),
    "status": ("status",),
    "sources": ("sources",),
    "doctor": ("doctor",),
    "plugins": ("plugins",),
    "verify": ("verify",),
    "rejects": ("rejects",),
    "repair": ("repair",),
    "vacuum": ("vacuum",),
    "compact": ("compact",),
    "reembed": ("reembed",),
    "undelete": ("undelete", "mill.md"),
    "restore": ("restore", "first"),
    "remove": ("remove", "docs"),
    "erase": ("erase", "git.md"),
}  # fmt: skip
_STATUSES = (0, 1, 3, 4, 5)
"""Those of a command that prints what it found: also rejects, findings, a held-back snapshot or a lost source."""
UNSAMPLED = ("watch", "learn undo")
"""Commands without a sample: one ends by a signal only, the other takes back what judged queries have changed."""


@cache
def samples() -> dict[str, Any]:
    """Return what each command prints, by its name; it takes some 10 s, once in a process."""
    with workplace():
        for command in BEFORE:
            run(*command)
        _write(CHANGED)
        found = {}
        for name, command in COMMANDS.items():
            if name == "undelete":
                Path("docs/mill.md").unlink()
                run("ingest", "docs", "--allow-delete")
            found[name] = run(*command)
        return found


def run(*command: str) -> Any:
    """Run a command; a message that ends it is an error here."""
    done = CliRunner().invoke(app, [*command, "--json"])
    assert done.exit_code in _STATUSES, f"{command}\n{done.output}"
    assert done.stdout, f"{command}\n{done.output}"
    return json.loads(done.stdout)


def _write(documents: dict[str, str]) -> None:
    for name, text in documents.items():
        (Path("docs") / name).write_text(text)


@contextmanager
def workplace() -> Iterator[ModelServer]:
    """Work in a folder with the documents, with models that answer the same each time."""
    with (
        tempfile.TemporaryDirectory() as folder,
        pytest.MonkeyPatch.context() as patch,
        model_server() as server,
    ):
        written = fake_encoder.write_model(Path(folder) / fake_encoder.NAME)
        patch.setitem(space.FOLDERS, fake_encoder.NAME, lambda: written)
        patch.setitem(encoder.LOADERS, fake_encoder.NAME, fake_encoder.TokenCounts)
        for name in [name for name in os.environ if name.startswith(("DOCMILL_", "PREFECT_"))]:
            patch.delenv(name)
        values = {
            "EMBEDDING__MODEL": fake_encoder.NAME,
            "ENGINE": "local",
            "QUERIES__LOG": "true",
            "MODEL__PROVIDER": "openai",
            "MODEL__MODEL": "small",
            "MODEL__BASE_URL": server.url,
            "CHUNK__CONTEXTUALIZER": "llm",
            "GATE__QUESTIONS": "q.csv",
        }
        for name, value in values.items():
            patch.setenv(f"DOCMILL_{name}", value)
        patch.chdir(folder)
        Path("docs").mkdir()
        _write(DOCUMENTS)
        Path("q.csv").write_text(QUESTIONS)
        yield server
