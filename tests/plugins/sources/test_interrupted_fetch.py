"""Ctrl-C ends a run although a plugin is still fetching."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.kit.house import ROOT
from tests.plugins.distributions import write_distribution

CODE = """
import pathlib, time
from docmill.plugins import SourceItem, SourceListing, SourceSettings

class Slow:
    version = 1
    settings = SourceSettings

    def open(self, settings):
        return self

    def list(self, checkpoint):
        return SourceListing([SourceItem(f"{number}.md", "1") for number in range(40)])

    def fetch(self, item):
        pathlib.Path("begun").touch()
        time.sleep(60)

    def link(self, item):
        return ""
"""


def test_a_run_that_fetches_is_ended_by_ctrl_c(tmp_path: Path) -> None:
    site = write_distribution(tmp_path / "site", "slow", {"sources/slow": "slow_plugin:Slow"}, {"slow_plugin": CODE})
    command = [sys.executable, "-m", "docmill.flows.cli.app", "ingest", "slow://one", "--engine", "local"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (site, ROOT)))}
    run = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "begun").exists() and run.poll() is None:
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=30)  # the fetch goes on for a minute
    assert run.returncode == 128 + signal.SIGINT
    assert "docmill: stopped; kept: nothing yet" in said
