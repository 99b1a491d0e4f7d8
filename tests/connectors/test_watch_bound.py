"""A watch of three kinds of sources is never behind by more than the bound that it states."""

import random
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from docmill.flows.runs.run_options import RunOptions
from docmill.flows.watching.watch_options import WatchOptions
from docmill.storage.snapshots.clean.verify import verify
from tests.connectors.test_mailbox import mail
from tests.connectors.test_web import page, sitemap
from tests.flows.watching.watching import Watching
from tests.kit.servers.imap_server import Account, imap_on_loopback
from tests.kit.site import Site, site_on_loopback
from tests.kit.workbench import Workbench

pytestmark = pytest.mark.usefixtures("fake_model")
EACH = 6
"""Documents of each source at the start."""
POLL_S = 0.2
_SLACK_S = 2.0
"""Seconds for what is neither a question nor a run: threads that wait for a processor of a busy machine."""
_PAUSE_S = 0.2
"""Seconds between two looks at the store, which the watch fills in the same process."""
_WORD = re.compile(r"\bw\d+\b")


class World:
    """A site, an account and a table, of which each document has one word that no other has."""

    def __init__(self, site: Site, post: Account, desk: Path, seed: int) -> None:
        self.site, self.post, self.desk = site, post, desk
        self.rng, self.count = random.Random(seed), 0
        self.pages, self.mails, self.rows = dict[str, str](), dict[int, str](), dict[int, str]()
        self.run("CREATE TABLE t (id INTEGER, text TEXT, changed INTEGER)")
        for _ in range(EACH):
            self.write_page()
            self.write_mail()
            self.write_row()

    def words(self) -> set[str]:
        return {*self.pages.values(), *self.mails.values(), *self.rows.values()}

    def change(self) -> None:
        """Change one document of one source, add one or remove one."""
        changes: list[Callable[[], None]] = [
            self.write_page, self.edit_page, self.drop_page, self.write_mail, self.drop_mail, self.write_row,
            self.edit_row, self.drop_row,
        ]  # fmt: skip
        self.rng.choice(changes)()

    def write_page(self) -> None:
        self._lay(f"/{self._next()}")

    def edit_page(self) -> None:
        self._lay(self.rng.choice([*self.pages]))

    def drop_page(self) -> None:
        if len(self.pages) > EACH:
            path = self.rng.choice([*self.pages])
            self._publish({one: word for one, word in self.pages.items() if one != path})
            del self.site.pages[path]

    def write_mail(self) -> None:
        self._next()
        self.post.boxes["INBOX"].add(mail(f"Mail {self._word}", f"It says {self._word}."))
        self.mails[max(self.post.boxes["INBOX"].mails)] = self._word

    def drop_mail(self) -> None:
        if len(self.mails) > EACH:
            uid = self.rng.choice([*self.mails])
            self.post.boxes["INBOX"].deleted.add(uid)
            del self.mails[uid]

    def write_row(self) -> None:
        number = self._next()
        self.run(f"INSERT INTO t VALUES ({number}, 'Row {self._word}', {number})")
        self.rows[number] = self._word

    def edit_row(self) -> None:
        row = self.rng.choice([*self.rows])
        self.run(f"UPDATE t SET changed = {self._next()}, text = 'Row {self._word}' WHERE id = {row}")
        self.rows[row] = self._word

    def drop_row(self) -> None:
        if len(self.rows) > EACH:
            row = self.rng.choice([*self.rows])
            self.run(f"DELETE FROM t WHERE id = {row}")
            del self.rows[row]

    def run(self, statement: str) -> None:
        with closing(sqlite3.connect(self.desk, timeout=30)) as connection, connection:
            connection.execute(statement)

    @property
    def _word(self) -> str:
        return f"w{self.count}"

    def _next(self) -> int:
        self.count += 1
        return self.count

    def _lay(self, path: str) -> None:
        self._next()
        self.site.pages[path] = page(f"Page {self._word}")
        self._publish(self.pages | {path: self._word})

    def _publish(self, pages: dict[str, str]) -> None:
        self.pages = pages
        self.site.pages["/sitemap.xml"] = sitemap(self.site, pages)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[World]:
    monkeypatch.setenv("MAIL_PASSWORD", "sesame")
    with site_on_loopback() as site, imap_on_loopback() as post:
        yield World(site, post, tmp_path / "desk.db", request.node.callspec.params["changes"])


def words_in(bench: Workbench) -> set[str]:
    time.sleep(_PAUSE_S)
    return {word for chunk in bench.chunks() for word in _WORD.findall(chunk.text)}


@pytest.mark.parametrize("changes", [12, pytest.param(200, marks=pytest.mark.soak)])
def test_changes_of_three_sources_are_in_the_store_within_the_bound(world: World, tmp_path: Path, changes: int) -> None:
    often = {"watch_s": POLL_S}
    tables = {
        "site": {"private": True, "delay_s": 0, **often},
        "post": {"mailbox": world.post.address, "user": "ada", "password": {"env": "MAIL_PASSWORD"}, **often},
        "desk": {"database": str(world.desk), "query": "SELECT * FROM t", "updated_at": "changed", **often},
    }
    bench = Workbench(tmp_path / "bench", {"source": tables})
    sources = f"site={world.site.url}/sitemap.xml", "mail://post", "sql://desk"
    options = WatchOptions(debounce_s=0.05, poll_s=3600, every_s=3600)
    lags: list[float] = []
    with Watching(bench, sources, options, RunOptions(allow_delete=True)) as watch:
        for _ in range(changes):
            for _ in range(world.rng.choice([1, 1, 1, 3])):  # several at once
                world.change()
            began = time.monotonic()
            watch.until(lambda: words_in(bench) == world.words())
            lags.append(time.monotonic() - began)
        time.sleep(10 * POLL_S)  # the run of the last change ends
        world.site.clear()
        world.post.clear()
        time.sleep(5 * POLL_S)
        assert {*world.site.asked} == {"/sitemap.xml"}
        assert world.post.fetches() == []
    # A change may come just after a question, and while a run is at work that no longer sees it.
    assert max(lags) <= POLL_S + 2 * max(watch.seconds) + _SLACK_S, (max(lags), max(watch.seconds))
    assert watch.failures == []
    assert verify(bench.root, deep=True) == []
