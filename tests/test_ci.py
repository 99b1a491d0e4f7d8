"""Continuous integration installs what tests need, lets no test be skipped in silence, and runs in the background."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from docmill.tasks.work.pool.limits import Limits
from docmill.tasks.work.pool.pool import Pool
from tests.kit.house import PYTEST, ROOT, starts
from tests.kit.skips import ALLOWED

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROGRAMS = ROOT / ".ci" / "programs"
NEEDED = set(re.findall(r"^([a-z -]+): ", PROGRAMS.read_text(encoding="utf-8"), re.MULTILINE)) - {"ci"}
SAMPLE = """
import subprocess, sys
import pytest

def test_an_extra(): pytest.importorskip("no_such_package", reason="the extra is not installed")
def test_an_allowed_one(): pytest.skip("needs Linux: reads /proc")
@pytest.mark.xfail(strict=True)
def test_a_known_fault(): assert False
"""


def programs(folder: Path, present: Sequence[str], user: int = 0, apt: str = "exit 0") -> tuple[list[str], str]:
    """Run `.ci/programs` where only these programs are; return what apt was asked for, and what it said."""
    folder.mkdir()
    for name in ("bash", "env"):
        (folder / name).symlink_to(str(shutil.which(name)))
    scripts = {"id": f"echo {user}", "python3": "exit 0", "apt-get": f'echo "$*" >> {folder}/asked; {apt}'}
    for name, script in (dict.fromkeys(present, "exit 0") | scripts).items():
        (folder / name).write_text(f"#!{folder}/bash\n{script}\n")
        (folder / name).chmod(0o755)
    environment = {"PATH": str(folder)}
    done = subprocess.run([folder / "bash", PROGRAMS], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    asked = folder / "asked"
    return asked.read_text().splitlines() if asked.exists() else [], done.stderr


def test_programs_are_installed_where_they_lack_and_only_there(tmp_path: Path) -> None:
    first = [names.split()[0] for names in sorted(NEEDED)]
    wanted = {"cc", "chromium", "git", "make", "mariadb-install-db", "readpst", "strace", "tesseract", "unshare"}
    assert wanted == set(first)
    assert programs(tmp_path / "all", first) == ([], "")
    assert programs(tmp_path / "chrome", [*first[:1], *first[2:], "google-chrome"]) == ([], "")
    asked, said = programs(tmp_path / "two", [name for name in first if name not in ("readpst", "chromium")])
    install = "--quiet install --yes --no-install-recommends"
    assert asked == ["--quiet update", f"{install} chromium", f"{install} pst-utils"]
    assert said == "ci: the tests need chromium pst-utils: installing them\n"


def test_where_nothing_can_be_installed_the_packages_are_named(tmp_path: Path) -> None:
    asked, said = programs(tmp_path / "user", [], user=1000)
    assert (asked, "run as root: apt-get install gcc libc6-dev chromium git" in said) == ([], True)
    asked, said = programs(tmp_path / "offline", [], apt="exit 100")
    assert "ci: apt-get could not install gcc libc6-dev chromium git" in said


@pytest.mark.parametrize("ci", ["", "true"])
def test_a_skip_fails_in_ci_unless_it_is_allowed(tmp_path: Path, ci: str) -> None:
    (tmp_path / "test_sample.py").write_text(SAMPLE)
    command = [*PYTEST, "--rootdir", str(tmp_path), "-p", "tests.kit.skips"]
    environment = {**os.environ, "CI": ci, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", "-rs", str(tmp_path)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    counts = "1 failed, 1 skipped, 1 xfailed" if ci else "2 skipped, 1 xfailed"
    assert counts in done.stdout, done.stdout
    assert ("the extra is not installed: .ci/run installs what tests need" in done.stdout) is bool(ci)
    assert done.returncode == bool(ci)


def test_every_allowed_skip_has_a_reason() -> None:
    assert all(len(why) > 20 for why in ALLOWED.values())


def test_tests_that_run_in_the_background_can_interrupt_what_they_start(tmp_path: Path) -> None:
    """A shell that is no terminal's ignores SIGINT for what it runs with `&`."""
    own = f"{Path(__file__).with_name('flows')}/terminal/test_interrupted.py"
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "--basetemp", str(tmp_path), own]
    script = f"trap '' INT; exec {shlex.join(command)}"
    done = subprocess.run(["sh", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_runs_verbs_and_scripts_that_exist_with_a_bound_and_few_rights(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    verbs = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert "uses" in job or job["timeout-minutes"] <= 90, name
        for run in [step["run"] for step in job.get("steps", ()) if "run" in step]:
            assert set(re.findall(r"\bmake ([a-z-]+)", run)) <= verbs, run
            assert all((ROOT / script).exists() for script in re.findall(r"^\.ci/\w+", run)), run


def test_workflows_test_every_python_of_the_classifiers_and_publish_only_a_tag_of_the_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pythons = {one.rpartition(" ")[2] for one in project["classifiers"] if "Python :: 3." in one}
    ci, release = (yaml.safe_load(path.read_text(encoding="utf-8")) for path in WORKFLOWS)
    assert {*ci["jobs"]["test"]["strategy"]["matrix"]["python"]} == pythons
    check = release["jobs"]["version"]["steps"][1]["run"]
    for tag, status in ((f"v{project['version']}", 0), ("v9.9.9", 1)):
        done = subprocess.run(["bash", "-c", check], cwd=ROOT, env={**os.environ, "GITHUB_REF_NAME": tag}, check=False)
        assert done.returncode == status, tag


def test_a_test_that_starts_a_process_is_none_of_the_fast_ones() -> None:
    def parses() -> None:
        Pool(Limits(workers=1)).close()

    assert starts(test_tests_that_run_in_the_background_can_interrupt_what_they_start)
    assert starts(test_programs_are_installed_where_they_lack_and_only_there), "by a function that it calls"
    assert starts(parses), "by a class of docmill"
    assert not starts(test_a_workflow_runs_verbs_and_scripts_that_exist_with_a_bound_and_few_rights)
