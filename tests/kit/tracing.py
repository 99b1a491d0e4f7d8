"""Tracing: what a program and all its children reach on the network and write to the disk, as the kernel sees it.

`strace` sees the calls of every thread of every process, native ones and other programs included.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from docmill.storage.process.no_telemetry import SWITCHES

_REACHING = "connect,sendto,sendmsg,sendmmsg"
_NAMING = "open,openat,creat,rename,renameat,renameat2,link,linkat,symlink,symlinkat"
_ADDRESS = re.compile(r'sa_family=AF_INET6?, .*?port=htons\((\d+)\).*?"([^"]+)"')
_RESOLVER = "io.systemd.Resolve"  # the Unix socket of a daemon that looks names up
_LOOKUP_PORT = 53
_HERE = ("127.", "::1", "::ffff:127.", "0.0.0.0")
_WRITING = re.compile(r"O_WRONLY|O_RDWR|O_CREAT")
_PATH = re.compile(r'(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"')
_HOSTED = ("CI", "GITHUB_ACTIONS", "TF_BUILD", "JENKINS_URL", "BUILDKITE")  # libraries report nothing from there
_DEVICE = re.compile(r"/dev/(?!shm/pytest-)")  # not the temporary files of tests, which may be in memory
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")


@dataclass(frozen=True, slots=True)
class Trace:
    """What a traced program did: its output, the hosts that it looked up or reached, and the files that it wrote."""

    status: int
    output: str
    reached: tuple[str, ...]
    written: tuple[str, ...]

    def outside(self, *allowed: Path) -> set[str]:
        """Return the written paths that are not below the allowed ones, devices aside."""
        within = (*(f"{folder}/" for folder in allowed), *map(str, allowed), "/proc/self/")
        return {path for path in self.written if not path.startswith(within) and not _DEVICE.match(path)}


def plain_environment(home: Path, **more: str) -> dict[str, str]:
    """Return the environment of a user who has set nothing: no switch, no proxy, a home of his own."""
    dropped = {*SWITCHES, *_HOSTED, *_PROXIES, *map(str.upper, _PROXIES), "HF_HUB_OFFLINE", "XDG_CACHE_HOME"}
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    kept = {name: value for name, value in kept.items() if not name.startswith(("PREFECT_", "DOCMILL_", "PYTEST_"))}
    for folder in (home, home / "temp"):
        folder.mkdir(parents=True, exist_ok=True)
    return {**kept, "HOME": str(home), "TMPDIR": str(home / "temp"), "PYTHONDONTWRITEBYTECODE": "1", **more}


def traced(command: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> Trace:
    """Run a program to its end under `strace`; skip the test where that is not possible."""
    strace = shutil.which("strace")
    if sys.platform != "linux" or strace is None:
        pytest.skip("needs Linux and the program strace")
    log = cwd / "trace.log"
    how = ["-f", "-qq", "-y", "-s", "512", "--seccomp-bpf", "-e", f"trace={_REACHING},{_NAMING}", "-o", str(log)]
    done = subprocess.run(
        [strace, *how, *command], cwd=cwd, env=dict(environment), capture_output=True, text=True, timeout=600
    )
    lines = log.read_text("utf-8", "replace").splitlines()
    calls = list(_calls([line for line in lines if not _reads(line)]))
    return Trace(
        done.returncode,
        done.stdout + done.stderr,
        tuple(dict.fromkeys(_reached(calls))),
        tuple(dict.fromkeys(_written(calls, cwd))),
    )


def _reads(line: str) -> bool:
    """Return whether a line is a whole call that opens a file to read it, as most are."""
    return "O_RDONLY" in line and "O_CREAT" not in line and not line.endswith("<unfinished ...>")


def _calls(lines: Collection[str]) -> Iterator[str]:
    """Yield whole calls: one that another process interrupts in the log is in two parts."""
    begun: dict[str, str] = {}
    for line in lines:
        process, _, call = line.partition(" ")
        call = call.strip()
        if call.endswith("<unfinished ...>"):
            begun[process] = call.removesuffix("<unfinished ...>")
        elif call.startswith("<... "):
            yield begun.pop(process, "") + call.partition("resumed>")[2]
        else:
            yield call
    yield from begun.values()  # the process was ended meanwhile


def _reached(calls: Collection[str]) -> Iterator[str]:
    """Yield each host that is not this machine, and each question to a resolver, which may be on it."""
    for call in calls:
        if call.startswith(tuple(_REACHING.split(","))):
            yield from (
                call for port, host in _ADDRESS.findall(call) if not host.startswith(_HERE) or int(port) == _LOOKUP_PORT
            )
            if _RESOLVER in call:
                yield call


def _written(calls: Collection[str], cwd: Path) -> Iterator[str]:
    """Yield the absolute path of each file or folder that was opened for writing, linked or renamed."""
    for call in calls:
        name = call.partition("(")[0]
        if name not in _NAMING.split(",") or re.search(r"= -1 E\w+", call):
            continue
        if name in ("open", "openat") and not _WRITING.search(call):
            continue
        folder, path = _PATH.findall(call)[-1]  # of two names the last is the new one
        yield os.path.normpath(cwd / folder / path)
