"""Who reaches a cluster: certificates on every way, and on one machine those of its user alone."""

import asyncio
import os
import socket
import ssl
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.x509 import load_pem_x509_certificate
from distributed.comm.core import CommClosedError
from distributed.core import rpc

from docmill.flows.cluster.cluster import secured
from docmill.flows.cluster.dask_cluster import scheduler, security_of
from docmill.flows.config.settings import ClusterSettings
from docmill.flows.deploy.project_files import project_files
from docmill.storage.errors import ConfigError
from tests.kit.faults.machines import free_port, wait_for


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("tcp://10.0.0.5:8786", "plain TCP"),
        ("tcp://127.0.0.1:8786", "including other users of the machine"),
        ("tls://10.0.0.5:8786", "cluster.tls_ca, cluster.tls_cert, cluster.tls_key"),
        ("10.0.0.5:8786", "tcp://HOST:PORT"),
        ("", "tcp://HOST:PORT"),
    ],
)
def test_an_address_that_is_not_safe_is_refused(address: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        secured(ClusterSettings(address=address))


def test_plain_tcp_is_taken_where_the_settings_say_so() -> None:
    for address in ("tcp://127.0.0.1:8786", "tcp://10.0.0.5:8786"):
        assert secured(ClusterSettings(address=address, insecure=True)).tls_key == ""


def test_on_loopback_a_user_needs_no_certificates_of_an_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    chosen = ClusterSettings(address="tls://127.0.0.1:8786")
    own = Path(secured(chosen).tls_key)
    assert own.is_relative_to(tmp_path)
    assert [oct(one.stat().st_mode & 0o777) for one in (own, own.parent)] == ["0o600", "0o700"]
    key = own.read_bytes()
    assert Path(secured(chosen).tls_ca).read_bytes() == key, "the same for all commands"
    own.chmod(0o644)
    assert Path(secured(chosen).tls_cert).read_bytes() != key, "others may have read it"
    with pytest.raises(ConfigError, match=r"cluster\.tls_ca, cluster\.tls_key"):
        secured(chosen.model_copy(update={"tls_cert": str(own)}))


def test_another_user_of_the_machine_runs_no_code_on_a_local_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    chosen = ClusterSettings(address=f"tls://127.0.0.1:{port}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))
    process = scheduler(chosen)
    try:
        wait_for(port)
        own = security_of(secured(chosen)).get_connection_args("client")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
        for pem in ("", secured(chosen).tls_key):
            with pytest.raises(ssl.SSLError, match="alert"):
                told(port, pem)
        with pytest.raises((OSError, CommClosedError)):
            asyncio.run(asked(f"tcp://127.0.0.1:{port}", {}))
        assert asyncio.run(asked(chosen.address, own))["type"] == "Scheduler"
    finally:
        process.terminate()
        process.wait()


def test_a_project_has_a_certificate_by_which_its_containers_know_each_other(tmp_path: Path) -> None:
    pems = []
    for name in ("own", "other"):
        made, pem = project_files(tmp_path, "", docker=True), tmp_path / f"{name}.pem"
        lines = dict(line.split("=", 1) for line in made[".env"].splitlines() if not line.startswith("#"))
        joining = yaml.safe_load(made["compose.yaml"])["x-join"]
        command = [one.replace("$$", "$").replace("/tmp/cluster.pem", str(pem)) for one in joining]
        environment = {**os.environ, "CLUSTER_PEM": lines["CLUSTER_PEM"]}
        done = subprocess.run([*command, "echo", "begun"], env=environment, capture_output=True, text=True, check=True)
        assert (done.stdout, oct(pem.stat().st_mode & 0o777)) == ("begun\n", "0o600")
        pems.append(pem)
    ends = load_pem_x509_certificate(pems[0].read_bytes()).not_valid_after_utc
    assert ends - datetime.now(UTC) > timedelta(days=9 * 365), "nothing renews it"
    port = free_port()
    file = str(pems[0])
    own = ClusterSettings(address=f"tls://localhost:{port}", tls_ca=file, tls_cert=file, tls_key=file)
    process = scheduler(own)
    try:
        wait_for(port)
        assert asyncio.run(asked(own.address, security_of(own).get_connection_args("client")))["type"] == "Scheduler"
        for other in ("", str(pems[1])):
            with pytest.raises(ssl.SSLError, match="alert"):
                told(port, other)
    finally:
        process.terminate()
        process.wait()


def told(port: int, pem: str) -> bytes:
    """Return what a scheduler says to a client that trusts it, with a certificate of its own or with none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if pem:
        context.load_cert_chain(pem)
    with socket.create_connection(("127.0.0.1", port), 60) as plain, context.wrap_socket(plain) as own:
        return own.recv(1)


async def asked(address: str, how: dict[str, Any]) -> dict[str, Any]:
    """Return how a scheduler describes itself to a client with these certificates."""
    connect: Any = rpc
    async with connect(address, connection_args=how, timeout=20) as scheduler:
        found: dict[str, Any] = await scheduler.identity()
        return found
