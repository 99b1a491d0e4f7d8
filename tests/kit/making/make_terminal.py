"""Terminal pages: what some commands print in a terminal of 80 columns, written so that a reviewer can see it.

`tests/golden/terminal/<page>.txt` is the output of a command, or a session as `terminal_sessions.py` records it. After
a wanted change `python -m tests.kit.making.make_terminal` writes these again; review the difference.
"""

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from tests.kit.fake_encoder import write_model
from tests.kit.making.terminal_sessions import first_search, sessions

FOLDER = Path(__file__).parents[3] / "tests" / "golden" / "terminal"
PAGES = {
    "help": ["--help"],
    "ingest": ["ingest", "--help"],
    "watch": ["watch", "--help"],
    "search": ["search", "--help"],
    "evaluate": ["evaluate", "--help"],
    "settings-help": ["settings", "--help"],
    "settings": ["settings", "--wait", "5", "--set", "search.rerank=late"],
    "settings-search": ["settings", "token", "limit"],
}
"""The arguments of the command that prints each page."""
FILE = """\
sources = ["s3://bucket/docs"]

[chunk]
# A comment.
context_tokens = 60

[parse]
passwords = ["never to be seen"]

[[routes]]
glob = "manuals/**"
strategy = "structure"

[model]
base_url = "http://me:never-to-be-seen@localhost:8000/v1"
"""
ENVIRONMENT = {"COLUMNS": "80", "DOCMILL_SEARCH__WEIGHT": "0.3"}


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each page."""
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        for name in [name for name in os.environ if name.startswith("DOCMILL_")]:
            patch.delenv(name)
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        Path("docmill.toml").write_text(FILE, encoding="utf-8")
        for name, arguments in PAGES.items():
            yield name, CliRunner().invoke(app, arguments).output


def main() -> None:
    """Write all pages, and record all sessions."""
    FOLDER.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder:
        model = write_model(Path(folder, "model"))
        first = [("first-search", first_search(Path(folder, "first")))]
        for name, text in chain(pages(), sessions(Path(folder, "all"), model), first):
            (FOLDER / f"{name}.txt").write_text(text, encoding="utf-8", newline="")


if __name__ == "__main__":
    main()
