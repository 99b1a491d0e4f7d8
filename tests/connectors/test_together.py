"""Six kinds of sources in one store: after a change in each, their servers send what changed and nothing else."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from docmill.storage.remote.objects.bucket import connect
from tests.connectors.test_git import Repository
from tests.connectors.test_mailbox import mail
from tests.connectors.test_web import page, sitemap
from tests.exports.postgres_server import postgres_server
from tests.kit.remote_bench import make_bucket, object_store
from tests.kit.servers.git_server import GitServer, git_on_loopback
from tests.kit.servers.imap_server import Account, imap_on_loopback
from tests.kit.site import Site, site_on_loopback
from tests.kit.workbench import Workbench, summary

EACH = 3
"""Documents of each source."""
WIKI = """
import httpx

class Document:
    def __init__(self, page_content, metadata):
        self.page_content, self.metadata = page_content, metadata

class WikiLoader:
    def __init__(self, url):
        self.url = url

    def lazy_load(self):
        for name, text in httpx.get(self.url).json().items():
            yield Document(text, {"source": name})
"""


class World:
    """Six servers, each with three documents, and what they were asked."""

    def __init__(self, folder: Path, stack: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
        self.requests: list[str] = []
        self.site: Site = stack.enter_context(site_on_loopback())
        self.wiki: Site = stack.enter_context(site_on_loopback())
        self.post: Account = stack.enter_context(imap_on_loopback())
        self.git: GitServer = stack.enter_context(git_on_loopback(folder / "repositories"))
        self.database: str = stack.enter_context(postgres_server())
        for name, value in stack.enter_context(object_store(self.requests)).items():
            monkeypatch.setenv(name, value)
        self.repository = Repository(folder / "repositories" / "farm")
        self.days = dict.fromkeys(("/1", "/2", "/3"), "2026-01-01")
        self.notes = {f"note-{n}": f"# Note {n}\n\nThe wiki says {n}.\n" for n in range(EACH)}
        self._fill()

    def _fill(self) -> None:
        for path in self.days:
            self.site.pages[path] = page(f"Page {path[1:]}")
        self.repository.folder.mkdir(parents=True)
        self.repository.git("init", "--quiet", "--initial-branch=main")
        self.repository.git("config", "uploadpack.allowFilter", "true")
        self.repository.git("config", "uploadpack.allowAnySHA1InWant", "true")
        self.repository.commit({f"{n}.md": f"# File {n}\n\nIn git {n}.\n" for n in range(EACH)})
        self.post.boxes["INBOX"].add(*(mail(f"Mail {n}", f"By post {n}.") for n in range(EACH)))
        self.run("CREATE TABLE tickets (id INTEGER, text TEXT, changed INTEGER)")
        for n in range(EACH):
            self.run(f"INSERT INTO tickets VALUES ({n}, 'Ticket {n} is open.', 1)")
        self.run("ALTER DATABASE postgres SET log_statement = 'all'")
        make_bucket("shelf")
        for n in range(EACH):
            connect("s3://shelf").put(f"{n}.md", f"# Object {n}\n\nOn the shelf {n}.\n".encode())
        self._publish()

    def run(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(self.database) as connection:
            connection.execute(statement)

    def change(self) -> None:
        """Change one document of each source."""
        self.site.pages["/2"], self.days["/2"] = page("Page two"), "2026-02-01"
        self.repository.commit({"1.md": "# File 1\n\nChanged in git.\n"})
        self.post.boxes["INBOX"].deleted.add(1)
        self.post.boxes["INBOX"].add(mail("Mail 9", "By post today."))
        self.run("UPDATE tickets SET text = 'The ticket is closed.', changed = 2 WHERE id = 1")
        self.notes["note-1"] = "# Note 1\n\nThe wiki has changed.\n"
        connect("s3://shelf").put("1.md", b"# Object 1\n\nSomewhere else.\n")
        self._publish()

    def _publish(self) -> None:
        self.site.pages["/sitemap.xml"] = sitemap(self.site, self.days)
        self.wiki.pages["/all"] = json.dumps(self.notes)

    def clear(self) -> None:
        self.requests.clear()
        self.asked = len(self._rows())
        for server in (self.site, self.wiki, self.post, self.git):
            server.clear()

    def _rows(self) -> list[str]:
        """Return the ids of each request for whole rows that the database has logged."""
        log = Path(self.database.partition("host=")[2].partition("&")[0]) / "log"
        text = log.read_text("utf-8", "replace")
        return re.findall(r"AS your_query WHERE [^\n]*\n[^\n]*parameters: ([^\n]*)", text)

    def fetched(self) -> dict[str, list[str]]:
        """Return the documents that each server has sent since `clear`."""
        blobs = {
            self.repository.git("rev-parse", f"HEAD:{name}"): name
            for name in self.repository.git("ls-files").splitlines()
        }
        return {
            "site": [path for path in self.site.sent if path in self.days],
            "git": [blobs[one] for one in self.git.wanted if one in blobs],
            "post": [str(uid) for uid in sorted(self.post.sent)],
            "sql": self._rows()[self.asked :],
            "wiki": self.wiki.asked[:],
            "shelf": sorted(one for one in self.requests if re.fullmatch(r"GET /shelf/\d\.md", one)),
        }


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("MAIL_PASSWORD", "sesame")
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "farm_wiki.py").write_text(WIKI)
    monkeypatch.syspath_prepend(tmp_path / "code")
    monkeypatch.delitem(sys.modules, "farm_wiki", raising=False)
    with ExitStack() as stack:
        yield World(tmp_path, stack, monkeypatch)


def test_after_one_change_in_each_of_six_sources_six_documents_are_fetched_and_chunked(
    world: World, bench: Callable[..., Workbench]
) -> None:
    work = bench(
        site={"private": True, "delay_s": 0},
        post={"mailbox": world.post.address, "user": "ada", "password": {"env": "MAIL_PASSWORD"}},
        desk={"database": world.database, "query": "SELECT * FROM tickets", "updated_at": "changed"},
        wiki={"loader": "farm_wiki:WikiLoader", "args": {"url": f"{world.wiki.url}/all"}, "id": "source"},
    )
    sources = (
        f"site={world.site.url}/sitemap.xml", f"farm={world.git.url}/farm", "mail://post", "sql://desk",
        "loader://wiki", "shelf=s3://shelf",
    )  # fmt: skip
    total = EACH * len(sources)
    world.clear()
    report = work.ingest(*sources)
    assert summary(report) == {"added": total, "parsed": total, "embedded": total}
    assert {name: len(found) for name, found in world.fetched().items()} == {
        "site": 3, "git": 3, "post": 3, "sql": 1, "wiki": 1, "shelf": 3,
    }  # fmt: skip

    world.clear()
    assert work.ingest(*sources).snapshot is None
    nothing: dict[str, list[str]] = {"site": [], "git": [], "post": [], "sql": [], "wiki": ["/all"], "shelf": []}
    assert world.fetched() == nothing

    world.change()
    world.clear()
    report = work.ingest(*sources, allow_delete=True)
    assert summary(report) == {
        "added": 1, "changed": 5, "deleted": 1, "unchanged": total - 6, "parsed": 6, "embedded": 6,
    }  # fmt: skip
    assert world.fetched() == {
        "site": ["/2"], "git": ["1.md"], "post": ["4"], "sql": ["$1 = '1'"], "wiki": ["/all"],
        "shelf": ["GET /shelf/1.md"],
    }  # fmt: skip
    world.clear()
    assert work.ingest(*sources).snapshot is None
    assert world.fetched() == nothing
