"""Fixtures that several tests ask for by name."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.server import embedded_server
from storage import encoder, space
from tests import fake_encoder


@pytest.fixture(scope="session")
def token_counts_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the files of the fake model."""
    return fake_encoder.write_model(tmp_path_factory.mktemp("models") / fake_encoder.NAME)


@pytest.fixture
def fake_model(monkeypatch: pytest.MonkeyPatch, token_counts_folder: Path) -> str:
    """Make the fake model known in this process, and return its name."""
    monkeypatch.setitem(space.FOLDERS, fake_encoder.NAME, lambda: token_counts_folder)
    monkeypatch.setitem(encoder.LOADERS, fake_encoder.NAME, fake_encoder.TokenCounts)
    return fake_encoder.NAME


@pytest.fixture(scope="session")
def prefect_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run one Prefect server for the session, with a home of its own, and return the URL of its API."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("PREFECT_")]:
            patch.delenv(name)
        patch.setenv("PREFECT_HOME", str(tmp_path_factory.mktemp("prefect home")))
        with embedded_server() as url:
            yield url
