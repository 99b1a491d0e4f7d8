"""A watch of an account waits for the server to tell of mails (IDLE) instead of asking."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docmill.flows.watching import watch
from docmill.flows.watching.watch_options import WatchOptions
from docmill.storage.errors import Transient
from docmill.tasks.sources.discover import open_source
from docmill.tasks.sources.mail import imap
from docmill.tasks.sources.source import Source
from tests.connectors.test_mailbox import mail
from tests.flows.watching.watching import Watching
from tests.kit.servers.imap_server import Account, Box, imap_on_loopback
from tests.kit.workbench import Workbench

NEVER_S = 3600.0
QUIET_S = 3 * watch.LEAST_S


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    monkeypatch.setenv("MAIL_PASSWORD", "sesame")
    with imap_on_loopback() as made:
        made.boxes["INBOX"].add(mail("One", "First."))
        yield made


def table(account: Account, **more: Any) -> dict[str, Any]:
    return {"mailbox": account.address, "user": "ada", "password": {"env": "MAIL_PASSWORD"}, **more}


def opened(account: Account) -> Source:
    source = open_source("mail://it", {"it": table(account)})
    source.mark()
    account.clear()
    return source


def told(source: Source, seconds: float) -> bool:
    return source.wait(seconds, threading.Event())


def wait_for(account: Account, command: str) -> None:
    deadline = time.monotonic() + 30
    while command not in account.asked:
        assert time.monotonic() < deadline, account.asked
        time.sleep(0.01)


@pytest.mark.usefixtures("fake_model")
def test_a_watch_asks_for_nothing_while_it_waits_and_ingests_a_new_mail_at_once(
    account: Account, tmp_path: Path
) -> None:
    bench = Workbench(tmp_path / "bench", {"source": {"post": table(account, watch_s=NEVER_S)}})
    options = WatchOptions(debounce_s=0.05, poll_s=NEVER_S, every_s=NEVER_S)
    with Watching(bench, ("mail://post",), options) as watch:
        wait_for(account, "IDLE")
        account.clear()
        time.sleep(QUIET_S)
        assert account.asked == []
        account.boxes["INBOX"].add(mail("Two", "Second."))
        began = time.monotonic()
        watch.until(lambda: len(watch.commits) == 2)
        assert time.monotonic() - began < 10  # a run, on a busy machine
        assert watch.commits[1].documents.added == 1
        wait_for(account, "IDLE")
        time.sleep(QUIET_S)
        assert account.asked.count("IDLE") == 1
    assert watch.failures == []


def test_a_server_that_never_stops_to_tell_is_asked_once_a_second(account: Account) -> None:
    def chatter(handler: Any, tag: str) -> bool:
        if account.asked[-1] != "IDLE":
            return False
        handler.say("+ idling")
        time.sleep(0.05)
        handler.say("* OK Still here")
        assert handler.rfile.readline() == b"DONE\r\n"
        handler.say(f"{tag} OK done")
        return True

    account.fault = chatter
    source, stirred = opened(account), threading.Event()
    poll = watch.Poll(lambda: source.mark() or "", source.wait, NEVER_S, stirred)
    poll.arm(stirred)
    time.sleep(QUIET_S + 0.5 * watch.LEAST_S)
    poll.end()
    assert 2 <= account.asked.count("IDLE") <= 4
    assert watch.LEAST_S == 1.0


def test_a_server_without_idle_is_polled(account: Account) -> None:
    account.idles = False
    assert told(opened(account), NEVER_S) is False
    assert account.asked == ["CAPABILITY"]


def test_a_server_that_announces_idle_and_refuses_it_is_polled(account: Account) -> None:
    def refuse(handler: Any, tag: str) -> bool:
        if account.asked[-1] == "IDLE":
            handler.say(f"{tag} NO not now")
        return account.asked[-1] == "IDLE"

    account.fault = refuse
    source = opened(account)
    assert told(source, NEVER_S) is False
    assert source.mark()  # the connection is as it was


def test_a_mail_between_the_mark_and_the_wait_is_told(account: Account) -> None:
    source = opened(account)
    account.boxes["INBOX"].add(mail("Two", "Second."))
    assert told(source, NEVER_S) is True
    assert "IDLE" not in account.asked


def test_a_wait_ends_by_itself_when_the_watch_ends_and_before_a_server_loses_patience(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, ended = opened(account), threading.Event()
    began = time.monotonic()
    assert told(source, 0.1) is True
    threading.Timer(0.1, ended.set).start()
    assert source.wait(NEVER_S, ended) is True
    assert imap.IDLE_S == 28 * 60  # RFC 2177 advises less than 29 minutes
    monkeypatch.setattr(imap, "IDLE_S", 0.1)
    assert told(source, NEVER_S) is True  # the mark is asked for, and the next wait begins
    assert time.monotonic() - began < 10
    assert account.asked.count("IDLE") == 3


def test_a_connection_that_breaks_off_is_an_error_of_the_source(account: Account) -> None:
    def cut(handler: Any, _tag: str) -> bool:
        if account.asked[-1] == "IDLE":
            handler.connection.shutdown(2)
        return account.asked[-1] == "IDLE"

    source = opened(account)
    account.fault = cut
    with pytest.raises(Transient, match="breaks off"):
        told(source, NEVER_S)


def test_inbox_is_waited_for_or_else_the_first_folder(account: Account) -> None:
    account.boxes = {"Archive": Box(), **account.boxes, "Lists": Box()}
    assert told(opened(account), 0.1)
    assert [one for one in account.asked if one.startswith("EXAMINE")] == ['EXAMINE "INBOX"']
    del account.boxes["INBOX"]
    assert told(opened(account), 0.1)
    assert [one for one in account.asked if one.startswith("EXAMINE")] == ['EXAMINE "Archive"']
