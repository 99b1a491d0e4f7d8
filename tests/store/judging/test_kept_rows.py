"""Kept rows: a damaged file next to the snapshots is found and set aside, and one that cannot be written is told."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from docmill.storage.errors import StoreError
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.snapshots.clean.repair import repair
from docmill.storage.snapshots.clean.verify import KEPT_ROWS, KeptRows, verify
from docmill.storage.snapshots.history import row_files
from tests.kit.workbench import MakeBench

pytestmark = pytest.mark.usefixtures("fake_model")


def never(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    raise AssertionError(f"nothing is to be embedded: {texts}")


@pytest.mark.parametrize("kept", KEPT_ROWS, ids=lambda kept: kept.kind)
def test_a_damaged_file_is_found_and_set_aside(make_bench: MakeBench, kept: KeptRows) -> None:
    bench = make_bench({"a.md": "# A\n\nThe mill.\n"})
    path = bench.root / kept.kind / "0123.parquet"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"PAR1")
    (found,) = verify(bench.root)
    assert (found.kind, "0123.parquet" in found.message, kept.what in found.message) == (kept.kind, True, True)
    assert any(kept.what in line for line in repair(bench.root, never).done)
    assert (path.exists(), verify(bench.root)) == (False, [])


def test_rows_that_cannot_be_written_are_told(make_bench: MakeBench) -> None:
    bench = make_bench({"a.md": "# A\n\nThe mill.\n"})
    (bench.root / "blocked").write_text("a file where a folder has to be")
    with pytest.raises(StoreError, match=r"the judgement cannot be kept in .*blocked"):
        row_files.keep(open_folder(bench.root), bench.root / "blocked" / "1.parquet", b"rows", "the judgement")
