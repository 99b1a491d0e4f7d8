"""An IMAP server on loopback for tests: folders that a test changes, what was asked, and faults."""

import re
import socketserver
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from select import select
from threading import Thread
from typing import Any

_WORD = re.compile(r'"((?:\\.|[^"\\])*)"|(\([^)]*\)|[^\s"]+)')
_TURN_S = 0.02
Fault = Callable[[Any, str], bool]
"""Answers a command in place of the server, and returns whether it did."""


@dataclass
class Box:
    """A folder: mails by UID, and the UIDs of those that are marked as deleted."""

    validity: int = 1
    mails: dict[int, bytes] = field(default_factory=dict)
    flags: str = ""
    deleted: set[int] = field(default_factory=set)

    def add(self, *mails: bytes) -> None:
        for mail in mails:
            self.mails[max(self.mails, default=0) + 1] = mail


@dataclass
class Account:
    """An account of `ada` with the password `sesame`, or the token `pass`, on a server at `port`."""

    port: int = 0
    boxes: dict[str, Box] = field(default_factory=lambda: {"INBOX": Box()})
    asked: list[str] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    fault: Fault | None = None
    idles: bool = True

    @property
    def address(self) -> str:
        return f"imap://127.0.0.1:{self.port}"

    def clear(self) -> None:
        self.asked.clear()
        self.sent.clear()

    def fetches(self) -> list[str]:
        """Return the requests for mails or headers."""
        return [one for one in self.asked if "FETCH" in one]


class _Handler(socketserver.StreamRequestHandler):
    account: Account
    box: Box

    def handle(self) -> None:
        self.say("* OK [CAPABILITY IMAP4rev1 AUTH=XOAUTH2] ready")
        while line := self.rfile.readline():
            tag, _, command = line.decode().strip().partition(" ")
            self.account.asked.append(command)
            if self.account.fault and self.account.fault(self, tag):
                continue
            words = [one or other for one, other in _WORD.findall(command)]
            name = " ".join(words[:2]) if words[0] == "UID" else words[0]
            done = getattr(self, f"do_{name.lower().replace(' ', '_')}")(*words[name.count(" ") + 1 :])
            self.say(f"{tag} {done or f'OK {name} done'}")
            if name == "LOGOUT":
                return

    def say(self, line: str | bytes) -> None:
        self.wfile.write((line.encode() if isinstance(line, str) else line) + b"\r\n")

    def do_capability(self) -> None:
        self.say(f"* CAPABILITY IMAP4rev1 AUTH=XOAUTH2{' IDLE' if self.account.idles else ''}")

    def do_logout(self) -> None:
        self.say("* BYE")

    def do_login(self, user: str, password: str) -> str | None:
        return None if (user, password) == ("ada", "sesame") else "NO [AUTHENTICATIONFAILED] Invalid credentials"

    def do_authenticate(self, way: str) -> str | None:
        import base64

        self.say("+ ")
        told = base64.b64decode(self.rfile.readline())
        return None if (way, told) == ("XOAUTH2", b"user=ada\1auth=Bearer pass\1\1") else "NO wrong token"

    def do_list(self, _above: str, _pattern: str) -> None:
        for name, box in self.account.boxes.items():
            self.say(f'* LIST ({box.flags}) "." "{name}"')

    def do_examine(self, name: str) -> str | None:
        if name not in self.account.boxes:
            return "NO [NONEXISTENT] no such folder"
        self.box = self.account.boxes[name]
        self.say(f"* {len(self.box.mails)} EXISTS")
        self.say(f"* OK [UIDVALIDITY {self.box.validity}]")
        self.say(f"* OK [UIDNEXT {max(self.box.mails, default=0) + 1}]")
        return "OK [READ-ONLY] EXAMINE done"

    def do_noop(self) -> None:
        pass

    def do_idle(self) -> str | None:
        """Tell of mails that come, or are marked as deleted, until the client is done."""
        if not self.account.idles:
            return "BAD no such command"
        self.say("+ idling")
        before = [*self.box.mails], {*self.box.deleted}
        while not select([self.connection], [], [], _TURN_S)[0]:
            now = [*self.box.mails], {*self.box.deleted}
            if now != before:
                self.say(f"* {len(self.box.mails)} EXISTS")
                before = now
        return None if self.rfile.readline() == b"DONE\r\n" else "BAD not done"

    def do_uid_search(self, *words: str) -> None:
        if words == ("DELETED",):
            self.say(f"* SEARCH {' '.join(map(str, sorted(self.box.deleted)))}".rstrip())
            return
        low, high = map(int, words[1].split(":")) if words[0] == "UID" else (0, 10**9)
        found = [uid for uid in self.box.mails if low <= uid <= high and uid not in self.box.deleted]
        self.say(f"* SEARCH {' '.join(map(str, found))}".rstrip())

    def do_uid_fetch(self, uids: str, *words: str) -> None:
        for uid in map(int, uids.split(",")):
            if uid in self.box.mails:
                self._send(uid, " ".join(words))

    def _send(self, uid: int, what: str) -> None:
        mail = self.box.mails[uid]
        if "HEADER" in what:
            data, name = mail.partition(b"\r\n\r\n")[0] + b"\r\n\r\n", "BODY[HEADER.FIELDS (DATE)]"
        else:
            data, name = mail, "BODY[]"
            self.account.sent.append(uid)
        begin = f"* {uid} FETCH (RFC822.SIZE {len(mail)} {name} {{{len(data)}}}\r\n"
        # The UID comes behind the text, as some servers have it.
        self.wfile.write(begin.encode() + data + f" UID {uid})\r\n".encode())


@contextmanager
def imap_on_loopback() -> Iterator[Account]:
    """Run a server with one account."""
    account = Account()
    handler = type("Handler", (_Handler,), {"account": account})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        account.port = server.server_address[1]
        thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield account
        finally:
            server.shutdown()
            thread.join()
