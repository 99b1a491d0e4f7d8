"""Distributions for tests: the files that an installed package has, written or installed into a folder."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.kit.house import ROOT

EXAMPLE = ROOT / "tests" / "plugin"


def write_distribution(site: Path, name: str, entries: Mapping[str, str], modules: Mapping[str, str]) -> Path:
    """Write version 1.0 of a distribution; `entries` maps GROUP/NAME to an object, `modules` a module to its code."""
    info = site / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    groups: dict[str, str] = {}
    for key, target in entries.items():
        group, _, entry = key.partition("/")
        groups[group] = f"{groups.get(group, f'[docmill.{group}]')}\n{entry} = {target}"
    (info / "entry_points.txt").write_text("\n".join(groups.values()) + "\n")
    for module, code in modules.items():
        (site / f"{module}.py").write_text(code)
    return site


def install(package: Path, site: Path) -> Path:
    """Install a package into a folder, as pip does where there is no network."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "install", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--no-build-isolation", "--target", str(site), str(package)], check=True)
    return site
