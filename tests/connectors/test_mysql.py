"""Rows of MySQL: read by id and time, with a server of MariaDB."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from docmill.storage.errors import ConfigError, SourceError, Transient
from docmill.tasks.sources.checkpoints import Checkpoints
from docmill.tasks.sources.discover import open_source
from docmill.tasks.sources.source import DiscoverOptions
from docmill.testing import SourceSuite
from tests.kit.servers.mysql_server import PASSWORD, mysql_server, run
from tests.kit.workbench import Workbench, summary

ALL = DiscoverOptions(may_be_empty=True)
QUERY = 'SELECT * FROM tickets WHERE body LIKE "%"'


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with mysql_server() as address:
        yield address


@pytest.fixture
def desk(server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("DESK_PASSWORD", PASSWORD)
    run(server, "DROP TABLE IF EXISTS tickets")
    run(server, "CREATE TABLE tickets (id INTEGER PRIMARY KEY, body TEXT, owner TEXT, `when` DATETIME)")
    for number, word in enumerate(("gate", "mill", "pond")):
        run(
            server,
            f"INSERT INTO tickets VALUES ({number}, 'The {word} 100 % frosts: Grüße.', 'Ada', '2026-01-0{number + 1}')",
        )
    return server


def table(address: str, **more: Any) -> dict[str, Any]:
    password = {"password": {"env": "DESK_PASSWORD"}}
    return {"database": address, "query": QUERY, "text": "body", "updated_at": "when", **password, **more}


def listed(given: dict[str, Any]) -> list[str]:
    return [file.uri for file in open_source("sql://desk", {"desk": given}).list(ALL, Checkpoints()).found]


def test_only_changed_rows_are_read_again(desk: str, bench: Callable[..., Workbench]) -> None:
    work = bench(desk=table(desk))
    assert summary(work.ingest("sql://desk")) == {"added": 3, "parsed": 3, "embedded": 3}
    assert work.ingest("sql://desk").snapshot is None
    source = open_source("sql://desk", {"desk": table(desk)})
    before = source.mark()
    run(desk, "UPDATE tickets SET body = 'The pond thaws.', `when` = '2026-02-01' WHERE id = 2")
    run(desk, "DELETE FROM tickets WHERE id = 0")
    assert source.mark() != before
    report = work.ingest("sql://desk", allow_delete=True)
    assert summary(report) == {"changed": 1, "deleted": 1, "unchanged": 1, "parsed": 1, "embedded": 1}
    with work.store as store:
        texts = [row["text"] for row in store.sql("SELECT text FROM chunks ORDER BY uri").to_pylist()]
    assert "The mill 100 % frosts: Grüße." in texts[0]
    assert "The pond thaws." in texts[1]


def test_without_a_time_rows_are_compared_by_content(desk: str, bench: Callable[..., Workbench]) -> None:
    work = bench(desk=table(desk, updated_at=""))
    assert work.ingest("sql://desk").documents.added == 3
    run(desk, "UPDATE tickets SET owner = 'Ben' WHERE id = 1")
    assert work.ingest("sql://desk").documents.changed == 1


def test_a_statement_that_writes_is_refused(desk: str) -> None:
    run(desk, "CREATE OR REPLACE FUNCTION grow() RETURNS INTEGER MODIFIES SQL DATA "
              "BEGIN INSERT INTO tickets VALUES (9, 'x', 'y', '2026-01-01'); RETURN 1; END")  # fmt: skip
    with pytest.raises(SourceError, match="READ ONLY transaction"):
        listed(table(desk, query="SELECT grow() AS id, 'x' AS body, '2026-01-01' AS `when`"))
    assert len(listed(table(desk))) == 3


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda one: {"database": one.replace("/desk", "/other")}, ConfigError, "; correct `database`"),
        (lambda one: {"database": one.replace("mill@", "nobody@")}, ConfigError, "Access denied .*; set `password`"),
        (lambda _: {"database": "mysql://mill@127.0.0.1:1/desk"}, Transient, "Can't connect to MySQL server"),
        (lambda _: {"query": "SELECT * FROM nothing"}, SourceError, "Table 'desk.nothing' doesn't exist"),
        (lambda _: {"query": "SELECT 1 AS id, 'x' AS body"}, SourceError, "Unknown column 'your_query.when'"),
        (lambda one: {"database": one.replace("mill@", "mill:secret@")}, ConfigError, "leave the password out"),
        (lambda _: {"query": "SELECT sleep(5) AS id, '' AS body, 1 AS `when`", "timeout_s": 1}, Transient, "Lost"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(
    desk: str, change: Callable[[str], dict[str, Any]], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        listed(table(desk, **change(desk)))
    assert not re.search("secret|sesame|\n", str(caught.value))


def test_a_server_elsewhere_must_encrypt(desk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from docmill.tasks.sources.databases import databases

    monkeypatch.setattr(databases, "_HERE", ())
    with pytest.raises(ConfigError, match=r"SSL is required .*; write \?tls=off behind `database`"):
        listed(table(desk))
    assert len(listed(table(f"{desk}?tls=off"))) == 3


class TestMysql(SourceSuite):
    """The properties of all sources."""

    source = "sql://desk"

    @pytest.fixture(autouse=True)
    def _serve(self, desk: str) -> None:
        self._desk = desk

    def table(self) -> dict[str, Any]:
        return table(self._desk)
