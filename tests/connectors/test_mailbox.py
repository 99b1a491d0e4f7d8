"""Mailboxes: each mail is a document, read once, from an IMAP account, a Maildir or an mbox file."""

import re
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from docmill.storage.errors import ConfigError, DocmillError, Rejected, SourceError, Transient
from docmill.tasks.sources.checkpoints import Checkpoints
from docmill.tasks.sources.discover import open_source
from docmill.tasks.sources.mail import imap
from docmill.tasks.sources.mail.mailbox import CONNECTOR, MailSettings
from docmill.tasks.sources.source import DiscoverOptions
from docmill.testing import SourceSuite
from tests.kit.servers.faults import at_fault
from tests.kit.servers.imap_server import Account, Box, imap_on_loopback
from tests.kit.workbench import Workbench, summary

ALL = DiscoverOptions(may_be_empty=True)


def mail(subject: str, text: str, *, id: str = "", answers: str = "", day: int = 1, attached: str = "") -> bytes:
    """Return a message; `answers` are the ids of the mails before it in its thread."""
    made = EmailMessage()
    made["Subject"], made["From"], made["To"] = subject, "Ada <ada@example.org>", "ben@example.org"
    made["Date"] = f"{day:02} Jan 2026 10:00:00 +0000"
    made["Message-ID"] = f"<{id or subject.lower().replace(' ', '-')}@example.org>"
    if answers:
        made["References"], made["In-Reply-To"] = answers, answers.split()[-1]
    made.set_content(text)
    if attached:
        made.add_attachment(attached, subtype="markdown", filename="notes.md")
    return bytes(made).replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


MAILS = [
    mail("The mill", "It grinds wheat."),
    mail("Re: The mill", "And rye.", answers="<the-mill@example.org>", day=2),
    mail("The pond", "It freezes.", day=3, attached="# Ice\n\nThe ice is thick.\n"),
]


@pytest.fixture
def account() -> Iterator[Account]:
    with imap_on_loopback() as made:
        made.boxes["INBOX"].add(*MAILS)
        yield made


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAIL_PASSWORD", "sesame")
    monkeypatch.setenv("MAIL_TOKEN", "pass")


def table(account: Account, **more: Any) -> dict[str, Any]:
    login = {"user": "ada", "password": {"env": "MAIL_PASSWORD"}, "timeout_s": 2}
    return {"mailbox": account.address, **login, **more}


def listed(settings: dict[str, Any]) -> list[str]:
    found = open_source("mail://post", {"post": settings}).list(ALL, Checkpoints()).found
    return [re.sub(r" [0-9a-f]{12}\.eml$", "", file.uri.removeprefix("post/")) for file in found]


def test_a_mail_is_read_once(account: Account, bench: Callable[..., Workbench]) -> None:
    work = bench(post=table(account))
    assert summary(work.ingest("mail://post")) == {"added": 4, "parsed": 4, "embedded": 4}
    assert sorted(account.sent) == [1, 2, 3]
    assert len(account.fetches()) == 2  # all headers, and all mails
    account.clear()
    assert work.ingest("mail://post").snapshot is None
    assert not account.fetches()
    account.boxes["INBOX"].add(mail("The barn", "It is red.", day=4))
    account.clear()
    assert summary(work.ingest("mail://post")) == {"added": 1, "unchanged": 4, "parsed": 1, "embedded": 1}
    assert account.sent == [4]
    assert [one.split("(")[0] for one in account.fetches()] == ["UID FETCH 4 ", "UID FETCH 4 "]


def test_mails_have_threads_and_attachments_their_mail(account: Account, bench: Callable[..., Workbench]) -> None:
    work = bench(post=table(account))
    work.ingest("mail://post")
    with work.store as store:
        rows = store.sql("SELECT uri, title, parent, metadata->>'thread' AS thread FROM documents ORDER BY uri")
        found = rows.to_pylist()
    assert [row["title"] for row in found] == ["The mill", "Re: The mill", "The pond", "Ice"]
    assert [row["thread"] for row in found] == ["<the-mill@example.org>"] * 2 + ["<the-pond@example.org>", None]
    assert [row["parent"] for row in found] == ["", "", "", found[2]["uri"]]
    assert re.fullmatch(r"post/INBOX/2026-01-03 The pond [0-9a-f]{12}\.eml/notes\.md", found[3]["uri"])


