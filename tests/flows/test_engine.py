"""Which engine runs the steps, and how the threads of this process run them."""

import sys
from pathlib import Path

import pytest

from docmill.flows.runs.engine import LocalEngine, choose_engine, configured_api
from docmill.flows.runs.phases import PARSE, Phase

API = "http://127.0.0.1:4200/api"
PROFILES = f'active = "ours"\n[profiles.ours]\nPREFECT_API_URL = "{API}"\n[profiles.other]\n'


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("PREFECT_API_URL", "PREFECT_PROFILE", "PREFECT_PROFILES_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    monkeypatch.delitem(sys.modules, "prefect", raising=False)
    monkeypatch.chdir(tmp_path)


def test_auto_takes_local_where_no_api_is_configured() -> None:
    assert choose_engine("auto") == "local"
    assert configured_api() is None
    assert "prefect" not in sys.modules


@pytest.mark.parametrize("wanted", ["local", "prefect"])
def test_a_named_engine_is_taken(wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_API_URL", API)
    assert choose_engine(wanted) == wanted


def test_auto_takes_prefect_where_the_environment_has_an_api(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_API_URL", API)
    assert (choose_engine("auto"), configured_api()) == ("prefect", API)


def test_auto_takes_prefect_where_the_active_profile_has_an_api(tmp_path: Path) -> None:
    (tmp_path / "profiles.toml").write_text(PROFILES)
    assert (choose_engine("auto"), configured_api()) == ("prefect", API)


def test_the_environment_names_the_active_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "profiles.toml").write_text(PROFILES)
    monkeypatch.setenv("PREFECT_PROFILE", "other")
    assert choose_engine("auto") == "local"


@pytest.mark.parametrize(
    ("name", "text"),
    [("prefect.toml", f'[api]\nurl = "{API}"\n'), ("pyproject.toml", f'[tool.prefect.api]\nurl = "{API}"\n')],
)
def test_auto_takes_prefect_where_a_file_of_the_project_has_an_api(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert configured_api() == API


def test_a_damaged_profile_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "profiles.toml").write_text("active = ")
    assert choose_engine("auto") == "local"


def test_a_local_step_gives_its_result_or_raises_what_it_raised() -> None:
    with LocalEngine() as engine:
        assert engine.submit(divmod, 7, 2).result() == (3, 1)
        with pytest.raises(ZeroDivisionError):
            engine.submit(divmod, 7, 0).result()


def test_the_local_engine_passes_progress_on() -> None:
    heard: list[Phase] = []
    with LocalEngine(heard.append) as engine:
        engine.progress(Phase(PARSE, 64, 100, "documents", 4.0))
    assert heard == [Phase(PARSE, 64, 100, "documents", 4.0)]
    assert (heard[0].seconds_left, heard[0].percent) == (9.0, 6.4)
