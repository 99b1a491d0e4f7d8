"""Nothing phones home: no program of docmill looks up or reaches another host, or writes outside store, cache and temp.

The environment is that of a user who has set nothing, and whose libraries may report their use.
"""

import os
import shutil
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from docmill.storage.process.no_telemetry import SWITCHES, switch_telemetry_off
from tests.bench.installing.network import capable
from tests.kit import fake_encoder
from tests.kit.house import ROOT, distributions_of_modules
from tests.kit.tracing import Trace, plain_environment, traced

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
ADAPTERS = {"haystack": "haystack", "langchain": "langchain", "llama-index": "llama_index"}
DOCMILL = [sys.executable, "-m", "tests.kit.docmill_with_fake_model"]
UNKNOWN = "def half(x):\n    return x / 2\n\n\nclass Thing:\n    size = half(3)\n"  # its name does not tell what it is
SERVED = """
import subprocess, sys, time
from urllib.request import urlopen
with subprocess.Popen([*sys.argv[1:], "serve", "--store", "store", "--port", "0"], stderr=subprocess.PIPE) as server:
    url = server.stderr.readline().decode().split(" at ")[1].strip()
    print(urlopen(url).status)
    server.terminate()
"""
ON_DASK = """
import socket, subprocess, sys, time
with socket.create_server(("127.0.0.1", 0)) as probe:
    port = probe.getsockname()[1]
def listens():
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0
cluster = subprocess.Popen([*sys.argv[1:], "cluster", "up", "--local", "1", "--port", str(port)])
while not listens():
    time.sleep(0.1)
where = ["--engine", "dask", "--set", f"cluster.address=tls://127.0.0.1:{port}", "--set", "cluster.freight=freight"]
done = subprocess.run([*sys.argv[1:], "ingest", "docs", "--store", "store", *where])
cluster.terminate()
cluster.wait()
sys.exit(done.returncode)
"""

KEYS = ("COHERE_API_KEY", "GEMINI_API_KEY", "VOYAGE_API_KEY")
BY_LITELLM = """
from pathlib import Path
Path(".env").write_text("DOCMILL_EMBEDDING__REVISION=read")
from docmill.flows.config.settings import Settings
from docmill.storage.search.encode.encoder import load_encoder
from tests.kit.model_server import model_server
with model_server() as server:
    places = {"cohere/a": "/v2/embed", "voyage/a": "/v1/embeddings", "hosted_vllm/a": "/v1", "gemini/a": ""}
    for model, place in places.items():
        own = {"model": "litellm:" + model, "base_url": server.url + place}
        encoder = load_encoder(Settings(embedding=own).embedding.where()[0])
        encoder.encode(["half"])
        encoder.encode_query("half")
    assert server.embedded["half"] == 8
import os
assert "DOCMILL_EMBEDDING__REVISION" not in os.environ
"""