def test_new_uids_of_the_same_mails_fetch_nothing(account: Account, bench: Callable[..., Workbench]) -> None:
    work = bench(post=table(account))
    work.ingest("mail://post")
    account.boxes["INBOX"] = Box(validity=2, mails={uid + 40: data for uid, data in enumerate(MAILS)})
    account.clear()
    assert work.ingest("mail://post").snapshot is None
    assert not account.sent
    account.boxes["INBOX"].add(mail("The barn", "It is red."))
    assert work.ingest("mail://post").documents.added == 1


def test_a_deleted_mail_is_removed_and_an_error_removes_nothing(
    account: Account, bench: Callable[..., Workbench]
) -> None:
    work = bench(post=table(account))
    work.ingest("mail://post")
    account.boxes["INBOX"].deleted.add(1)

    def refuse(handler: Any, tag: str) -> bool:
        is_search = "SEARCH" in account.asked[-1]
        if is_search:
            handler.say(f"{tag} NO [UNAVAILABLE] later")
        return is_search

    account.fault = refuse
    with pytest.raises(Transient, match=r"127\.0\.0\.1 does not answer, or breaks off: \[UNAVAILABLE\] later"):
        work.ingest("mail://post", allow_delete=True)
    account.fault = None
    assert summary(work.ingest("mail://post", allow_delete=True)) == {"unchanged": 3, "deleted": 1}


def test_folders_are_those_that_people_search(account: Account) -> None:
    account.boxes |= {
        "Lists.Mill &AOQ-": Box(mails={1: mail("News", "New.")}),
        "Papierkorb": Box(mails={1: mail("Old", "Old.")}, flags="\\Trash"),
        "Spam": Box(mails={1: mail("Win", "Win.")}),
        "Lists": Box(flags="\\Noselect"),
    }
    inbox = ["INBOX/2026-01-01 The mill", "INBOX/2026-01-02 Re- The mill", "INBOX/2026-01-03 The pond"]
    assert listed(table(account)) == [*inbox, "Lists/Mill ä/2026-01-01 News"]
    assert listed(table(account, folders=["Lists/*", "Spam"])) == [
        "Lists/Mill ä/2026-01-01 News",
        "Spam/2026-01-01 Win",
    ]


def test_a_mail_that_vanishes_and_one_that_is_too_large_are_rejected(account: Account, tmp_path: Path) -> None:
    source = open_source("mail://post", {"post": table(account, mail_bytes=600)})
    account.boxes["INBOX"].add(mail("Long", "x" * 500))
    long, mill = (
        next(file for file in source.list(ALL, Checkpoints()).found if f"-01 {subject}" in file.uri)
        for subject in ("Long", "The mill")
    )
    del account.boxes["INBOX"].mails[1]
    with pytest.raises(Rejected, match=r"bytes, more than mail_bytes \(600\)"):
        source.fetch(long, tmp_path / "mail", 10**9)
    with pytest.raises(Rejected, match="the mail was removed after it was listed"):
        source.fetch(mill, tmp_path / "mail", 10**9)


def test_a_connection_that_the_server_closed_meanwhile_is_opened_again(account: Account, tmp_path: Path) -> None:
    source = open_source("mail://post", {"post": table(account)})
    file = source.list(ALL, Checkpoints()).found[0]
    cut: list[str] = []

    def close(handler: Any, _tag: str) -> bool:
        if not cut:
            cut.append(account.asked[-1])
            handler.connection.shutdown(socket.SHUT_RDWR)
            return True
        return False

    account.fault = close
    source.fetch(file, tmp_path / "mail", 10**9)
    assert (tmp_path / "mail").read_bytes() == MAILS[0]


