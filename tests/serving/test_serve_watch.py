"""One command serves a store and keeps it up to date."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.kit.fake_encoder import NAME
from tests.kit.workbench import Workbench

PATIENCE_S = 90.0
ROOT = Path(__file__).parents[2]


def documents(url: str, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    answer = httpx.get(f"{url}/status", headers=headers, timeout=60, trust_env=False)
    return int(answer.json()["status"]["documents"]) if answer.is_success else 0


def until(url: str, token: str, count: int) -> None:
    end = time.monotonic() + PATIENCE_S
    while documents(url, token) != count:
        assert time.monotonic() < end
        time.sleep(0.2)


def children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(one) for one in found.read_text().split()] if found.exists() else []


def is_watch(pid: int) -> bool:
    try:
        return b"--parent" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux: it looks for the processes of a process")
@pytest.mark.parametrize("end", ["terminate", "kill"])
def test_a_store_is_made_served_and_kept_up_to_date(tmp_path: Path, token_counts_folder: Path, end: str) -> None:
    bench = Workbench(tmp_path / "bench")
    bench.write({"owl.md": "# Owl\n\nThe owl sings.\n"})
    (bench.folder / "docmill.toml").write_text(
        f'store = "store"\nsources = ["docs"]\nengine = "local"\n[embedding]\nmodel = "{NAME}"\n'
    )
    command = [sys.executable, "-m", "tests.kit.docmill_with_fake_model", str(token_counts_folder), "serve", "--watch"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [*command, "--port", "0"], cwd=bench.folder, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr
        line = next(line for line in process.stderr if "http://" in line)
        [(url, token)] = re.findall(r"(http://\S+)/#token=([0-9a-f]{32})", line)
        until(url, token, 1)
        bench.write({"tit.md": "# Tit\n\nThe tit sings.\n"})
        until(url, token, 2)
        watching = [one for one in children(process.pid) if is_watch(one)]
        assert len(watching) == 1
        getattr(process, end)()
        process.stderr.close()
    deadline = time.monotonic() + PATIENCE_S
    while any(map(is_watch, watching)):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_process_whose_parent_is_gone_ends_at_once() -> None:
    code = "from docmill.storage.process.child_process import die_with; die_with(1234567); print('alive')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
