"""The machines of the tests: one cluster for all tests of this folder."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.kit.faults.cluster_runs import new_bench
from tests.kit.faults.machines import Machines, machines
from tests.kit.remote_bench import make_bucket
from tests.kit.workbench import Workbench

_HERE = Path(__file__).parent
_RUNNING: list[Machines] = []
_ENDING = ExitStack()


@pytest.fixture
def cluster(
    tmp_path_factory: pytest.TempPathFactory,
    token_counts_folder: Path,
    object_store_environment: dict[str, str],
) -> Machines:
    """Return a scheduler and two workers that share nothing with the driver but a bucket; `two` has a GPU by its label.

    They run until the next test is of another folder: they take a tenth of a processor while they wait, and the scope
    "package" would last as long as the session where no folder has an `__init__.py`.
    """
    if not _RUNNING:
        patch = _ENDING.enter_context(pytest.MonkeyPatch.context())
        for name, value in object_store_environment.items():
            patch.setenv(name, value)
        make_bucket("freight")
        labels = {"one": "", "two": "GPU=1"}
        made = machines(tmp_path_factory.mktemp("machines"), token_counts_folder, labels, object_store_environment)
        _RUNNING.append(_ENDING.enter_context(made))
    return _RUNNING[0]


@pytest.hookimpl(trylast=True)  # after the fixtures of the test
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """End the cluster after the last test of this folder."""
    if nextitem is None or _HERE not in nextitem.path.parents:
        _RUNNING.clear()
        _ENDING.close()


@pytest.fixture
def bench(tmp_path: Path, fake_model: str) -> Workbench:
    """Return a bench with some 150 documents; the fake model is known."""
    assert fake_model
    return new_bench(tmp_path)
