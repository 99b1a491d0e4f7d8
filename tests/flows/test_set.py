"""`--set KEY=VALUE` and `docmill settings`: what they take, what they refuse, and where they say a value comes from."""

import json
import os
import pty
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from docmill.flows.cli.app import app
from docmill.flows.cli.commands.init import template, toml_value
from docmill.flows.config.assignments import read_assignments
from docmill.flows.config.configuration import Key, keys, load
from docmill.flows.config.key_lines import key_lines, line_of
from tests.kit.drawing import examples


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def lines(result: Result) -> list[str]:
    assert (result.exit_code, result.stdout) == (1, "")
    return result.stderr.splitlines()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("chunk.context_tokens=60", 60),
        ("chunk.contextualizer=none", "none"),
        ('chunk.contextualizer="none"', "none"),
        ("discover.hidden=true", True),
        ("discover.include=*.md", ("*.md",)),
        ('discover.include=["*.md", "a b"]', ("*.md", "a b")),
        ("embedding.revision=2024", "2024"),
        ("parse.passwords=1234", ("1234",)),
        ("search.weight = 0.25", 0.25),
        ("store=here", Path("here")),
        ("embedding.model=a=b", "a=b"),
        ("embedding.revision=", ""),
        ("split.recursive.size=90", {"recursive": {"size": 90}}),
        ('split={"fixed": {"size": 90}}', {"fixed": {"size": 90}}),
        ("split={fixed = {size = 90}}", {"fixed": {"size": 90}}),
        ("model.prices.input=1.5", {"input": 1.5}),
    ],
)
def test_a_value_is_toml_or_a_bare_string(text: str, value: Any) -> None:
    loaded: Any = load(assigned=read_assignments([text]))
    for step in text.partition("=")[0].strip().split(".")[: 1 if text.startswith("split") else 2]:
        loaded = getattr(loaded, step)
    assert loaded == value


@pytest.mark.parametrize("key", keys(), ids=lambda key: key.dotted)
def test_every_key_can_be_set_to_its_default(key: Any) -> None:
    default = key.field.get_default()
    value = toml_value(list(default) if isinstance(default, tuple) else default)
    assert load(assigned=read_assignments([f"{key.dotted}={value}"])) == load()


def test_the_last_of_several_counts_and_a_part_of_a_table_keeps_the_rest_of_the_file(folder: Path) -> None:
    (folder / "docmill.toml").write_text("[split.recursive]\nsize = 90\noverlap = 9\n")
    settings = load(assigned=read_assignments(["split.recursive.size=80", "split.recursive.size=70"]))
    assert settings.split == {"recursive": {"size": 70, "overlap": 9}}


@pytest.mark.parametrize(
    ("given", "finding"),
    [
        (["chunk.contxt_tokens=3"], "--set chunk.contxt_tokens: no such key; the nearest: chunk.context_tokens"),
        (["context_tokens=3"], "--set context_tokens: no such key; the nearest: chunk.context_tokens"),
        (["timeout=3"], "--set timeout: no such key; the nearest: parse.timeout_s, embedding.timeout_s, model"),
        (["qqq=3"], "--set qqq: no such key; `docmill settings` lists all"),
        (["chunk=3"], "--set chunk: no such key; "),
        (["store.x=3"], "--set store.x: no such key; "),
        (["store"], "--set must be KEY=VALUE, such as chunk.context_tokens=60, got 'store'"),
        (["search.weight=9"], "--set search.weight: input should be less than or equal to 1, got 9"),
        (["search.weight=much"], "--set search.weight: input should be a valid number"),
        (["chunk.context_tokens=1\nstore = 2"], "--set chunk.context_tokens: input should be a valid integer"),
        (["split.fixed=3"], "--set split.fixed: input should be a table, got 3"),
        (["split={}", "split.fixed.size=90"], "--set split.fixed.size and --set split contradict each other"),
        (["split.fixed=x", "split.fixed.size=90"], "--set split.fixed.size and --set split.fixed contradict"),
    ],
)
def test_a_wrong_assignment_is_one_line_with_what_would_be_right(given: list[str], finding: str) -> None:
    options = [part for one in given for part in ("--set", one)]
    (line,) = lines(call("status", *options))
    assert line.startswith(f"docmill: {finding}")


def test_a_password_is_not_repeated_by_an_error() -> None:
    (line,) = lines(call("status", "--set", "parse.passwords={a = 'hush'}"))
    assert "parse.passwords" in line
    assert "hush" not in line


