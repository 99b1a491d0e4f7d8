"""What `docmill schedule` is called where Prefect keeps it, and that no two are called the same."""

from pathlib import Path

import pytest

from docmill.flows.prefect.scheduled_runs import alone, deployment_name
from docmill.storage.errors import Locked


def test_a_deployment_is_of_one_store_and_its_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = deployment_name(Path("a store"), ["docs"])
    assert name.startswith("serve-a-store-")
    assert deployment_name(tmp_path / "a store", ["docs"]) == name
    assert name not in (
        deployment_name(Path("b/a store"), ["docs"]),
        deployment_name(Path("a store"), ["docs", "more"]),
    )


def test_what_is_served_already_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    with (
        alone("serve-a"),
        alone("serve-b"),
        pytest.raises(Locked, match="as ingest/serve-a; stop it"),
        alone("serve-a"),
    ):
        pass
    with alone("serve-a"):
        pass
