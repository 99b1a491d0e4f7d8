"""The cheapest question of each source: it changes with the source, and asks for no document."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from docmill.storage.errors import SourceError, Transient
from docmill.tasks.sources.discover import open_source
from docmill.tasks.sources.source import Source
from tests.connectors.test_git import Repository
from tests.connectors.test_git import repository as repository  # a fixture
from tests.connectors.test_mailbox import mail
from tests.connectors.test_web import page, sitemap
from tests.exports.postgres_server import postgres_server
from tests.kit.servers.imap_server import Account, imap_on_loopback
from tests.kit.site import Site, site_on_loopback

DAYS = {"/a": "2026-01-01", "/b": "2026-01-01"}


@pytest.fixture
def site() -> Iterator[Site]:
    with site_on_loopback() as made:
        made.pages |= {"/a": page("Auk"), "/b": page("Bee"), "/sitemap.xml": sitemap(made, DAYS)}
        yield made


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    monkeypatch.setenv("MAIL_PASSWORD", "sesame")
    with imap_on_loopback() as made:
        made.boxes["INBOX"].add(mail("One", "First."))
        yield made


def opened(argument: str, table: dict[str, Any]) -> Source:
    return open_source(argument, {"it": table})


def check_changes(source: Source, *changes: Callable[[], object]) -> None:
    """Assert that a mark stays, and differs from the one before after each change."""
    marks = [source.mark()]
    assert marks[0]
    for change in changes:
        assert source.mark() == marks[-1]
        change()
        marks.append(source.mark())
    assert all(before != after for before, after in pairwise(marks))


def test_a_sitemap_is_asked_for_and_no_page(site: Site) -> None:
    quick = {"private": True, "delay_s": 0}
    new = DAYS | {"/a": "2026-02-01"}
    source = opened(f"it={site.url}/sitemap.xml", quick)
    check_changes(source, lambda: site.pages.update({"/sitemap.xml": sitemap(site, new)}))
    assert {*site.asked} == {"/sitemap.xml"}
    assert site.sent == ["/sitemap.xml"] * 2
    index = f"<sitemapindex><sitemap><loc>{site.url}/sitemap.xml</loc></sitemap></sitemapindex>"
    site.pages["/index.xml"] = index
    check_changes(
        opened(f"it={site.url}/index.xml", quick), lambda: site.pages.update({"/sitemap.xml": sitemap(site, DAYS)})
    )
    check_changes(opened(f"it={site.url}/a", quick), lambda: site.pages.update({"/a": page("Awl")}))


def test_a_crawl_and_a_sitemap_without_times_are_listed(site: Site) -> None:
    assert opened(f"it={site.url}/a", {"private": True, "delay_s": 0, "depth": 1}).mark() is None
    site.pages["/sitemap.xml"] = sitemap(site, {"/a": ""})
    assert opened(f"it={site.url}/sitemap.xml", {"private": True, "delay_s": 0}).mark() is None
    site.pages["/sitemap.xml"] = lambda request: request.answer(404)
    with pytest.raises(SourceError, match="answers 404"):
        opened(f"it={site.url}/sitemap.xml", {"private": True, "delay_s": 0}).mark()


def test_a_feed_is_asked_for(site: Site) -> None:
    site.pages["/feed"] = "<rss><channel></channel></rss>"
    source = opened("feed://it", {"url": f"{site.url}/feed", "private": True})
    check_changes(source, lambda: site.pages.update({"/feed": "<rss><channel><item></item></channel></rss>"}))
    assert len(site.sent) == 2


def test_an_account_is_asked_for_its_numbers_and_no_mail(account: Account) -> None:
    table = {"mailbox": account.address, "user": "ada", "password": {"env": "MAIL_PASSWORD"}}
    source = opened("mail://it", table)
    box = account.boxes["INBOX"]
    check_changes(source, lambda: box.add(mail("Two", "Second.")), lambda: box.deleted.add(1))
    assert account.fetches() == []
    assert sum(one.startswith("LOGIN") for one in account.asked) == 1


def test_a_connection_that_was_cut_off_between_two_questions_is_opened_again(account: Account) -> None:
    source = opened("mail://it", {"mailbox": account.address, "user": "ada", "password": {"env": "MAIL_PASSWORD"}})
    before = source.mark()

    def cut(handler: Any, _tag: str) -> bool:
        account.fault = None
        handler.connection.shutdown(2)
        return True

    account.fault = cut
    assert source.mark() == before


def test_mail_files_are_looked_at(tmp_path: Path) -> None:
    for name in ("cur", "new", "tmp"):
        (tmp_path / "box" / name).mkdir(parents=True)
    (tmp_path / "box" / "new" / "1.a").write_bytes(mail("One", "First."))
    check_changes(
        opened("mail://it", {"mailbox": str(tmp_path / "box")}),
        lambda: (tmp_path / "box" / "new" / "2.a").write_bytes(mail("Two", "Second.")),
        lambda: (tmp_path / "box" / "new" / "1.a").unlink(),
    )
    (tmp_path / "mbox").write_bytes(b"From ann Mon Jun 01 10:00:00 2026\n" + mail("One", "First."))
    check_changes(
        opened("mail://it", {"mailbox": str(tmp_path / "mbox")}), lambda: (tmp_path / "mbox").write_bytes(b"")
    )


def test_a_repository_is_asked_for_its_branch(repository: Repository) -> None:
    check_changes(opened(f"it={repository.address}", {}), lambda: repository.commit({"new.md": "# New\n"}))


@pytest.mark.parametrize("updated_at", ["", "changed"])
@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_file_of_sqlite_is_not_read(tmp_path: Path, journal: str, updated_at: str) -> None:
    path = tmp_path / "desk.db"

    def run(statement: str) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(statement)

    run(f"PRAGMA journal_mode = {journal}")
    run("CREATE TABLE t (id INTEGER, text TEXT, changed INTEGER)")
    with closing(sqlite3.connect(path)) as held:  # else the log goes with the last connection
        held.execute("SELECT * FROM t").fetchall()
        check_changes(
            opened("sql://it", {"database": str(path), "query": "SELECT * FROM t", "updated_at": updated_at}),
            lambda: run("INSERT INTO t VALUES (1, 'a', 1)"),
            lambda: run("UPDATE t SET text = 'b'"),
            lambda: run("UPDATE t SET text = 'c'"),
            lambda: run("DELETE FROM t"),
        )


def test_files_that_a_query_names_are_looked_at(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,text\n1,a\n")
    (tmp_path / "other.csv").write_text("id\n")
    source = opened("sql://it", {"database": str(tmp_path), "query": "SELECT * FROM '*a.csv'"})
    check_changes(source, lambda: (tmp_path / "ba.csv").write_text("id,text\n2,b\n"))
    before = source.mark()
    (tmp_path / "other.csv").write_text("id\n9\n")
    assert source.mark() == before


def test_postgresql_is_asked_for_its_newest_time() -> None:
    import psycopg

    with postgres_server() as database, psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (id INTEGER, text TEXT, changed INTEGER)")
        table = {"database": database, "query": "SELECT * FROM t"}
        assert opened("sql://it", table).mark() is None
        check_changes(
            opened("sql://it", {**table, "updated_at": "changed"}),
            lambda: connection.execute("INSERT INTO t VALUES (1, 'a', 1)"),
            lambda: connection.execute("UPDATE t SET text = 'b', changed = 2"),
            lambda: connection.execute("DELETE FROM t"),
        )
        connection.execute("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', NULL)")
        assert opened("sql://it", {**table, "updated_at": "changed"}).mark() is None, "only a listing compares row 2"


def test_how_often_a_source_is_asked_does_not_list_it_anew(site: Site) -> None:
    slow, quick = (opened(f"it={site.url}/a", {"private": True, "watch_s": seconds}) for seconds in (3, 1))
    assert slow.key == quick.key  # type: ignore[attr-defined]
    assert (slow.watch_s, opened(f"it={site.url}/a", {}).watch_s) == (3, 60)


def test_a_mark_that_cannot_be_had_is_an_error_of_the_source() -> None:
    with pytest.raises(Transient):
        opened("it=http://127.0.0.1:1/x", {"private": True}).mark()
