"""Prefect server settings: those of every Prefect server that docmill starts or writes a project for."""

from docmill.storage.process.no_telemetry import SWITCHES

SERVER_SETTINGS = {
    **{name: SWITCHES[name] for name in ("DO_NOT_TRACK", "PREFECT_SERVER_ANALYTICS_ENABLED")},
    "PREFECT_SERVER_UI_V2_ENABLED": "false",  # this UI calls an analytics host from the browser
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    # Without this, a restart leaks the slot of a deployment's concurrency limit.
    "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
}
HOSTS = ("127.0.0.1", "localhost")
"""Host names that a request may use for a server on loopback."""
ORIGINS_VARIABLE = "PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS"


def own_origins(port: int) -> str:
    """Return the origins whose pages may call a server on loopback: its own. Prefect's default is all."""
    return ",".join(f"http://{name}:{port}" for name in HOSTS)
