"""Print which installed packages have come to reach other hosts since somebody last looked.

python -m tests.bench.installing.network [--write]

A package can reach others if its Python code imports a client, or its native code looks names up. Those that somebody
has looked at are listed in `network_capable.txt`. A new one may report its use: find its switch, and add that to
`storage/process/no_telemetry.py`.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.utils import canonicalize_name

KNOWN = Path(__file__).with_name("network_capable.txt")
_CLIENTS = (
    "socket", "ssl", "http.client", "urllib.request", "urllib3", "requests", "httpx", "httpx2", "aiohttp", "websockets",
    "grpc", "smtplib", "ftplib", "xmlrpc",
)  # fmt: skip
_IMPORT = re.compile(rb"(?:^|\n)[ \t]*(?:import|from) (?:%s)\b" % b"|".join(map(re.escape, map(str.encode, _CLIENTS))))
_NATIVE = (b"\0getaddrinfo\0", b"\0getaddrinfo@", b"\0gethostbyname\0", b"\0res_query\0")
_TELLING = (b"telemetry", b"DO_NOT_TRACK", b"posthog", b"analytics", b"usage_stats")


def main(arguments: list[str]) -> None:
    """Print the new packages, and those listed that reach nobody any more; exit with 1 if there are new ones."""
    found = {str(canonicalize_name(one.name)): [*capable(one)] for one in distributions()}
    now = {name: files for name, files in found.items() if files}
    if "--write" in arguments:
        KNOWN.write_text("".join(f"{name}\n" for name in sorted(now)), "utf-8")
    known = {*KNOWN.read_text("utf-8").split()}
    new = sorted(now.keys() - known)
    for name in new:
        print(f"new: {name} can reach other hosts: {now[name][0]}{_words(now[name])}")
    for name in sorted(known & found.keys() - now.keys()):
        print(f"gone: {name} reaches nobody any more; strike it from {KNOWN.name}")
    print(f"{len(now)} of {len(found)} packages can reach other hosts, {len(new)} of them new")
    raise SystemExit(bool(new))


def capable(package: Distribution) -> Iterator[Path]:
    """Yield the files of a package by which it can reach other hosts."""
    for file in package.files or ():
        if not {"tests", "testing", "_testing"} & {*file.parts}:
            path = Path(str(file.locate()))
            if path.is_file() and _reaches(path):
                yield path


def _reaches(path: Path) -> bool:
    if path.suffix == ".py":
        return _IMPORT.search(path.read_bytes()) is not None
    return ".so" in path.suffixes and _has(path.read_bytes(), _NATIVE)


def _words(files: Iterable[Path]) -> str:
    return "; it speaks of telemetry" if any(_has(path.read_bytes(), _TELLING) for path in files) else ""


def _has(data: bytes, words: Iterable[bytes]) -> bool:
    return any(word in data for word in words)


if __name__ == "__main__":
    main(sys.argv[1:])
