"""Git: the files of a repository at a branch, tag or commit; after a change, only files that differ are read.

`git` works on a bare repository and runs nothing from it: no hooks, no filters, no settings.
"""

import json
import os
import re
import subprocess
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from urllib.parse import quote

from pydantic import Field, field_validator

from docmill.storage.address import user_cache
from docmill.storage.errors import ConfigError, Rejected, SourceError, Transient
from docmill.storage.keys import key_of
from docmill.storage.plugins.secret import Secret
from docmill.tasks.sources.connectors.contract import OwnConnector, SourceItem, SourceListing
from docmill.tasks.sources.connectors.source_settings import WATCH_S, SourceSettings

_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "credential.helper": "",
    "fetch.fsckObjects": "true",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
    "protocol.allow": "never",
}
_PARTIAL = {
    "remote.origin.promisor": "true",
    "remote.origin.partialclonefilter": "blob:none",
    "extensions.partialClone": "origin",
    "core.repositoryFormatVersion": "1",
}
"""Settings of the copy: missing objects are requested in batches, and never by a command that happens to need one."""
_KEPT = ("HOME", "PATH", "LANG", "SSH_AUTH_SOCK", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "TMPDIR")
"""Variables that `git` gets; none of them makes it run programs or use another repository."""
_WORDS = (
    (r"could not read (Username|Password)|Authentication failed|returned error: 40[13]|Permission denied \(publickey",
     ConfigError, "it wants credentials: set `token`, or for ssh load a key into ssh-agent"),
    (r"[Rr]epository .* not found|returned error: 404|does not appear to be a git repository",
     SourceError, "there is no such repository, or it wants credentials (`token`)"),
    (r"certificate|SSL", SourceError, "its certificate is not accepted"),
    (r"[Cc]ould not resolve host|[Cc]onnect|returned error: (429|5\d\d)|early EOF|hung up|RPC failed|timed out",
     Transient, "it does not answer"),
    (r"\.lock': File exists", Transient,
     "another git is at work on the copy in ~/.cache/docmill/git; if none is, delete that folder"),
    (r"dubious ownership", SourceError, "another user owns it; git reads only your own repositories (safe.directory)"),
)  # fmt: skip
_LONGEST = 200
"""Characters of `git`'s output in a message."""


@dataclass(frozen=True)
class Git:
    """The program git on a bare repository at `folder`; it may reach other repositories only by `protocol`."""

    folder: Path
    protocol: str
    token: str = ""
    timeout_s: float = 600.0

    def run(self, *arguments: str, given: bytes = b"") -> bytes:
        """Return the output of a command; raise `SourceError`, `ConfigError` or `Transient` if it fails."""
        done = self._call(arguments, given)
        if done.returncode:
            raise _explained(done.stderr.decode("utf-8", "replace"))
        return done.stdout

    def found(self, *arguments: str, given: bytes = b"") -> bytes | None:
        """Return the output of a command, or None if it fails."""
        done = self._call(arguments, given)
        return None if done.returncode else done.stdout

    def _call(self, arguments: Sequence[str], given: bytes) -> subprocess.CompletedProcess[bytes]:
        command = ["git", f"--git-dir={self.folder}", *arguments]
        try:
            return subprocess.run(
                command, input=given, capture_output=True, env=self._environment(), timeout=self.timeout_s, check=False
            )
        except FileNotFoundError:
            raise ConfigError("the program git is not installed") from None
        except subprocess.TimeoutExpired:
            raise Transient(f"git took longer than {self.timeout_s:g} s (timeout_s)") from None

    def _environment(self) -> dict[str, str]:
        # Passed as variables, because other users of this machine can see a program's arguments.
        settings = {**_SETTINGS, f"protocol.{self.protocol}.allow": "always"}
        if self.token:
            packed = b64encode(f"x-access-token:{self.token}".encode()).decode()
            settings |= {"http.extraHeader": f"Authorization: Basic {packed}", "http.followRedirects": "false"}
        numbered = [
            pair
            for number, (key, value) in enumerate(settings.items())
            for pair in ((f"GIT_CONFIG_KEY_{number}", key), (f"GIT_CONFIG_VALUE_{number}", value))
        ]
        return {
            **{name: os.environ[name] for name in _KEPT if name in os.environ},
            "LC_ALL": "C",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "true",
            "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ALLOW_PROTOCOL": self.protocol,
            "GIT_CONFIG_COUNT": str(len(settings)),
            **dict(numbered),
        }


