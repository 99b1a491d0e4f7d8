"""What `docmill explain` says of a file, draws in a terminal, and writes into a page."""

import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from zipfile import ZipFile

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app

PROSE = "The mill stands by the river, and the wheel turns while there is water enough to carry it round.\n\n"
TABLE = "| part | weight |\n|---|---|\n" + "".join(f"| millstone {i} | {i} kilograms |\n" for i in range(60))
MIXED = "# Mill\n\n" + PROSE * 6 + "## Weights\n\n" + TABLE + "\n## After\n\n" + PROSE * 4
FAQ = "# FAQ\n\n## How do I pay?\n\nBy card, or by <b>cash</b> & cheque.\n\n## Can I cancel?\n\nYes, within a day.\n"
DRAWN = """\
faq.md
  uri       faq.md
  format    markdown, 100 characters
  is        faq 0.90, else structured 0.30

region 1  lines 1-9  faq 0.90  else structured 0.30
  because   2 of 3 headings are questions; it calls itself an FAQ
  goes to   recursive (size 16), by [[routes]] type = "faq"

routes: 3 chunks of 12 to 17 tokens, half below 14
── 1  12 tokens  faq  line 1 ──
# FAQ

## How do I pay?

By card,
── 2  17 tokens  faq  line 5 ──
FAQ › How do I pay?
or by <b>cash</b> & cheque.
── 3  14 tokens  faq  line 7 ──
FAQ
## Can I cancel?

Yes, within a day.
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake_model: str) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCMILL_EMBEDDING__MODEL", fake_model)
    (tmp_path / "faq.md").write_text(FAQ)
    (tmp_path / "mixed.md").write_text(MIXED)
    return tmp_path


def run(*arguments: str, status: int = 0) -> str:
    result = CliRunner().invoke(app, ["explain", *arguments])
    assert result.exit_code == status, result.output
    return result.output


def explained(*arguments: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(run(*arguments, "--json"))
    return found


def test_it_is_drawn_as_a_person_reads_it() -> None:
    routes = [{"type": "faq", "strategy": "recursive", "options": {"size": 16}}]
    drawn = run("faq.md", "--set", f"routes={json.dumps(routes)}")
    assert drawn == DRAWN


def test_every_region_says_why_and_by_which_rule() -> None:
    found = explained("mixed.md")
    regions = found["regions"]
    assert isinstance(regions, list)
    assert [one["content_type"] for one in regions][1] == "table"
    assert regions[1]["rule"] == "the default for table"
    assert regions[1]["evidence"] == [f"a table of {len(TABLE) - 1:,} characters stands inside other text"]
    assert [one["end_char"] for one in regions] == [*(one["start_char"] for one in regions[1:]), len(MIXED)]


def test_a_file_of_a_source_is_routed_by_its_uri(folder: Path) -> None:
    (folder / "docs" / "manuals").mkdir(parents=True)
    (folder / "docs" / "manuals" / "faq.md").write_text(FAQ)
    (folder / "docmill.toml").write_text(
        'sources = ["team=docs"]\n[[routes]]\nglob = "team/manuals/**"\nstrategy = "sentence"\n'
    )
    found = explained("docs/manuals/faq.md")
    assert (found["uri"], found["source"], found["globs"]) == ("team/manuals/faq.md", "team", ["team/manuals/**"])
    assert '"rule": "[[routes]] glob = \\"team/manuals/**\\""' in json.dumps(found)
    assert explained("faq.md")["globs"] == []


def test_a_file_in_an_archive_is_explained_by_its_path_in_it(folder: Path) -> None:
    with ZipFile(folder / "inner.zip", "w") as inner:
        inner.writestr("deep/faq.md", FAQ)
    with ZipFile(folder / "box.zip", "w") as box:
        box.writestr("mixed.md", MIXED)
        box.write(folder / "inner.zip", "inner.zip")
    found = explained("box.zip/inner.zip/deep/faq.md")
    assert found["uri"] == "box.zip/inner.zip/deep/faq.md"
    assert found["splits"] == explained("faq.md")["splits"]
    said = run("box.zip/faq.md", status=1)
    assert "box.zip/faq.md: unreadable: it has no member 'faq.md', only inner.zip/deep/faq.md, mixed.md" in said
    (folder / "bad.zip").write_bytes((folder / "box.zip").read_bytes()[:200])
    assert "bad.zip/mixed.md: corrupt: " in run("bad.zip/mixed.md", status=1)


def test_front_matter_is_the_rule_where_it_names_a_route(folder: Path) -> None:
    (folder / "own.md").write_text("---\ndocmill: {strategy: recursive, size: 20}\n---\n" + FAQ)
    assert "recursive (size 20), by the front matter of the document" in run("own.md")
    (folder / "own.md").write_text("---\ndocmill: {strategy: recursiv}\n---\n" + FAQ)
    assert "the nearest is 'recursive'" in run("own.md", status=1)


def test_what_split_instead_of_a_strategy_without_its_model_is_said() -> None:
    assert "agentic, here by recursive: " in run("mixed.md", "--strategy", "agentic")


def test_other_strategies_are_tried_beside_the_routes() -> None:
    found = explained("mixed.md", "--strategy", "fixed", "--option", "fixed.overlap=20", "--strategy", "recursive",
                      "--option", "size=60")  # fmt: skip
    splits = found["splits"]
    assert isinstance(splits, list)
    assert [one["name"] for one in splits] == ["routes", "fixed overlap=20 size=60", "recursive size=60"]
    fixed, recursive = splits[1]["chunks"], splits[2]["chunks"]
    assert any(after["start_char"] < before["end_char"] for before, after in pairwise(fixed))
    assert {chunk["strategy"] for chunk in recursive} == {"recursive"}
    assert all(MIXED[chunk["start_char"] : chunk["end_char"]] == chunk["text"] for chunk in fixed)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["faq.md", "--option", "size=3"], "--option needs a --strategy"),
        (["faq.md", "--strategy", "fixd"], "the nearest is 'fixed'"),
        (["faq.md", "--strategy", "fixed", "--option", "size"], "must be NAME=VALUE"),
        (["faq.md", "--strategy", "fixed", "--option", "sentence.size=30"], "must be NAME=VALUE"),
        (["faq.md", "--strategy", "fixed", "--option", "sise=30"], "the nearest is 'size'"),
        (["gone.md"], "gone.md: no such file"),
        (["."], ".: is a folder; name a file in it"),
        (["empty.md"], "empty.md: empty: 0 bytes"),
    ],
)
def test_what_is_wrong_is_one_line(folder: Path, arguments: list[str], message: str) -> None:
    (folder / "empty.md").write_text("")
    assert message in run(*arguments, status=1)


def test_only_so_many_chunks_are_drawn() -> None:
    assert "… and " in run("mixed.md", "--limit", "2")
    assert "… and " not in run("mixed.md", "--limit", "0")


def test_what_steers_a_terminal_is_not_printed(folder: Path) -> None:
    (folder / "bad.md").write_text(f"# Title\n\n{PROSE}Some \x1b\u202ered text here.\n")
    drawn = run("bad.md")
    assert "red text here" in drawn
    assert not set(drawn) & set("\x1b\u202e")


class Page(HTMLParser):
    """The text of each column of a page, without what is said above the columns and the numbers in them."""

    def __init__(self, ways: int) -> None:
        super().__init__()
        self.columns = [""] * ways
        self.row, self.inside, self.tags = -1, False, set[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag == "div":
            self.inside = ("class", "text") in attrs
            self.row += self.inside
        self.tags |= {f"{name}=" for name, value in attrs if name in ("src", "href") or "url(" in str(value)}
        self.number = tag == "sup"

    def handle_endtag(self, tag: str) -> None:
        self.number = False
        if tag == "div":
            self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside and not self.number:
            self.columns[self.row % len(self.columns)] += data


def test_the_page_holds_the_whole_text_in_each_column_and_loads_nothing(folder: Path) -> None:
    long = MIXED * 12
    (folder / "long.md").write_text(long)
    run(
        "long.md",
        "--strategy",
        "fixed",
        "--option",
        "fixed.overlap=30",
        "--strategy",
        "hierarchical",
        "--html",
        "out.html",
    )
    text = (folder / "out.html").read_text()
    page = Page(3)
    page.feed(text)
    assert page.columns == [long] * 3
    assert not page.tags & {"script", "link", "img", "iframe", "src=", "href="}
    assert "default-src 'none'" in text
    assert "prefers-color-scheme: dark" in text


def test_the_page_escapes_what_it_shows(folder: Path) -> None:
    (folder / "evil.md").write_text(
        '# <script>alert(1)</script>" onmouseover="x\n\n</span><img src=x onerror=y> text here.\n'
    )
    run("evil.md", "--html", "out.html")
    text = (folder / "out.html").read_text()
    page = Page(1)
    page.feed(text)
    assert not page.tags & {"script", "img"}
    assert "onmouseover" not in re.sub(r'"[^"]*"', "", re.sub(r">[^<]*<", "><", text))


def test_what_two_chunks_share_is_marked(folder: Path) -> None:
    run("mixed.md", "--strategy", "fixed", "--option", "overlap=30", "--html", "out.html")
    text = (folder / "out.html").read_text()
    assert re.search(r'class="h\d over"', text)
    assert re.search(r"\d+ % of the text twice", text)
