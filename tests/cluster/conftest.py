"""The machines of the tests: one cluster for all tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.faults.cluster_runs import new_bench
from tests.kit.faults.machines import Machines, machines
from tests.kit.remote_bench import make_bucket
from tests.kit.workbench import Workbench


@pytest.fixture(scope="package")  # it takes a tenth of a processor while it waits
def cluster(
    tmp_path_factory: pytest.TempPathFactory,
    token_counts_folder: Path,
    object_store_environment: dict[str, str],
) -> Iterator[Machines]:
    """Run a scheduler and two workers that share nothing with the driver but a bucket; `two` has a GPU by its label."""
    folder = tmp_path_factory.mktemp("machines")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in object_store_environment.items():
            patch.setenv(name, value)
        make_bucket("freight")
        with machines(folder, token_counts_folder, {"one": "", "two": "GPU=1"}, object_store_environment) as found:
            yield found


@pytest.fixture
def bench(tmp_path: Path, fake_model: str) -> Workbench:
    """Return a bench with some 150 documents; the fake model is known."""
    assert fake_model
    return new_bench(tmp_path)