def test_a_flag_and_an_assignment_of_the_same_key_are_refused() -> None:
    assert lines(call("status", "--store", "a", "--set", "store=b")) == [
        "docmill: --set store and a flag for the same key were given; give one of them"
    ]


def test_each_wrong_value_of_the_file_has_a_line_with_its_place(folder: Path) -> None:
    file = folder / "docmill.toml"
    file.write_text(
        'stor = "x"\n\n[search]\n# how\nweight = 5\nfusion = [\n  "rrf",\n]\n'
        '[[routes]]\ntype = "code"\nstrategy = "code"\n[[routes]]\n'
    )
    found = [line.removeprefix(f"docmill: {file}:").split(":")[:2] for line in lines(call("status"))]
    assert sorted(found) == [["1", " stor"], ["12", " routes[1]"], ["5", " search.weight"], ["6", " search.fusion"]]


def test_a_file_that_is_no_toml_is_told_the_line(folder: Path) -> None:
    file = folder / "docmill.toml"
    for text, line in (("\nweight == 3\n", 2), ("a = 1\n\nb = [1,\n", 4)):
        file.write_text(text)
        assert lines(call("status"))[0].startswith(f"docmill: {file}:{line}: ")


def test_every_wrong_variable_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMILL_STOR", "x")
    monkeypatch.setenv("DOCMILL_SEARCH__WIGHT", "x")
    assert [line.split(":")[1].strip() for line in lines(call("status"))] == ["DOCMILL_SEARCH__WIGHT", "DOCMILL_STOR"]


def test_lines_are_found_in_the_written_file_with_every_key_set() -> None:
    text = "\n".join(line[1:] if line[:1] == "#" and line[1:2].isalpha() else line for line in template().splitlines())
    found = key_lines(text)
    for key in keys():
        assert text.splitlines()[found[key.path] - 1].startswith(f"{key.path[-1]} =")


@examples(100)
@given(
    st.lists(st.sampled_from(["a", "b.c", '"d e"', "[t]", "[t.u]", "[[r]]", "[r.s]", "[[r.v]]"]), max_size=8),
    st.sampled_from(["1", '"# no"', '"""\n[x]\n"""', "[\n1, # one\n2]", "{k = 1, l = [{m = 2}]}"]),
)
def test_a_place_is_on_the_line_that_writes_it(statements: list[str], value: str) -> None:
    import tomllib

    text = "".join(f"# c\n{one}\n" if one[0] == "[" else f"{one} = {value}\n" for one in statements)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    found = key_lines(text)

    def places(part: Any) -> Any:
        items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
        for name, inner in items:
            yield (name,)
            yield from ((name, *rest) for rest in places(inner))

    assert set(places(document)) == set(found)
    assert line_of((*next(iter(found)), "more"), found) if found else True


def test_settings_says_where_each_value_comes_from(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "docmill.toml").write_text("[chunk]\n\ncontext_tokens = 7\n[search]\nweight = 0.1\n")
    monkeypatch.setenv("DOCMILL_SEARCH__WEIGHT", "0.2")
    printed = json.loads(call("settings", "--json", "--wait", "3", "--set", "search.rerank=late").stdout)
    rows = {row["key"]: row for row in printed}
    assert [*rows] == [key.dotted for key in keys()]
    said = {key: (row["value"], row["origin"], row["place"]) for key, row in rows.items() if row["origin"] != "default"}
    assert said == {
        "wait_s": (3.0, "flag", "--wait"),
        "chunk.context_tokens": (7, "file", "docmill.toml:3"),
        "search.weight": (0.2, "environment", "DOCMILL_SEARCH__WEIGHT"),
        "search.rerank": ("late", "flag", "--set search.rerank"),
    }
    assert rows["chunk.context_tokens"]["default"] == 48
    assert rows["chunk.context_tokens"]["variable"] == "DOCMILL_CHUNK__CONTEXT_TOKENS"


def test_settings_searches_keys_and_meanings() -> None:
    def found(*words: str) -> list[str]:
        return [row["key"] for row in json.loads(call("settings", *words, "--json").stdout)]

    assert found("MMR") == ["search.diversity"]
    assert found("rerank depth") == found("rerank", "depth") == ["search.rerank_depth"]
    assert found("nothing like it") == []
    assert lines(call("settings", "rerank_dept_"))[0].endswith(
        "the nearest: search.rerank_depth; `docmill settings` lists all"
    )


