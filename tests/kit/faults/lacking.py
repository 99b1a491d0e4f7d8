"""A file system that lacks something, for a process started with these variables: links, locks or the sync of folders.

What is missing is taken away by a library that is preloaded into the process, so that Python, LanceDB and all that they
load meet the error which such a file system answers with.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.skips import LINUX

SOURCE = Path(__file__).with_name("lacking.c")
SMB = ("symlinks", "foldersync", "readlocks")  # a share of Windows, as Linux mounts it by default
FAT = ("links", "symlinks", "modes")


def build(folder: Path) -> Path:
    """Compile the library in a folder, or skip the test where that cannot be done."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if sys.platform != "linux":
        pytest.skip(f"{LINUX}: preloads a library that takes hard links and locks from a process")
    if compiler is None:
        pytest.skip("needs a C compiler")
    library = folder / "lacking.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
    return library


def environment(library: Path, below: Path, *missing: str) -> dict[str, str]:
    """Return the environment of a process for which the file system below a folder lacks `missing`."""
    return {**os.environ, "LD_PRELOAD": str(library), "LACKING_BELOW": str(below), "LACKING": ",".join(missing)}
