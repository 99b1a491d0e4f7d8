"""A server in the background of a shell, where SIGINT is ignored, does not end at the Ctrl-C of another command."""

import signal
import subprocess
import sys
import time

import httpx

from tests.kit.house import ROOT

PROGRAM = """
import signal
from docmill.flows.serving.access import Access
from docmill.flows.serving.connections import listen

async def app(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

signal.signal(signal.SIGINT, signal.SIG_IGN)
listen(app, Access(port=0), lambda url: print(url, flush=True))
"""
TIMES = 20  # requests after the signal; a server that it ends takes no more of them after a tenth of a second


def test_an_ignored_interrupt_ends_no_server() -> None:
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        url = server.stdout.readline().strip()
        try:
            assert httpx.get(url, timeout=60, trust_env=False).status_code == 204
            server.send_signal(signal.SIGINT)
            for _ in range(TIMES):
                assert httpx.get(url, timeout=60, trust_env=False).status_code == 204
                time.sleep(0.05)
            assert server.poll() is None
        finally:
            server.terminate()
            server.wait(60)