def _explained(said: str) -> Exception:
    """Return a failure of `git` as a one-line error."""
    lines = [line for line in said.splitlines() if line.startswith(("fatal:", "error:", "remote:"))]
    short = " ".join(" ".join(lines or said.splitlines()[-1:]).split())[:_LONGEST]
    for pattern, kind, hint in _WORDS:
        if re.search(pattern, said):
            return kind(f"{hint} ({short})")
    return SourceError(f"git failed: {short}")


_URL = re.compile(r"git\+(?P<url>(?P<protocol>https|http|ssh|file)://[^\s/]*/[^\s@]+)(?:@(?P<ref>\S+))?")
_REF = re.compile(r"[\w][\w./+-]{0,200}")  # never an option, which would begin with a dash
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_HEAD = re.compile(rb"\x01(?P<time>\d+)\x02(?P<id>[0-9a-f]{40,64})\x02(?P<author>.*)", re.DOTALL)
_FILES = (b"100644", b"100755")
"""The modes of files: a link may lead anywhere, and a submodule is another repository."""
_HOSTS = {
    "github.com": "https://{host}/{path}/blob/{ref}/{name}",
    "gitlab.com": "https://{host}/{path}/-/blob/{ref}/{name}",
    "codeberg.org": "https://{host}/{path}/src/{ref}/{name}",
    "bitbucket.org": "https://{host}/{path}/src/{ref}/{name}",
}
"""The address at which a person opens a file, by host."""
_BATCH = 1_000
"""Files in one request: a server accepts more, but then a broken connection also loses more."""
_NS = 1_000_000_000
Paths = list[str]


class GitSettings(SourceSettings):
    """A git repository, read by the program `git`. Nothing of the repository is run, and nothing is checked out."""

    url: str = Field(
        description="git+https://HOST/PATH, git+ssh://USER@HOST/PATH or git+file:///PATH, with @REF for a branch, a tag"
        " or a commit. The address of the source sets it."
    )
    ref: str = Field(default="", description="Branch, tag or commit; empty takes that of the address, or the default.")
    folder: str = Field(default="", description="Read only this folder of the repository.")
    token: Secret | None = Field(default=None, description="Token for https.")
    timeout_s: float = Field(default=600.0, gt=0, description="Seconds that a call of git may take.")
    watch_s: float = Field(default=30.0, ge=0, description=WATCH_S)

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        found = _URL.fullmatch(url)
        if not found:
            raise ValueError("write git+https://HOST/PATH, git+ssh://USER@HOST/PATH or git+file:///PATH")
        if re.match(r"git\+https?://[^/]*@", url):
            raise ValueError("leave user and password out of the address, and set `token`")
        return url

    @field_validator("ref")
    @classmethod
    def _check_ref(cls, ref: str) -> str:
        if ref and not _REF.fullmatch(ref):
            raise ValueError("a branch, a tag or a commit has letters, digits and . / _ + -")
        return ref

    @field_validator("folder")
    @classmethod
    def _check_folder(cls, folder: str) -> str:
        steps = [step for step in folder.split("/") if step not in ("", ".")]
        if ".." in steps:
            raise ValueError("give a path within the repository, without ..")
        return "/".join(steps)


