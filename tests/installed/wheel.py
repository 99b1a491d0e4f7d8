"""docmill's wheel in an environment of its own, which has the packages of this one and not the checkout."""

import fcntl
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

from docmill.storage.files import flocked
from tests.kit.house import ROOT

_PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]


@dataclass(frozen=True)
class Installed:
    """A virtual environment with the wheel."""

    folder: Path
    wheel: Path

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    def run(self, *arguments: str, cwd: Path, status: int = 0) -> str:
        """Run its interpreter in a project of a user, as `PYTHONPATH=.` has it; return what it says."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("DOCMILL_", "PREFECT_"))}
        environment = {**kept, "PYTHONPATH": ".", "PREFECT_HOME": str(cwd / "prefect"), "DO_NOT_TRACK": "1"}
        done = subprocess.run(
            [self.python, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == status, done.stderr or done.stdout
        return done.stderr if status else done.stdout

    def pip(self, *arguments: str) -> None:
        """Have pip work on this environment, without a network."""
        # It has no pip of its own: to copy one takes longer than all else.
        subprocess.run([*_PIP, "--python", self.python, *arguments], check=True)


def install_wheel(folder: Path, shared: Path) -> Installed:
    """Install the wheel into a new environment below a folder; it is built and unpacked once below `shared`."""
    built = shared / "wheel"
    built.mkdir(exist_ok=True)
    with flocked(built / "lock", fcntl.LOCK_EX, 0o600):
        wheel = next(built.glob("docmill-*.whl"), None) or _build(built)
    venv.create(folder / "venv", symlinks=True)
    site = next((folder / "venv").glob("lib/python*/site-packages"))
    # A folder named by a .pth file is a path entry and nothing more: the editable install stays unknown.
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    for each in (built / "unpacked").iterdir():
        (site / each.name).symlink_to(each)  # so each module is compiled once
    return Installed(folder / "venv", wheel)


def _build(folder: Path) -> Path:
    # In a folder of its own: two that build in that of the checkout at once break each other, and an older build stays.
    own = folder / "own-build.cfg"
    own.write_text(f"[build]\nbuild_base = {folder / 'build'}\n[egg_info]\negg_base = {folder}\n")
    command = [*_PIP, "wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(ROOT)]
    subprocess.run(command, check=True, env=os.environ | {"DIST_EXTRA_CONFIG": str(own)})
    wheel = next(folder.glob("docmill-*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "unpacked")
    return wheel


def install_editable(folder: Path, clone: Path) -> str:
    """Install a clone into a new environment, editable and without what it needs; return the interpreter."""
    venv.create(folder, symlinks=True)
    python = str(folder / "bin" / "python")
    site = next(folder.glob("lib/python*/site-packages"))
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")  # has setuptools, which builds
    own = [*_PIP, "--python", python, "install", "--no-deps", "--no-build-isolation", "--editable", str(clone)]
    subprocess.run(own, check=True)
    return python
