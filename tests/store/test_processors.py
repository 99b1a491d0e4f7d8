"""The number of processes follows what a container may use, not what its machine has."""

from pathlib import Path

import pytest

from docmill.storage.process.processors import _shares, processors


@pytest.mark.parametrize(
    ("files", "shares"),
    [
        ({"": "200000 100000"}, [2]),  # a container sees its own group as the root
        ({"": "50000 100000"}, [1]),
        ({"": "max 100000"}, []),
        ({}, []),
        ({"": "max 100000", "pods": "400000 100000", "pods/one": "250000 100000"}, [3, 4]),
        ({"": "what"}, []),
    ],
)
def test_the_share_of_a_container_and_of_what_it_is_in(
    tmp_path: Path, files: dict[str, str], shares: list[int]
) -> None:
    for name, text in files.items():
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / name / "cpu.max").write_text(f"{text}\n")
    own = tmp_path / "cgroup"
    own.write_text(f"12:cpu:/other\n0::/{'pods/one' if 'pods/one' in files else ''}\n")
    assert _shares(tmp_path, own) == shares


def test_without_control_groups_the_system_says_how_many(tmp_path: Path) -> None:
    assert _shares(tmp_path, tmp_path / "none") == []
    assert processors() >= 1
