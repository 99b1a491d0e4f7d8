"""The credentials of a source are neither stored nor printed, whatever the plugin does with them."""

import importlib
import json
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from typer.testing import CliRunner, Result

from docmill.flows.cli.app import app
from docmill.storage.errors import ConfigError, DocmillError
from docmill.storage.plugins.secret import Secret
from docmill.tasks.sources.checkpoints import Checkpoints
from docmill.tasks.sources.discover import open_source
from docmill.tasks.sources.plugin_source import without
from docmill.tasks.sources.source import DiscoverOptions
from tests.kit.fake_encoder import NAME
from tests.plugins.distributions import write_distribution

pytestmark = pytest.mark.usefixtures("fresh", "fake_model")

SECRET = "s3cr3t/with +signs&'quotes'"
SPELLED = (SECRET, quote(SECRET, safe=""), "s3cr3t")
CODE = """
from urllib.parse import quote
from docmill.plugins import Rejected, Secret, SourceItem, SourceListing, SourceSettings, Transient

class Settings(SourceSettings):
    token: Secret
    nested: dict[str, Secret] = {}

fails = ""

class Vault:
    def __init__(self, settings):
        self.token = settings.token.read()
        if fails == "open":
            raise RuntimeError(f"GET /?token={self.token} 500")

    def list(self, checkpoint):
        if fails == "list":
            raise RuntimeError("x" * 480 + f" GET /?token={quote(self.token, safe='')} 500")
        if fails == "away":
            raise Transient(f"no answer to {self.token!r}")
        name, state = "mill.md", ""
        if fails == "name":
            name = self.token + ".md"
        if fails == "checkpoint":
            state = self.token
        return SourceListing([SourceItem(name, self.token if fails == "version" else "1")], state)

    def fetch(self, item):
        if fails == "fetch":
            raise KeyError(self.token)
        if fails == "refuse":
            raise Rejected("unreadable", f"403 for {self.token}")
        return b"# The mill\\n\\nIt grinds wheat.\\n"

    def link(self, item):
        return f"https://example.org/{item.name}?key={quote(self.token, safe='') if fails == 'link' else ''}"

class Vaults:
    version = 1
    settings = Settings

    def open(self, settings):
        return Vault(settings)
"""
SETTINGS = f"""
sources = ["vaults://safe"]
engine = "local"
embedding.model = "{NAME}"

[source.safe]
token = {{ env = "VAULT_TOKEN" }}
nested = {{ more = {{ file = "keys/more" }} }}
"""
FAILURES = ["open", "list", "away", "name", "version", "checkpoint", "fetch", "refuse", "link"]


class Project:
    """A folder whose only source has credentials, and all that commands have said in it."""

    def __init__(self, folder: Path, plugin: Any) -> None:
        self.folder = folder
        self.plugin = plugin
        self.said: list[str] = []

    def run(self, *arguments: str, fails: str = "") -> Result:
        """Run the command line, with a plugin that fails in some way."""
        self.plugin.fails = fails
        done = CliRunner().invoke(app, arguments)
        self.said += [done.stdout, done.stderr]
        return done

    def leaks(self) -> Iterator[str]:
        """Yield where a credential is, in what was said and in each file but that of the credential."""
        said = [("output", text.encode()) for text in self.said]
        kept = [(str(path), path.read_bytes()) for path in (self.folder / "store").rglob("*") if path.is_file()]
        yield from (name for name, data in [*said, *kept] if any(form.encode() in data for form in SPELLED))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    name = f"vault_{tmp_path.name.replace('-', '_')}"
    write_distribution(tmp_path / "site", "vault", {"sources/vaults": f"{name}:Vaults"}, {name: CODE})
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setenv("VAULT_TOKEN", SECRET)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docmill.toml").write_text(SETTINGS)
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "more").write_text(f"{SECRET[::-1]}\n")
    yield Project(tmp_path, importlib.import_module(name))
    del sys.modules[name]


@pytest.mark.parametrize("fails", FAILURES)
def test_no_failure_says_a_credential(project: Project, fails: str) -> None:
    project.plugin.fails = fails

    def read() -> None:
        source = open_source("vaults://safe", {"safe": {"token": {"env": "VAULT_TOKEN"}}})
        (file,) = source.list(DiscoverOptions(), Checkpoints()).found
        source.fetch(file, project.folder / "fetched", 1000)

    with pytest.raises(DocmillError) as caught:
        read()
    said = "".join(traceback.format_exception(caught.value))
    assert "source 'vaults' of vault 1.0" in said
    assert not [form for form in SPELLED if form in said]


def test_no_credential_is_stored_or_printed(project: Project) -> None:
    assert project.run("ingest", fails="fetch").exit_code == 3
    assert 'KeyError: "***"' in project.said[0]
    assert project.run("ingest", "--retry").exit_code == 0
    assert project.run("ingest", "--debug", fails="list").exit_code == 1
    assert project.run("ingest", "--json", fails="link").exit_code == 1
    for command in (
        ["rejects"],
        ["settings"],
        ["settings", "--json"],
        ["status", "--json"],
        ["search", "wheat", "--json"],
    ):
        assert project.run(*command).exit_code == 0
    assert not list(project.leaks())


def test_a_credential_in_the_settings_is_refused_with_its_line_and_not_printed(project: Project) -> None:
    text = SETTINGS.replace('{ env = "VAULT_TOKEN" }', json.dumps(SECRET))
    (project.folder / "docmill.toml").write_text(text)
    done = project.run("ingest")
    assert done.exit_code == 1
    where = (
        f"{project.folder}/docmill.toml:{2 + text[: text.index(chr(10) + 'token')].count(chr(10))}: source.safe.token: "
    )
    assert f"{where}do not write a credential here: write {{ env" in done.stderr
    assert project.run("settings").exit_code == 0
    assert project.run("plan", "--json").exit_code == 1
    assert not list(project.leaks())


def test_a_credential_that_is_not_there_is_told_before_anything_is_read(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULT_TOKEN", "")
    assert "[source.safe] the environment variable VAULT_TOKEN is not set or empty" in project.run("ingest").stderr
    monkeypatch.setenv("VAULT_TOKEN", SECRET)
    (project.folder / "keys" / "more").unlink()
    assert f"[source.safe] {project.folder}/keys/more cannot be read: No such file" in project.run("ingest").stderr


def test_a_secret_is_named_by_one_place_and_does_not_show_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULT_TOKEN", f" {SECRET}\n")
    secret = Secret(env="VAULT_TOKEN")
    assert secret.read() == SECRET
    assert SECRET not in f"{secret!r} {secret} {secret.model_dump()}"
    for wrong in ({}, {"env": "A", "file": "B"}, {"env": ""}, {"name": "A"}):
        with pytest.raises(ValueError, match=r"write . env"):
            Secret.model_validate(wrong)
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(ConfigError, match="empty is not set or empty"):
        Secret(file=str(tmp_path / "empty")).read()


def test_a_text_is_freed_of_a_credential_as_urls_and_messages_spell_it() -> None:
    for form in (SECRET, quote(SECRET), repr(SECRET), json.dumps(SECRET), "czNjcjN0L3dpdGggK3NpZ25zJidxdW90ZXMn"):
        assert "s3cr3t" not in without(f"a {form} b", [SECRET])
        assert "***" in without(f"a {form} b", [SECRET])
