"""Print how much each extra of docmill adds on disk: its packages and theirs, as their records list the files.

python -m tests.bench.installing.sizes

It installs nothing: it adds up what this environment holds, so an extra must be installed to be counted. Bytecode that
Python writes at the first import comes on top, about a tenth. PyTorch counts as it is here: its CPU build.
"""

from collections.abc import Iterable
from functools import cache
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.bench.table import Figure, show

_MB = 1e6
_BOUND_MB = 1_900  # with the CPU build of PyTorch
_BYTECODE = ".pyc"


def main() -> None:
    """Print the table."""
    core = closure("docmill", "")
    figures = [Figure(f"core: {len(core)} packages", megabytes(core), "MB", _BOUND_MB)]
    for extra in metadata.metadata("docmill").get_all("Provides-Extra") or ():
        more = closure("docmill", extra) - core
        figures.append(Figure(f"[{extra}]: {len(more)} packages more", megabytes(more), "MB"))
    show("Installed size", figures)


def closure(name: str, extra: str) -> set[str]:
    """Return the installed packages that a package needs with an extra, itself among them."""
    found, open_ = set[tuple[str, str]](), [(str(canonicalize_name(name)), extra)]
    while open_:
        one = open_.pop()
        if one not in found:
            found.add(one)
            open_ += needed(*one)
    return {package for package, _ in found if is_installed(package)}


@cache
def needed(package: str, extra: str) -> tuple[tuple[str, str], ...]:
    """Return the packages that one asks for directly, each with its extras."""
    if not is_installed(package):
        return ()
    lines = map(Requirement, metadata.requires(package) or ())
    asked = [one for one in lines if one.marker is None or one.marker.evaluate({"extra": extra})]
    return tuple((str(canonicalize_name(one.name)), part) for one in asked for part in ("", *one.extras))


@cache
def is_installed(package: str) -> bool:
    """Return whether this environment has a package."""
    try:
        return bool(metadata.version(package))
    except metadata.PackageNotFoundError:
        return False


def megabytes(packages: Iterable[str]) -> float:
    """Return the size of the files of packages, without bytecode."""
    return sum(map(size, packages)) / _MB


@cache
def size(package: str) -> int:
    """Return the bytes of the files of a package."""
    files = [file for file in metadata.files(package) or () if file.suffix != _BYTECODE]
    return sum(path.stat().st_size for path in (file.locate() for file in files) if path.is_file())  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
