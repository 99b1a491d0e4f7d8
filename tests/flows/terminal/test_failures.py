"""Errors: one line for a person, one JSON object for a program, and the right address for a wrong one."""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from docmill.flows.cli.app import app
from docmill.storage.errors import ConfigError, SourceError
from docmill.storage.snapshots.read.store import open_store
from docmill.tasks.sources.discover import open_source
from tests.kit.workbench import MakeBench


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def told(result: Result) -> dict[str, object]:
    """Return the error on standard error, after checking that a program sees nothing else."""
    assert result.stdout == ""
    error: dict[str, object] = json.loads(result.stderr.splitlines()[-1])["error"]
    assert result.exit_code == error["status"]
    return error


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", ["search x --json", "sql x --json", "sql x --format json", "status --json"])
def test_an_error_is_json_where_results_would_be(command: str) -> None:
    error = told(call(*command.split(), "--store", "nowhere"))
    assert (error["kind"], error["retry"], error["status"]) == ("StoreError", False, 1)
    assert str(error["message"]).startswith("nowhere has no snapshot")


@pytest.mark.parametrize(
    ("arguments", "kind", "status"),
    [
        (["search", "--queries", "gone.txt", "--json"], "OSError", 1),
        (["search", "--json"], "UsageError", 2),
        (["search", "x", "--json", "-k", "0"], "UsageError", 2),
        (["status", "--json", "--stor", "x"], "UsageError", 2),
        (["evaluate", "chunks", "--json", "--store", "x"], "StoreError", 1),
        (["ingest", "--json"], "ConfigError", 1),
    ],
)
def test_every_kind_of_error_is_json(arguments: list[str], kind: str, status: int) -> None:
    error = told(call(*arguments))
    assert (error["status"], error["message"] != "") == (status, True)
    assert error["kind"] == kind


@pytest.mark.parametrize(
    "command",
    ["report --html s3://b/x", "init s3://b/x", "explain http://x/y.md", "sql x --output s3://b/x.csv",
     "export --atlas s3://b/x.parquet"],
)  # fmt: skip
def test_an_address_makes_no_folder_of_its_name(command: str, folder: Path) -> None:
    result = call(*command.split())
    assert (result.exit_code, "of this machine" in result.stderr) == (1, True)
    assert "://" in result.stderr
    assert not [*folder.iterdir()]


def test_an_error_is_a_line_without_json() -> None:
    result = call("search", "x", "--store", "nowhere")
    assert (result.exit_code, result.stderr.startswith("docmill: nowhere has no snapshot")) == (1, True)
    assert "Usage" in call("search").stderr


def test_a_name_that_is_not_utf_8_is_still_json() -> None:
    result = call("status", "--json", "--store", os.fsdecode(b"no\xff"))
    assert "no\\udcff" in result.stderr
    assert "no\udcff" in str(told(result)["message"])


ADDRESSES = {
    "abfs://b/docs": "Azure Data Lake Storage) yet; bring its files into a folder, as with `rclone copy`, or take s3://",
    "postgresql://b/docs": "a source sql://NAME reads it; `docmill init --source sql` writes its settings",
    "imaps://b": "a source mail://NAME reads it; `docmill init --source mail` writes its settings",
    "gopher://b/docs": "nothing reads gopher:// yet; bring its files into a folder, or take s3://",
    "file:///docs": "write the path without file://",
    "s3a://b/docs": "write s3://BUCKET/PREFIX",
    "S3://b/docs": "write s3:// in small letters",
}


@pytest.mark.parametrize(("address", "said"), ADDRESSES.items())
def test_an_address_that_nothing_reads_is_told_so(address: str, said: str) -> None:
    for source in (address, f"team={address}", f"{address}/**/*.md"):
        with pytest.raises(SourceError) as unread:
            open_source(source)
        assert said in str(unread.value)
    with pytest.raises(ConfigError) as kept:
        open_store(address)
    assert said in str(kept.value)
    assert said in call("status", "--store", address).stderr
    assert said in call("ingest", address, "--store", "s", "--engine", "local").stderr
    assert not list(Path().iterdir())


@pytest.mark.parametrize(
    "command",
    ["export {}/x.parquet", "export parquet:{}/x", "explain mill.md --html {}/x.html",
     "sql SELECT(1) --output {}/x.csv", "ingest mill.md --store {}/x", "report --html {}/x"],
)  # fmt: skip
@pytest.mark.parametrize("folder_name", ["/proc", "mill.md"])
def test_what_cannot_be_written_is_told_by_the_name_that_was_given(
    make_bench: MakeBench, folder: Path, command: str, folder_name: str
) -> None:
    if not Path(folder_name).exists() and folder_name == "/proc":
        pytest.skip("needs /proc")
    (folder / "mill.md").write_text("# Mill\n")
    (folder / "store").symlink_to(make_bench({"mill.md": "# Mill\n"}).root)
    stderr = call(*command.format(folder_name).split()).stderr
    assert f"{folder_name}/x" in stderr
    assert "cannot be " in stderr
    assert not {word for word in stderr.split() if ".tmp-" in word or ".lock" in word}


def said(*arguments: str) -> str:
    done = CliRunner().invoke(app, [*arguments])
    assert done.exit_code == 2
    assert done.stdout == ""
    return " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ("ingest docs --chunk-size 500", "type --set split.structure.size=500. `docmill explain FILE` says which"),
        ("ingest docs --chunk-size=500", "type --set split.structure.size=500."),
        ("plan docs --overlap", "type --set split.sentence.overlap=VALUE."),
        ("ingest docs --strategy table", "[[routes]] in docmill.toml choose the strategies"),
        ("ingest docs --ocr", "Did you mean --set parse.ocr=VALUE?"),
        ("ingest docs --model x", "Did you mean --embedding-model or --set model.model=x?"),
        ("ingest docs --password x", "Did you mean --set parse.passwords=x?"),
        ("ingest docs --exlude x", "Did you mean --exclude?"),
        ("search x --top-k 3", "Type -k N instead."),
        ("search x --source docs", "Type --where \"source = 'NAME'\" instead."),
    ],
)
def test_an_unknown_option_says_what_was_meant(arguments: str, answer: str) -> None:
    name = next(word for word in arguments.split() if word.startswith("--")).partition("=")[0]
    assert f"Error: No such option: {name}. " in said(*arguments.split())
    assert answer in said(*arguments.split())


def test_where_nothing_is_like_it_nothing_is_suggested() -> None:
    for name in ("--quiet", "--verbose"):
        assert said("ingest", "docs", name).endswith(f"Error: No such option: {name}")


def test_with_json_the_suggestion_is_in_the_message() -> None:
    told = json.loads(said("ingest", "docs", "--chunk-size", "500", "--json"))["error"]
    assert (told["kind"], told["status"]) == ("UsageError", 2)
    assert "split.structure.size=500" in told["message"]


def test_a_report_without_a_folder_shows_the_whole_command() -> None:
    assert said("report").endswith("Error: Name the folder to write to, such as: docmill report --html report")
