"""Print whether docmill can be installed beside packages that its users have, and on which versions of Python.

python -m tests.bench.installing.resolve [PACKAGE...]

`uv pip compile` looks for a common solution; nothing is installed. It needs a package index. Where there is none, the
table names the requirement at fault.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).parents[3]
NEIGHBOURS = (
    "docling", "haiku.rag-slim", "llama-index-core", "langchain", "haystack-ai", "mcp", "fastmcp", "dlt",
    "dbt-duckdb", "chromadb", "streamlit", "prefect-aws", "prefect-kubernetes", "prefect-dask", "prefect-ray",
)  # fmt: skip
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
_USUAL = "3.12"
_SHOWN = ("prefect", "lancedb", "pyarrow", "typer")  # whose versions neighbours push down
_CAUSE = re.compile(r"because (?:we know from \(\d+\) that )?(.+?)(?:,? we can conclude|$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Solution:
    """What a resolver said: the versions by package, or why there are none."""

    versions: dict[str, str]
    fault: str = ""


def main(packages: list[str]) -> None:
    """Print the table; exit with 1 if anything has no solution."""
    print("| beside | Python | version | " + " | ".join(_SHOWN) + " | |\n|---|---|---|" + "---|" * len(_SHOWN) + "---|")
    faults = 0
    for package, python in _cases(packages):
        found = resolve(package, python)
        faults += bool(found.fault)
        own = found.versions.get(_normal(package), "")
        shown = " | ".join(found.versions.get(name, "") for name in _SHOWN)
        print(
            f"| {package or 'nothing, all extras'} | {python} | {own} | {shown} | {found.fault or 'ok'} |", flush=True
        )
    raise SystemExit(faults > 0)


def _cases(packages: list[str]) -> Iterator[tuple[str, str]]:
    if not packages:
        yield from (("", python) for python in PYTHONS)
    yield from ((package, _USUAL) for package in packages or NEIGHBOURS)


def resolve(package: str, python: str) -> Solution:
    """Look for a solution for docmill and a package; without one, for docmill and all its extras."""
    asked = f"docmill @ {_ROOT.as_uri()}\n{package}\n" if package else f"docmill[all] @ {_ROOT.as_uri()}\n"
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder) / "wanted.in"
        wanted.write_text(asked)
        command = [sys.executable, "-m", "uv", "pip", "compile", str(wanted), "--quiet", "--python-version", python]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return Solution({}, _fault(done.stderr))
    return Solution(dict(re.findall(r"^([\w.-]+)==(\S+)", done.stdout, re.MULTILINE)))


def _fault(said: str) -> str:
    """Return the last requirement that the resolver blames, on one line."""
    causes = [cause for cause in _CAUSE.findall(said) if "depends on" in cause] or [said]
    return " ".join(causes[-1].split()).replace("|", "/")


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    main(sys.argv[1:])
