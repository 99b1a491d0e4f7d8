"""Skips: with `CI` set, a test that is skipped fails, unless the reason is allowed here."""

import os
import re
import sys
from collections.abc import Generator
from typing import TypeVar

import pytest

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

LINUX = "needs Linux"
ALLOWED = {
    r"dbt-duckdb is not installed": "its models also run in plain DuckDB; it asks for older packages than docmill",
    r"needs a user namespace": "a container may forbid namespaces, and no program that is installed changes that",
    r"unstructured needs the package pdfminer": "another reader of PDFs, whose package docmill does not bring",
    LINUX: "another system has no such thing to test",
}
"""Beginnings of reasons, as regular expressions, and why a machine of CI may lack what they ask for."""


def on_linux(why: str) -> pytest.MarkDecorator:
    """Return the mark of a test that other systems skip."""
    return pytest.mark.skipif(sys.platform != "linux", reason=f"{LINUX}: {why}")


def is_ci() -> bool:
    """Return whether the variable `CI` is set, as services for continuous integration set it."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def must_run(reason: str) -> bool:
    """Return whether a skip for this reason is a failure."""
    return is_ci() and not any(re.match(f"(Skipped: )?{allowed}", reason) for allowed in ALLOWED)


def _judged(report: Report) -> Report:
    if report.outcome == "skipped" and not hasattr(report, "wasxfail"):
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if must_run(reason):
            report.outcome = "failed"
            report.longrepr = f"{reason}: .ci/run installs what tests need; tests/kit/skips.py lists allowed skips"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a skipped test fail; one that is expected to fail (`xfail`) is not skipped."""
    return _judged((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Let a skipped module fail."""
    return _judged((yield))