def test_settings_shows_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMILL_PARSE__PASSWORDS", '["hush"]')
    monkeypatch.setenv("DOCMILL_MODEL__BASE_URL", "https://me:hush@model.example/v1")
    for form in ([], ["--json"]):
        printed = call("settings", *form)
        assert "hush" not in printed.output
        assert "https://***@model.example/v1" in printed.output


def test_the_flags_of_settings_are_shown_and_work() -> None:
    shown = call("ingest", "--help").stdout
    flags = [key.flag for key in keys() if key.flag]
    assert len(flags) == 8
    for flag in flags:
        assert f" {flag} " in shown
        assert "No such option" not in call("plan", "--config", "missing.toml", flag, "1").stderr


@pytest.mark.parametrize("key", [key for key in keys() if not key.flag], ids=lambda key: key.dotted)
def test_a_setting_typed_as_a_flag_names_the_way_to_set_it(key: Key) -> None:
    typed = "--" + "-".join(key.path).replace("_", "-")
    value = "model" if key.dotted == "chunk.size" else "1"  # a number is the size of a strategy
    said = " ".join(call("plan", typed, value).stderr.replace("│", " ").split())
    assert f"Did you mean --set {key.dotted}={value}" in said


@pytest.mark.parametrize(
    "options",
    [
        ["--set", "chunk.contextualizer=nonsense"],
        ["--set", "chunk.tokenizer=nonsense"],
        ["--set", "embedding.model=nowhere/none"],
        ["--set", "gate.questions=none.csv"],
        ["--set", "model.provider=openai"],
        ["--set", "chunk.contextualizer=llm"],
        ["--set", 'routes=[{type = "prose", strategy = "nope"}]'],
        ["--set", "split.fixd.size=90"],
        ["--dry-run"],
    ],
    ids=lambda options: options[-1],
)
def test_neither_a_failed_nor_a_dry_run_makes_a_folder_or_a_lock(folder: Path, options: list[str]) -> None:
    (folder / "docs").mkdir()
    (folder / "docs" / "a.md").write_text("# A\n\nText.\n")
    result = call("ingest", "docs", "--engine", "local", "--store", "new", *options)
    assert result.exit_code == (0 if options == ["--dry-run"] else 1), result.output
    assert sorted(path.name for path in folder.iterdir()) == ["docs"]


def test_wrong_names_in_the_file_are_all_told_with_their_lines(folder: Path) -> None:
    file = folder / "docmill.toml"
    file.write_text(
        '[chunk]\ncontextualizer = "x"\n[split]\nfixd.size = 90\n\n[[routes]]\ntype = "code"\nstrategy = "code"\n'
        '[[routes]]\nglob = "a"\nstrategy = "nope"\n'
    )
    (folder / "docs").mkdir()
    found = lines(call("plan", "docs"))
    assert [line.removeprefix(f"docmill: {file}:").partition(": ")[0] for line in found] == ["2", "4", "9"]
    assert "strategy 'nope' does not exist" in found[2]


def test_serve_with_a_schedule_says_that_it_is_schedule_now() -> None:
    result = call("serve", "--cron", "0 3 * * *", "--store", "s")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "`docmill serve` is `docmill schedule` now; it takes --cron" in result.stderr


def test_version_and_short_help() -> None:
    assert call("--version").stdout.split()[0] == "docmill"
    for command in ([], ["search"], ["evaluate"], ["evaluate", "questions"], ["settings"]):
        assert call(*command, "-h").stdout == call(*command, "--help").stdout != ""


def test_a_limit_has_three_names() -> None:
    for name in ("-k", "-n", "--limit"):
        for command in (["search", "x"], ["explain", "missing.md"], ["evaluate", "context", "--questions", "q.csv"]):
            assert call(*command, name, "2").exit_code == 1
            assert call(*command, name, "-1").exit_code == 2


@pytest.mark.usefixtures("warm_path")
def test_a_page_of_settings_follows_the_width_of_the_terminal() -> None:
    ours, theirs = pty.openpty()
    command = ["docmill", "settings", "summed"]
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    subprocess.run(["stty", "cols", "50"], stdin=theirs, check=True)
    done = subprocess.run(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, check=False)
    printed = os.read(ours, 10_000).decode().replace("\r\n", "\n")
    os.close(theirs)
    os.close(ours)
    assert shutil.which("stty")
    assert done.returncode == 0
    assert 40 < max(map(len, printed.splitlines())) <= 50
