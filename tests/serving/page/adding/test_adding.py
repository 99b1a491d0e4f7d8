"""Adding documents over HTTP: what is taken, what is refused, and to whom it is not offered."""

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from docmill.flows.cli.commands.serve_and_report import _adding
from docmill.flows.config.settings import Settings
from docmill.flows.serving.access import Access, TokenFile
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.http.http_app import http_app
from docmill.flows.serving.open_stores import SEES_ALL, OpenStores
from docmill.flows.serving.page import add_documents
from docmill.flows.serving.page.add_documents import Adding, Uploads, check_name
from docmill.storage.errors import ConfigError, QueryError
from tests.kit.fake_encoder import NAME
from tests.kit.workbench import MakeBench, Workbench
from tests.serving.http_server import running

pytestmark = pytest.mark.usefixtures("fake_model")

ALL, SALES = "token-that-sees-all-0123", "token-of-the-sales-0123"


@pytest.fixture
def bench(make_bench: MakeBench) -> Workbench:
    return make_bench({"git.md": "# Undo\n\nTo undo a commit, reset.\n"})


def settings_of(bench: Workbench, **more: Any) -> Settings:
    own = {"store": bench.root, "sources": [str(bench.docs)], "uploads": str(bench.docs / "new"), "engine": "local"}
    return Settings(**{**own, "embedding": {"model": NAME}, "discover": {"max_file_bytes": 2_000_000}, **more})


@pytest.fixture
def url(bench: Workbench, tmp_path: Path) -> Iterator[str]:
    (tmp_path / "tokens.toml").write_text(f'"{ALL}" = ["*"]\n"{SALES}" = ["sales"]\n')
    access = Access(port=0, tokens=TokenFile(tmp_path / "tokens.toml"))
    stores, settings = OpenStores({"handbook": bench.root}, access.without_asker), settings_of(bench)
    app = http_app(stores, Searching({}), access, settings, adding=Adding(settings, stores))
    with running(app, access) as found:
        yield found


def asking(url: str, token: str = ALL) -> httpx.Client:
    return httpx.Client(base_url=url, timeout=60, trust_env=False, headers={"Authorization": f"Bearer {token}"})


def sent(client: httpx.Client, name: str, content: bytes, piece: int = 4_000) -> httpx.Response:
    answer = client.post("/uploads", json={"name": name, "size": len(content)})
    key = answer.raise_for_status().json()["upload"]
    for offset in range(0, len(content), piece):
        answer = client.post(
            f"/uploads/{key}?offset={offset}",
            content=content[offset : offset + piece],
            headers={"Content-Type": "application/octet-stream"},
        )
    return answer


def run_to_its_end(client: httpx.Client, source: str = "") -> dict[str, Any]:
    client.post("/runs", json={"source": source}).raise_for_status()
    until = time.monotonic() + 60
    while (state := client.get("/runs").json())["running"]:
        assert time.monotonic() < until
        time.sleep(0.1)
    return dict(state)


def test_files_arrive_in_pieces_and_a_run_reads_them(url: str, bench: Workbench) -> None:
    text = "# Mill\n\n" + "The mill grinds wheat by day.\n\n" * 300
    with asking(url) as client:
        last = sent(client, "mill.md", text.encode()).json()
        assert last == {"name": "mill.md", "received": len(text), "size": len(text)}
        assert (bench.docs / "new" / "mill.md").read_text() == text
        ended = run_to_its_end(client)
        assert "1 added" in ended["said"]
        assert bench.store.document("new/mill.md").text == text


def test_a_folder_of_the_server_is_read_once(url: str, bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "wheel.md").write_text("# Wheel\n\nIt turns.\n")
    with asking(url) as client:
        assert "1 added" in run_to_its_end(client, str(tmp_path / "other"))["said"]
        assert "does not exist" in run_to_its_end(client, str(tmp_path / "none"))["failed"]
    assert {row.uri for row in bench.store.documents()} == {"git.md", "wheel.md"}


HOSTILE = (
    "", " ", "..", "../out.md", "a/b.md", "a\\b.md", "/etc/passwd", ".bashrc", "~x", "x.md ", "x.", "a\x00b", "a\nb",
    "con:x", "\u202emd.exe", "x" * 201, "ü" * 101, "_metadata.toml", "x.meta.toml", "X.META.JSON", "x.meta．toml",  # noqa: RUF001
    "\ud800",
)  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_hostile_names_are_refused(name: str) -> None:
    with pytest.raises(QueryError, match="is refused"):
        check_name(name)


@pytest.mark.parametrize("name", ["a.md", "größe 1 (2).pdf", "报告.docx", "x" * 200, "metadata.toml", "notes"])
def test_names_of_files_are_taken(name: str) -> None:
    check_name(name)


