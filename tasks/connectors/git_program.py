"""Git program: calls of `git` on a bare repository that run nothing of it: no hooks, no filters, no settings."""

import os
import re
import subprocess
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from docmill.storage.errors import ConfigError, SourceError, Transient

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
_KEPT = ("HOME", "PATH", "LANG", "SSH_AUTH_SOCK", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "TMPDIR")
"""Variables that `git` gets: none of those by which it would run programs, or take another repository."""
_WORDS = (
    (r"could not read (Username|Password)|Authentication failed|returned error: 40[13]|Permission denied \(publickey",
     ConfigError, "it wants credentials: set `token`, or for ssh load a key into ssh-agent"),
    (r"[Rr]epository .* not found|returned error: 404|does not appear to be a git repository",
     SourceError, "there is no such repository, or it wants credentials (`token`)"),
    (r"certificate|SSL", SourceError, "its certificate is not accepted"),
    (r"[Cc]ould not resolve host|[Cc]onnect|returned error: (429|5\d\d)|early EOF|hung up|RPC failed|timed out",
     Transient, "it does not answer"),
    (r"dubious ownership", SourceError, "another user owns it; git reads only your own repositories (safe.directory)"),
)  # fmt: skip
_LONGEST = 200
"""Characters of what `git` says in a message."""


@dataclass(frozen=True)
class Git:
    """The program on a bare repository at `folder`, which may reach other repositories by `protocol` alone."""

    folder: Path
    protocol: str
    token: str = ""
    timeout_s: float = 600.0

    def run(self, *arguments: str, given: bytes = b"") -> bytes:
        """Return what a command prints; raise `SourceError`, `ConfigError` or `Transient` if it fails."""
        done = self._call(arguments, given)
        if done.returncode:
            raise _explained(done.stderr.decode("utf-8", "replace"))
        return done.stdout

    def found(self, *arguments: str, given: bytes = b"") -> bytes | None:
        """Return what a command prints, or None if it fails."""
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
        # By variables: other users of this machine see the arguments of a program.
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
    """Return a failure of `git` in one line."""
    lines = [line for line in said.splitlines() if line.startswith(("fatal:", "error:", "remote:"))]
    short = " ".join(" ".join(lines or said.splitlines()[-1:]).split())[:_LONGEST]
    for pattern, kind, hint in _WORDS:
        if re.search(pattern, said):
            return kind(f"{hint} ({short})")
    return SourceError(f"git failed: {short}")