def test_mails_come_in_batches_of_bytes(account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account.boxes["INBOX"].add(*(mail(f"Part {number}", "x" * 1_000) for number in range(4)))
    monkeypatch.setattr(imap.Imap, "batch_bytes", 3_000)
    source = open_source("mail://post", {"post": table(account)})
    for file in source.list(ALL, Checkpoints()).found:
        source.fetch(file, tmp_path / "mail", 10**9)
    assert sorted(account.sent) == [1, 2, 3, 4, 5, 6, 7]
    assert 3 <= len([one for one in account.fetches() if "BODY.PEEK[])" in one]) <= 4


def answering(text: str) -> Callable[[Any, str], bool]:
    """Return a fault that answers a FETCH by a text."""

    def fault(handler: Any, tag: str) -> bool:
        is_fetch = "FETCH" in handler.account.asked[-1]
        if is_fetch:
            handler.say(text.format(tag=tag))
        return is_fetch

    return fault


@pytest.mark.parametrize(
    ("more", "fault", "error", "message"),
    [
        ({"user": "eve"}, "", ConfigError, r"the server refuses `user` and `password`: \[AUTHENTICATIONFAILED\]"),
        ({"password": None, "token": {"env": "MAIL_PASSWORD"}}, "", ConfigError, "refuses `user` and `token`"),
        ({"user": ""}, "", ConfigError, "an IMAP account needs `user`, and `password` or `token`"),
        ({"folders": ["Lists/*"]}, "", ConfigError, r"no folder is called 'Lists/\*' \(folders\); there are INBOX"),
        ({"mailbox": "imaps://me:secret@example.org"}, "", ConfigError, "leave user and password out of the address"),
        ({"mailbox": "pop3://example.org"}, "", ConfigError, "write imaps://HOST, imaps://HOST:PORT"),
        ({"mailbox": "imap://127.0.0.1:1"}, "", Transient, "127.0.0.1 does not answer, or breaks off"),
        ({"mailbox": "imaps://no-such-host.invalid"}, "", DocmillError, "no-such-host.invalid"),
        ({"mailbox": "no/such/folder"}, "", SourceError, "mailbox no/such/folder does not exist"),
        ({}, "{tag} BAD what", SourceError, "127.0.0.1 answers: .*what"),
        ({}, "* 1 FETCH (UID 1 BODY[] {{99999999999}}", Transient, "sends more than 54194304 bytes, which nobody"),
        ({}, "* BYE too many connections", Transient, "does not answer, or breaks off"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_in_one_line(
    account: Account, more: dict[str, Any], fault: str, error: type[Exception], message: str
) -> None:
    account.fault = answering(fault) if fault else None
    settings = {key: value for key, value in table(account, **more).items() if value is not None}
    with pytest.raises(error, match=message) as caught:
        listed(settings)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "sesame" not in str(caught.value)


def test_a_token_signs_in(account: Account) -> None:
    settings = {"mailbox": account.address, "user": "ada", "token": {"env": "MAIL_TOKEN"}}
    assert len(listed(settings)) == 3


def test_a_password_does_not_leave_this_machine_unencrypted(monkeypatch: pytest.MonkeyPatch, account: Account) -> None:
    monkeypatch.setattr(imap, "_HERE", ())
    with pytest.raises(ConfigError, match=r"127\.0\.0\.1 offers no encryption at this port; write imaps://"):
        listed(table(account))
    assert not [one for one in account.asked if "LOGIN" in one]


@pytest.fixture
def maildir(tmp_path: Path) -> Path:
    made = tmp_path / "Maildir"
    for folder in ("", ".Lists.Mill", ".Trash"):
        for name in ("new", "cur", "tmp"):
            (made / folder / name).mkdir(parents=True)
    (made / "new" / "1.a.host").write_bytes(MAILS[0])
    (made / "cur" / "2.b.host:2,S").write_bytes(MAILS[1])
    (made / "cur" / "3.c.host:2,ST").write_bytes(mail("Old", "Old."))
    (made / ".Lists.Mill" / "cur" / "4.d.host:2,").write_bytes(MAILS[2])
    (made / ".Trash" / "cur" / "5.e.host:2,").write_bytes(mail("Older", "Old."))
    (made / "cur" / "6.f.host").symlink_to("/etc/passwd")
    return made


def test_a_maildir_is_read_by_what_never_changes_of_a_file_name(
    maildir: Path, bench: Callable[..., Workbench], tmp_path: Path
) -> None:
    work = bench(post={"mailbox": str(maildir)})
    assert listed({"mailbox": str(maildir)}) == [
        "INBOX/2026-01-01 The mill", "INBOX/2026-01-02 Re- The mill", "Lists/Mill/2026-01-03 The pond",
    ]  # fmt: skip
    assert work.ingest("mail://post").documents.added == 4
    source = open_source("mail://post", {"post": {"mailbox": str(maildir)}})
    file = source.list(ALL, Checkpoints()).found[0]
    (maildir / "new" / "1.a.host").rename(maildir / "cur" / "1.a.host:2,RS")
    source.fetch(file, tmp_path / "mail", 10**9)
    assert (tmp_path / "mail").read_bytes() == MAILS[0]
    assert work.ingest("mail://post").snapshot is None
    (maildir / "cur" / "1.a.host:2,RS").rename(maildir / "cur" / "1.a.host:2,ST")
    assert work.ingest("mail://post", allow_delete=True).documents.deleted == 1


def mbox(*mails: bytes) -> bytes:
    lines = (b"From ada@example.org Mon Jan 05 10:00:00 2026\n" + one.replace(b"\r\n", b"\n") for one in mails)
    return b"\n".join(lines)


def test_an_mbox_file_is_read_after_it_changed(tmp_path: Path, bench: Callable[..., Workbench]) -> None:
    path = tmp_path / "post.mbox"
    path.write_bytes(mbox(*MAILS))
    work = bench(post={"mailbox": str(path)})
    assert summary(work.ingest("mail://post")) == {"added": 4, "parsed": 4, "embedded": 4}
    assert work.ingest("mail://post").snapshot is None
    path.write_bytes(mbox(mail("The barn", "It is red."), *MAILS))
    assert summary(work.ingest("mail://post")) == {"added": 1, "unchanged": 4, "parsed": 1, "embedded": 1}
    path.write_bytes(mbox(*MAILS[1:]))
    assert summary(work.ingest("mail://post", allow_delete=True)) == {"unchanged": 3, "deleted": 2}


def test_a_file_that_is_no_mailbox_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Notes.")
    with pytest.raises(SourceError, match=r"notes\.txt is no mbox file"):
        listed({"mailbox": str(tmp_path / "notes.txt")})
    with pytest.raises(SourceError, match="is no Maildir: it has no folder `cur`"):
        listed({"mailbox": str(tmp_path)})


def test_a_hostile_subject_is_a_safe_name(account: Account) -> None:
    account.boxes = {"INBOX": Box()}
    account.boxes["INBOX"].add(mail("../../etc/passwd https://x.org/\u202ecod", "Hello."), b"no header at all", b"")
    assert [name.partition("/")[0] for name in listed(table(account))] == ["INBOX"] * 3


def test_a_mail_has_no_link() -> None:
    reader = CONNECTOR.open(MailSettings(mailbox="post.mbox"))
    from docmill.tasks.sources.connectors.contract import SourceItem

    assert reader.link(SourceItem("a.eml", "1")) == ""


class TestImap(SourceSuite):
    """The properties of all sources, of an account."""

    source = "mail://post"

    @pytest.fixture(autouse=True)
    def _serve(self, account: Account) -> None:
        self._post = account

    def table(self) -> dict[str, Any]:
        return table(self._post, timeout_s=1)

    def faults(self) -> Mapping[str, AbstractContextManager[None]]:
        return {name: at_fault(self._post, fault) for name, fault in FAULTS.items()}


def slow(_handler: Any, _tag: str) -> bool:
    time.sleep(2.5)
    return True


def cut_off(handler: Any, _tag: str) -> bool:
    handler.connection.shutdown(2)
    return True


def refuses(handler: Any, tag: str) -> bool:
    handler.say(f"{tag} NO [NOPERM] access denied")
    return True


FAULTS: dict[str, Callable[[Any, str], bool]] = {
    "slow": slow, "cut off": cut_off, "refuses": refuses, "busy": lambda one, _: one.say("* BYE too many") or True,
    "lies about its size": answering("* 1 FETCH (UID 1 BODY[] {{99999999999}}"),
}  # fmt: skip


class TestMaildir(SourceSuite):
    """The properties of all sources, of a Maildir."""

    source = "mail://post"

    @pytest.fixture(autouse=True)
    def _folder(self, maildir: Path) -> None:
        self._path = maildir

    def table(self) -> dict[str, Any]:
        return {"mailbox": str(self._path)}


class TestMbox(SourceSuite):
    """The properties of all sources, of an mbox file."""

    source = "mail://post"

    @pytest.fixture(autouse=True)
    def _file(self, tmp_path: Path) -> None:
        self._path = tmp_path / "post.mbox"
        self._path.write_bytes(mbox(*MAILS))

    def table(self) -> dict[str, Any]:
        return {"mailbox": str(self._path)}
