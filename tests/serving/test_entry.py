"""The way in: who gets into a server that a command has started, and who does not."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from docmill.flows.serving.access import chosen_token
from docmill.storage.errors import ConfigError
from tests.kit.workbench import MakeBench, Workbench

TOKEN = "0123456789abcdef"

pytestmark = pytest.mark.usefixtures("warm_path")


@pytest.fixture(scope="module")
def bench(make_bench: MakeBench) -> Workbench:
    return make_bench({"git.md": "# Undo\n\nTo undo a commit, reset the branch.\n"})


@contextmanager
def started(model: Path, *arguments: str) -> Iterator[str]:
    """Run a command that serves; give the line by which it says where."""
    command = ["docmill_with_fake_model", str(model), *arguments, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        try:
            yield next(line for line in process.stderr if "http://" in line)
        finally:
            process.terminate()
            process.stderr.close()


def status(url: str, path: str, token: str = "") -> int:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.get(f"{url}{path}", headers=headers, timeout=60, trust_env=False).status_code


@pytest.mark.slow
def test_each_start_has_a_token_of_its_own(bench: Workbench, token_counts_folder: Path) -> None:
    with (
        started(token_counts_folder, "serve", str(bench.root)) as page,
        started(token_counts_folder, "mcp", str(bench.root), "--http") as tools,
    ):
        [(url, own)] = re.findall(r"(http://\S+)/#token=([0-9a-f]{32})", page)
        [(mcp, other)] = re.findall(r"(http://\S+)/mcp; .* Authorization: Bearer ([0-9a-f]{32})", tools)
        assert own != other
        for path in ("/status", "/metrics", "/documents", "/newest", "/openapi.json"):
            assert [status(url, path, one) for one in ("", other, own)] == [401, 401, 200], path
        assert [status(mcp, "/mcp", one) for one in ("", own)] == [401, 401]
        assert [status(one, "/healthz") for one in (url, mcp)] == [200, 404]
        assert status(url, "/") == 200, "the page itself holds nothing of the store"


@pytest.mark.slow
def test_a_token_of_the_environment_is_not_printed_and_none_can_be_wanted(
    bench: Workbench, token_counts_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with started(token_counts_folder, "serve", str(bench.root), "--no-token") as line:
        assert status(re.findall(r"http://\S+", line)[0], "/status") == 200
    monkeypatch.setenv("DOCMILL_TOKEN", TOKEN)
    with started(token_counts_folder, "serve", str(bench.root)) as line:
        assert TOKEN not in line
        url = re.findall(r"http://\S+", line)[0]
        assert [status(url, "/status"), status(url, "/status", TOKEN)] == [401, 200]
    with pytest.raises(ConfigError, match="DOCMILL_TOKEN is set"):
        chosen_token(no_token=True)
