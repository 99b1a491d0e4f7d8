"""What is said where Prefect's API should be and is not."""

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from docmill.flows.config.settings import Settings
from docmill.flows.prefect.prefect_run import run_prefect
from docmill.flows.prefect.prefect_server import environment
from docmill.flows.prefect.scheduled_runs import serve
from docmill.storage.errors import Transient

pytestmark = pytest.mark.flow  # Prefect's import takes seconds


@pytest.fixture
def another_server() -> Iterator[str]:
    """Serve what is not Prefect's, and return where its API would be."""
    server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/api"
    server.shutdown()
    server.server_close()


@pytest.fixture
def nobody(another_server: str) -> str:
    """Return an address at which nothing listens."""
    return re.sub(r":\d+/", ":1/", another_server)


@pytest.mark.parametrize("where", ["another_server", "nobody"])
def test_an_api_that_is_none_is_said_in_one_line(where: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    url = request.getfixturevalue(where)
    settings = Settings(store=tmp_path / "store")
    with environment({"PREFECT_HOME": str(tmp_path), "PREFECT_API_URL": url}):
        with pytest.raises(Transient, match=f"{url} cannot be used .*; start it, unset PREFECT_API_URL, or take"):
            run_prefect(settings, [str(tmp_path)])
        with pytest.raises(Transient, match=f"{url} cannot be used .*; start it, or unset PREFECT_API_URL"):
            serve(settings, [str(tmp_path)], "0 3 * * *")
    assert not settings.store.exists()
