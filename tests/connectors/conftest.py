"""Fixtures of the tests of connectors."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kit.workbench import Workbench


@pytest.fixture
def bench(tmp_path: Path, fake_model: str) -> Callable[..., Workbench]:  # noqa: ARG001  the store's model
    """Return a function that makes a bench whose settings have these tables `[source.NAME]`."""

    def made(**tables: object) -> Workbench:
        return Workbench(tmp_path / "bench", {"source": tables})

    return made