def _reader(settings: GitSettings) -> "GitReader":
    found = _URL.fullmatch(settings.url)
    assert found
    ref = settings.ref or found["ref"] or "HEAD"
    if not _REF.fullmatch(ref):
        raise ConfigError(f"{ref!r} is no branch, tag or commit")
    token = settings.token.read() if settings.token else ""
    folder = user_cache().expanduser() / "git" / key_of(found["url"])
    return GitReader(found["url"], ref, settings.folder, Git(folder, found["protocol"], token, settings.timeout_s))


CONNECTOR = OwnConnector(GitSettings, _reader)


@dataclass
class GitReader:
    """Reads a repository at `url` through a copy in the user's cache, which contains only requested files."""

    url: str
    ref: str
    folder: str
    git: Git

    def __post_init__(self) -> None:
        self._commit = ""
        self._due: list[str] = []
        self._lock = Lock()

    def list(self, checkpoint: str) -> SourceListing:
        """Return the changes since the commit of the checkpoint, or all files; the new checkpoint is the commit."""
        before = json.loads(checkpoint)["commit"] if checkpoint else ""
        self._prepare()
        self._commit = self._resolved()
        state = json.dumps({"commit": self._commit})
        if self._commit == before:
            return SourceListing((), state, gone=())
        self._obtain(self._commit)
        if before and self.git.found("rev-list", "--max-count=1", "--missing=allow-promisor", before) is not None:
            changed, gone = self._difference(before)
            return SourceListing(self._items(changed, f"{before}..{self._commit}"), state, gone)
        entries = _entries(self.git.run("ls-tree", "-r", "-z", "--full-tree", self._commit, "--", *self._paths()))
        return SourceListing(self._items(entries, self._commit), state)

    def fetch(self, item: SourceItem) -> bytes:
        """Return the bytes of a file; the first call fetches all files that the listing named."""
        with self._lock:
            self._bring()
        path = f"{self._commit}:{self.folder}/{item.name}" if self.folder else f"{self._commit}:{item.name}"
        data = self.git.found("cat-file", "blob", path)
        if data is None:
            data = self.git.found("cat-file", "blob", _raw(path))
        if data is None:
            raise Rejected("unreadable", f"the commit {self._commit[:12]} has no such file")
        return data

    def mark(self) -> str:
        """Return the commit to which the branch or tag now points."""
        self._prepare()
        return self._resolved()

    def link(self, item: SourceItem) -> str:
        """Return the web page of a file if the host is known; it has the branch, so that the link stays the same."""
        host, _, path = self.url.partition("://")[2].rpartition("@")[2].partition("/")
        path, name = path.strip("/").removesuffix(".git"), f"{self.folder}/{item.name}".lstrip("/")
        return _HOSTS.get(host, "").format(host=host, path=quote(path), ref=quote(self.ref), name=quote(name))

    def _prepare(self) -> None:
        whole = self.git.folder
        if not (whole / "HEAD").exists():
            whole.parent.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(prefix=f"{whole.name}-", dir=whole.parent) as folder:
                # A killed run leaves no half-made copy, and of two runs at once, the second uses the copy of the first.
                draft = replace(self.git, folder=Path(folder) / "draft")
                draft.run("init", "--quiet", "--bare", "--template=", str(draft.folder))
                for key, value in {"remote.origin.url": self.url, **_PARTIAL}.items():
                    draft.run("config", key, value)
                with suppress(OSError):
                    draft.folder.rename(whole)

    def _resolved(self) -> str:
        """Return the commit to which the branch or tag now points."""
        if _COMMIT.fullmatch(self.ref):
            return self.ref
        wanted = ["HEAD"] if self.ref == "HEAD" else [f"refs/{one}/{self.ref}" for one in ("heads", "tags")]
        said = self.git.run("ls-remote", self.url, *wanted, *(f"{one}^{{}}" for one in wanted))
        found = {name: commit for commit, name in (line.split("\t") for line in said.decode().splitlines())}
        for name in (wanted[0], f"{wanted[-1]}^{{}}", wanted[-1]):
            if name in found:
                return found[name]
        raise ConfigError(f"there is no branch or tag {self.ref!r}; set `ref`, or append @REF to the address")

    def _obtain(self, commit: str) -> None:
        """Fetch a commit with its history and folders, but without files."""
        # Keep it under our own reference, so that the next fetch says to the server that we have it.
        self.git.run(
            "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no", "--filter=blob:none",
            "origin", f"+{commit}:refs/docmill/{key_of(self.ref)}",
        )  # fmt: skip

    def _bring(self) -> None:
        """Fetch the files that the listing named."""
        due, self._due = self._due, []
        for start in range(0, len(due), _BATCH):
            given = "\n".join(due[start : start + _BATCH]).encode() + b"\n"
            # A server that cannot send single files has sent all of them before; `cat-file` reports any that are
            # missing.
            self.git.found(
                "-c", "fetch.negotiationAlgorithm=noop", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
                "--recurse-submodules=no", "--filter=blob:none", "--stdin", "origin", given=given,
            )  # fmt: skip

    def _difference(self, before: str) -> tuple[dict[str, str], Paths]:
        """Return the new and changed files, and the names of deleted ones."""
        said = self.git.run(
            "diff-tree", "-r", "-z", "--no-renames", "--raw", before, self._commit, "--", *self._paths()
        )
        fields = said.split(b"\0")[:-1]
        changed, gone = dict[str, str](), list[str]()
        for head, path in zip(fields[::2], fields[1::2], strict=True):
            _, mode, _, blob, _ = head.split(b" ")
            if mode in _FILES:
                changed[_named(path)] = blob.decode()
            else:
                gone.append(self._inner(_named(path)))
        return changed, gone

    def _items(self, entries: Mapping[str, str], range_: str) -> Iterator[SourceItem]:
        self._due = sorted({*entries.values()})
        last = self._last_commits(range_)
        for path, blob in entries.items():
            commit = last.get(path, _Commit())
            yield SourceItem(self._inner(path), blob, modified_ns=commit.time * _NS, metadata=commit.told())

    def _last_commits(self, range_: str) -> dict[str, "_Commit"]:
        """Return the last commit in a range that changed each file."""
        said = self.git.run(
            "log", "--format=%x01%ct%x02%H%x02%an", "--name-only", "-z", "--no-renames", range_, "--", *self._paths()
        )
        found, now = dict[str, _Commit](), _Commit()
        for field in said.split(b"\0"):
            if head := _HEAD.fullmatch(field):
                now = _Commit(int(head["time"]), head["id"].decode(), head["author"].decode("utf-8", "replace"))
            elif field:  # the first file after a head has a line of its own
                found.setdefault(_named(field.removeprefix(b"\n")), now)
        return found

    def _paths(self) -> Sequence[str]:
        return [f":(literal){self.folder}"] if self.folder else []

    def _inner(self, path: str) -> str:
        return path.removeprefix(f"{self.folder}/") if self.folder else path


@dataclass(frozen=True, slots=True)
class _Commit:
    """A commit: its time in seconds since 1970, its id, and its author."""

    time: int = 0
    id: str = ""
    author: str = ""

    def told(self) -> dict[str, str]:
        """Return the metadata of the files that it changed."""
        if not self.id:
            return {}
        when = datetime.fromtimestamp(self.time, UTC).isoformat()
        return {"author": self.author, "commit": self.id, "committed": when}


def _entries(said: bytes) -> dict[str, str]:
    """Return the files of a tree: hashes by path."""
    found = dict[str, str]()
    for line in said.split(b"\0")[:-1]:
        head, _, path = line.partition(b"\t")
        mode, _, blob = head.split(b" ")
        if mode in _FILES:
            found[_named(path)] = blob.decode()
    return found


def _named(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")


def _raw(name: str) -> str:
    """Return the original path of a name from `_named` that was not UTF-8, as a program argument."""
    return os.fsdecode(re.sub(rb"\\x([0-9a-f]{2})", lambda found: bytes.fromhex(found[1].decode()), name.encode()))