def test_what_does_not_fit_is_refused(url: str, bench: Workbench) -> None:
    (bench.docs / "new" / "folder").mkdir()
    with asking(url) as client:
        for size, name, why in (
            (2_000_001, "a.md", "1 to 2,000,000"), (0, "a.md", "1 to"), (1, "folder", "folder here"),
            (1, "../a.md", "refused"),
        ):  # fmt: skip
            answer = client.post("/uploads", json={"name": name, "size": size})
            assert answer.status_code == 400
            assert why in answer.json()["error"]["message"]
        key = client.post("/uploads", json={"name": "a.md", "size": 4}).json()["upload"]
        kind = {"Content-Type": "application/octet-stream"}
        for offset, piece in ((1, b"abc"), (0, b"abcde")):
            assert client.post(f"/uploads/{key}?offset={offset}", content=piece, headers=kind).status_code == 400
        assert client.post("/uploads/0?offset=0", content=b"abcd", headers=kind).status_code == 400
        assert client.post(f"/uploads/{key}?offset=0", content=b"x" * ((1 << 20) + 1), headers=kind).status_code == 413
        assert client.post(f"/uploads/{key}?offset=0", content=b"abcd", headers=kind).json()["received"] == 4
    assert (bench.docs / "new" / "a.md").read_bytes() == b"abcd"


def test_who_sees_a_part_only_a_foreign_page_and_who_has_no_token_may_add_nothing(url: str, bench: Workbench) -> None:
    foreign = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
    with asking(url, SALES) as narrowed, asking(url) as whole, asking(url, "none") as nobody:
        assert narrowed.get("/newest").json()["adding"] is None
        assert whole.get("/newest").json()["adding"] == {"files": True, "most_bytes": 2_000_000}
        assert whole.get("/newest?at=1").json()["adding"] is None
        for path, body in (("/uploads", {"name": "a.md", "size": 1}), ("/runs", {"source": "/etc"})):
            assert narrowed.post(path, json=body).status_code == 403
            assert whole.post(path, json=body, headers=foreign).status_code == 403
            assert nobody.post(path, json=body).status_code == 401
        assert narrowed.get("/runs").status_code == 403
        assert narrowed.post("/uploads/x?offset=0", content=b"a").status_code == 403
    assert not [*(bench.docs / "new").iterdir()]


def test_without_the_option_there_are_no_such_paths(bench: Workbench) -> None:
    access = Access(port=0, token=ALL)
    with running(http_app(OpenStores({"h": bench.root}), Searching({}), access), access) as url, asking(url) as client:
        assert client.get("/newest").json()["adding"] is None
        assert [client.post(path, json={}).status_code for path in ("/uploads", "/runs")] == [404, 404]


def test_what_is_not_whole_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, now = Uploads(tmp_path, 100), [0.0]
    monkeypatch.setattr(add_documents, "time", SimpleNamespace(monotonic=lambda: now[0]))
    keys = [own.begin(f"{number}.md", 10) for number in range(16)]
    own.add(keys[0], 0, b"abc")
    with pytest.raises(QueryError, match="16 files are being received"):
        own.begin("more.md", 10)
    assert [one.name[:16] for one in tmp_path.iterdir()] == [".docmill-upload-"]
    now[0] += 121
    own.begin("more.md", 10)
    assert not [*tmp_path.iterdir()]
    with pytest.raises(QueryError, match="send the file again"):
        own.add(keys[0], 3, b"d")
    own.add(own.begin("last.md", 10), 0, b"abc")
    own.close()
    assert not [*tmp_path.iterdir()]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.md").symlink_to(tmp_path / "secret")
    own = Uploads(tmp_path / "in", 100)
    own.add(own.begin("a.md", 3), 0, b"new")
    assert (tmp_path / "secret").read_text() == "secret"
    assert (tmp_path / "in" / "a.md").read_text() == "new"
    assert not (tmp_path / "in" / "a.md").is_symlink()


def test_the_folder_must_be_in_a_source_and_the_server_must_have_a_token(bench: Workbench, tmp_path: Path) -> None:
    stores = OpenStores({"handbook": bench.root}, SEES_ALL)
    with pytest.raises(ConfigError, match="is in no folder of `sources`"):
        Adding(settings_of(bench, uploads=str(tmp_path / "elsewhere")), stores)
    with pytest.raises(ConfigError, match="leave out --no-token"):
        _adding(settings_of(bench), stores, Access(port=0))
    only = Adding(settings_of(bench, uploads=""), stores)
    assert only.told() == {"files": False, "most_bytes": 0}