@pytest.fixture
def run(tmp_path: Path, token_counts_folder: Path) -> Callable[..., Trace]:
    """Return a function that traces a program in a folder with documents, for a user who has set nothing."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "half").write_text(UNKNOWN)
    for path in sorted((ROOT / "tests" / "golden").glob("*/*.*")):
        if path.suffix in (".csv", ".docx", ".html", ".md", ".org", ".pdf"):
            shutil.copy(path, docs / path.name)
    there = {
        "PYTHONPATH": str(ROOT),
        "DOCMILL_EMBEDDING__MODEL": fake_encoder.NAME,
        "DASK_DISTRIBUTED__WORKER__PRELOAD": "tests.kit.faults.cluster_worker",
        "TEST_OF_MODEL": str(token_counts_folder),
    }
    environment = plain_environment(tmp_path / "home", **there)

    def trace(*command: str, **more: str) -> Trace:
        return traced(command, tmp_path, environment | more)

    return trace


def check(trace: Trace, folder: Path) -> None:
    assert trace.status == 0, trace.output
    assert trace.reached == ()
    own = (folder / "store", folder / "freight", folder / "home" / ".cache" / "docmill", folder / "home" / "temp")
    assert trace.outside(*own) == set()


@pytest.mark.slow
def test_ingest_search_and_serve_reach_nobody(
    run: Callable[..., Trace], token_counts_folder: Path, tmp_path: Path
) -> None:
    own = [*DOCMILL, str(token_counts_folder)]
    check(run(*own, "ingest", "docs", "--store", "store"), tmp_path)
    check(run(*own, "search", "half of a thing", "--store", "store"), tmp_path)
    check(run(sys.executable, "-c", SERVED, *own), tmp_path)


@pytest.mark.slow
def test_the_library_and_the_real_model_reach_nobody(run: Callable[..., Trace], tmp_path: Path) -> None:
    code = "import docmill; docmill.ingest('docs/half', store='store'); docmill.open_store('store').search('half', k=1)"
    check(run(sys.executable, "-c", code, DOCMILL_EMBEDDING__MODEL=""), tmp_path)


@pytest.mark.slow
def test_litellm_reaches_the_server_of_the_model_alone(run: Callable[..., Trace], tmp_path: Path) -> None:
    pytest.importorskip("litellm", reason="the extra litellm is not installed")
    trace = run(sys.executable, "-c", BY_LITELLM, **dict.fromkeys(KEYS, "none"))
    assert (trace.status, trace.reached) == (0, ()), trace.output
    assert trace.outside(tmp_path / "home" / ".cache" / "docmill", tmp_path / "home" / "temp") == {
        str(tmp_path / ".env")
    }


@pytest.mark.flow
def test_the_prefect_engine_reaches_nobody(
    run: Callable[..., Trace], token_counts_folder: Path, tmp_path: Path, created_home: Path
) -> None:
    cache = tmp_path / "home" / ".cache" / "docmill"
    cache.mkdir(parents=True)
    created_home.rename(cache / "prefect")
    own = [*DOCMILL, str(token_counts_folder), "ingest", "docs/half", "--store", "store", "--engine", "prefect"]
    check(run(*own), tmp_path)


@pytest.mark.slow
def test_a_dask_worker_reaches_nobody(run: Callable[..., Trace], token_counts_folder: Path, tmp_path: Path) -> None:
    check(run(sys.executable, "-c", ON_DASK, *DOCMILL, str(token_counts_folder)), tmp_path)


def test_extras_reach_nobody_while_they_are_imported(run: Callable[..., Trace], tmp_path: Path) -> None:
    modules = {f"docmill.adapters.{adapter}" for adapter in ADAPTERS.values()}
    givers_of = {module: {*map(canonicalize_name, givers)} for module, givers in distributions_of_modules().items()}
    for extra in {*EXTRAS} - {"all", "litellm"}:  # litellm, a third of the time, is imported and used above
        wanted = {canonicalize_name(Requirement(one).name) for one in EXTRAS[extra]}
        own = {module for module, givers in givers_of.items() if givers & wanted and module[0] != "_"}
        assert own, extra
        modules |= own
    check(run(sys.executable, "-c", f"import docmill, {', '.join(sorted(modules))}"), tmp_path)


@pytest.mark.parametrize(
    "code",
    [
        "import socket; socket.getaddrinfo('example.invalid', 80)",
        "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))",
        "import socket; socket.socket(socket.AF_INET6).connect_ex(('2001:db8::1', 9))",
        "import threading, ctypes; threading.Thread(target=ctypes.CDLL(None).gethostbyname, args=(b'a.test',)).start()",
    ],
)
def test_a_program_that_reaches_out_is_caught(code: str, run: Callable[..., Trace]) -> None:
    assert run(sys.executable, "-c", code).reached


def test_a_program_that_writes_elsewhere_is_caught(run: Callable[..., Trace], tmp_path: Path) -> None:
    code = "import os; open('id', 'w'); open('home/temp/draft', 'w'); os.link('id', 'other')"
    trace = run(sys.executable, "-c", code)
    assert trace.outside(tmp_path / "home" / "temp") == {str(tmp_path / "id"), str(tmp_path / "other")}


def test_onnxruntime_without_its_switch_is_caught(run: Callable[..., Trace], tmp_path: Path) -> None:
    trace = run(sys.executable, "-c", "import onnxruntime")
    assert any("onnxruntime" in path for path in trace.outside(tmp_path / "home" / "temp"))
    check(run(sys.executable, "-c", "import docmill, onnxruntime"), tmp_path)


def test_a_package_that_can_reach_out_is_found(tmp_path: Path) -> None:
    own = tmp_path / "mill-1.0.dist-info"
    own.mkdir()
    files = {
        "mill/calls.py": b"def call():\n    import urllib.request\n",
        "mill/looks.cpython-311-x86_64-linux-gnu.so": b"\x7fELF\0getaddrinfo\0telemetry",
        "mill/plain.py": b"import json\n",
        "mill/tests/calls.py": b"import socket\n",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (own / "RECORD").write_text("".join(f"{name},,\n" for name in files))
    found = {path.name for path in capable(PathDistribution(own))}
    assert found == {"calls.py", "looks.cpython-311-x86_64-linux-gnu.so"}


def test_a_switch_that_the_user_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SWITCHES:
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "true")
    switch_telemetry_off()
    assert {name: os.environ[name] for name in SWITCHES} == {**SWITCHES, "HAYSTACK_TELEMETRY_ENABLED": "true"}
