"""What a person sees on a terminal: colours, links, lit words and tables of its width; and plain text in a pipe."""

import os
import pty
import re
import struct
import subprocess
import termios
from fcntl import ioctl
from pathlib import Path

import pytest

from docmill.flows.cli.terminal.capabilities import takes_links
from docmill.flows.cli.terminal.hits import file_url, linked, opened_in_browser, snippet
from docmill.flows.cli.terminal.output import NARROWEST, aligned
from docmill.tasks.sources.known_files import KnownFiles
from tests.kit.house import ROOT
from tests.kit.workbench import Workbench

_COLOUR = re.compile("\x1b\\[[0-9;]+m")
LIT = "\x1b[33m\x1b[1m{}\x1b[0m"
TERMINAL = {"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}


def on_a_terminal(arguments: list[str], columns: int = 80, **variables: str) -> str:
    """Return what the command prints on a terminal."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    told = {"COLUMNS", "LINES", "NO_COLOR", "VTE_VERSION"}
    environment = {name: value for name, value in os.environ.items() if name not in told} | TERMINAL | variables
    command = ["docmill", *arguments]
    done = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # Linux says so at the end of a terminal
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    assert done.wait() == 0
    return shown.decode().replace("\r\n", "\n")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, fake_model: str) -> Workbench:
    bench = Workbench(tmp_path_factory.mktemp("seen"), {"embedding": {"model": fake_model}})
    bench.write(
        {
            "über uns/tea & more.md": "# Tea\n\nGreen teas are steamed. " + "Leaves are dried slowly. " * 20,
            "bread.md": "# Bread\n\nRye needs a sourdough.\x1bé\n",
        }
    )
    for path in bench.docs.rglob("*.md"):
        os.utime(path, (1, 1))  # a file that was written just now is read again, and not remembered
    bench.ingest()
    return bench


def asked(bench: Workbench, *more: str) -> list[str]:
    return ["search", "steaming tea", "--mode", "keyword", "--store", str(bench.root), *more]


@pytest.mark.usefixtures("warm_path")
def test_a_search_on_a_terminal_lights_up_stems_and_links_to_the_file(bench: Workbench) -> None:
    shown = on_a_terminal(asked(bench))
    assert LIT.format("teas") in shown
    assert LIT.format("steamed") in shown
    assert f"\x1b]8;;{file_url(bench.docs / 'über uns' / 'tea & more.md')}\x1b\\über uns/tea & more.md\x1b]8;;" in shown


@pytest.mark.usefixtures("warm_path")
def test_colours_and_links_can_be_refused(bench: Workbench) -> None:
    assert not _COLOUR.search(on_a_terminal(asked(bench), NO_COLOR="1", FORCE_HYPERLINK="0"))
    assert "\x1b" not in on_a_terminal(asked(bench), TERM="dumb")
    assert "\x1b]8" not in on_a_terminal(asked(bench), TERM_PROGRAM="Apple_Terminal")
    drawn = on_a_terminal(["explain", str(bench.docs / "bread.md")], NO_COLOR="1")
    assert not re.search("\x1b\\[[0-9;]*3[0-7]", drawn)  # bold and underlined text have no colour


@pytest.mark.usefixtures("warm_path")
def test_a_pipe_gets_plain_text(bench: Workbench) -> None:
    command = ["docmill", *asked(bench)]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | TERMINAL, capture_output=True, text=True, check=True)
    assert "\x1b" not in done.stdout
    assert done.stdout.startswith("1. 1.00  über uns/tea & more.md:")
    assert re.search(r"\(BM25 \d\.\d{3}\)$", done.stdout.splitlines()[0])


@pytest.mark.usefixtures("warm_path")
def test_a_control_character_of_a_document_stays_an_escape_beside_colours(bench: Workbench) -> None:
    shown = on_a_terminal(["search", "sourdough", "--mode", "keyword", "--store", str(bench.root)])
    assert LIT.format("sourdough") in shown
    assert "\\x1bé" in shown


@pytest.mark.usefixtures("warm_path")
@pytest.mark.parametrize("columns", [60, 100])
def test_a_table_is_as_wide_as_the_terminal_and_uncut_in_a_pipe(bench: Workbench, columns: int) -> None:
    statement = ["sql", "SELECT uri, text, tokens FROM chunks ORDER BY uri", "--store", str(bench.root)]
    lines = on_a_terminal(statement, columns).splitlines()
    assert max(map(len, lines)) == columns
    assert all("…" in line and line.split()[-1].isdecimal() for line in lines[3:])
    command = ["docmill", *statement]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.count("Leaves are dried slowly.") == 20
    assert "…" not in done.stdout


def test_a_table_takes_from_its_widest_columns_and_leaves_numbers_whole() -> None:
    rows = [["a" * 50, "b" * 9, 123456789, "c" * 30], ["short", "b", 1, "東" * 20]]
    lines = aligned(["one", "two", "n", "three"], rows, 70).splitlines()
    assert [max(map(len, lines[:3])), lines[2].count("a"), lines[2].count("c")] == [70, 22, 22]
    assert "b" * 9 in lines[2]
    assert "123456789" in lines[2]
    assert lines[3].endswith("東" * 11 + "…")
    assert f"{'a' * (NARROWEST - 1)}…" in aligned(["one", "two"], [["a" * 50, "b" * 50]], 5)


def test_words_light_up_as_the_index_finds_them() -> None:
    assert LIT.format("Häusern") in snippet("Haus", "in den Häusern", mark=True, language="german")
    assert f"ה{LIT.format('בית')}" in snippet("בית", "הבית הגדול", mark=True)
    assert f"ปิด{LIT.format('ถนน')}" in snippet("ถนน", "ปิดถนน", mark=True)
    assert LIT.format("C#") in snippet("c#", "C and C# code", mark=True)
    assert LIT.format("C") not in snippet("c#", "C and C# code", mark=True)
    assert LIT.format("3.8.8") in snippet("3.8.8", "since 3.8.8", mark=True)
    assert (
        snippet("resume USA", "A résumé of the U.S.A.", mark=True)
        == f"A {LIT.format('résumé')} of the {LIT.format('U.S.A')}."
    )
    assert snippet("AT&T", "(AT&T) at it", mark=True) == f"({LIT.format('AT&T')}) at it"
    assert snippet("who", "The WHO, and who?", mark=True) == "The WHO, and who?"
    assert snippet("WHO", "The WHO, and who?", mark=True) == f"The {LIT.format('WHO')}, and who?"
    assert snippet("email", "“e-mail” or mail", mark=True) == f"“{LIT.format('e-mail')}” or mail"
    assert snippet("warehouse", "a ware-\nhouse", mark=True) == f"a {LIT.format('ware-')} {LIT.format('house')}"
    assert snippet("كتب", "«كَتَبَ»", mark=True) == f"«{LIT.format('كَتَبَ')}»"
    assert snippet("天気", "明日は天気です。", mark=True) == f"明日は{LIT.format('天気')}です。"
    assert snippet("気", "明日は天気です。", mark=True) == f"明日は天{LIT.format('気')}です。"


@pytest.mark.parametrize(
    ("variables", "takes"),
    [
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "xterm-256color"}, False),
        ({"VTE_VERSION": "6800"}, True),
        ({"VTE_VERSION": "5000"}, False),
        ({"TERM_PROGRAM": "vscode", "TERM": "dumb"}, False),
        ({"WT_SESSION": "x"}, True),
        ({"TERM_PROGRAM": "tmux", "TERM": "tmux-256color"}, False),
    ],
)
def test_links_go_to_terminals_that_are_known_to_take_them(variables: dict[str, str], takes: bool) -> None:
    assert takes_links(variables) == takes


def test_a_link_is_an_encoded_url_with_the_host_or_nothing() -> None:
    url = file_url(Path("/a b/c#d%é\x1b.md"))
    assert re.fullmatch(r"file://[^/]+/a%20b/c%23d%25%C3%A9%1B\.md", url)
    assert linked("x", "") == "x"


@pytest.mark.parametrize(
    ("url", "opens"),
    [
        ("https://wiki.example.org/ice.md", True),
        ("s3://bucket/ice.md", False),
        ("https://wiki.example.org/\x1b]8;;", False),
        ("", False),
    ],
)
def test_a_terminal_is_handed_the_link_of_a_source_only_if_a_browser_opens_it(url: str, opens: bool) -> None:
    assert opened_in_browser(url) == (url if opens else "")


def test_of_files_that_fit_a_document_only_a_certain_one_is_linked(tmp_path: Path, fake_model: str) -> None:
    bench = Workbench(tmp_path, {"embedding": {"model": fake_model}})
    bench.write({"read.md": "# Read\n\nOne.", "sub/read.md": "# Read\n\nTwo.", "sub/a.md": "A.", "other/a.md": "A."})
    for path in bench.docs.rglob("*.md"):
        os.utime(path, (1, 1))
    bench.ingest(f"team={bench.docs}")
    files, store = KnownFiles(bench.root), bench.store
    found = {uri: files.of(uri, store.document(uri).row.content_hash) for uri in ("team/read.md", "team/sub/read.md")}
    assert found == {"team/read.md": bench.docs / "read.md", "team/sub/read.md": bench.docs / "sub" / "read.md"}
    (bench.docs / "read.md").unlink()
    assert files.of("team/read.md", store.document("team/read.md").row.content_hash) is None
    assert files.of("a.md", store.document("team/sub/a.md").row.content_hash) is None
