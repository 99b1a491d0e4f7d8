"""Whatever happened to the files: ingesting twice is ingesting once, and the way there leaves no trace."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from docmill.storage.snapshots.clean.verify import verify
from tests.kit.drawing import examples
from tests.kit.workbench import Workbench, summary

pytestmark = pytest.mark.usefixtures("fake_model")

_WORDS = st.text("abc äß雪🙂.,#-|\n", min_size=1, max_size=12)
TEXT = st.lists(_WORDS, min_size=1, max_size=40).map(" ".join).filter(str.strip)
NAMES = st.sampled_from(["a.md", "b.md", "c.txt", "d/e.md", "d/f.txt", "g.csv"])


@pytest.mark.slow
@examples(15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=st.dictionaries(NAMES, TEXT, min_size=1))
def test_ingesting_twice_is_ingesting_once(tmp_path_factory: pytest.TempPathFactory, files: dict[str, str]) -> None:
    bench = Workbench(tmp_path_factory.mktemp("twice"))
    bench.write(dict(files))
    first = bench.ingest()
    once = bench.files("chunks"), bench.files("documents")
    second = bench.ingest()
    assert (second.snapshot, second.parsed, second.embedded) == (None, 0, 0)
    assert second.documents.unchanged == first.documents.added
    assert (bench.files("chunks"), bench.files("documents")) == once
    for chunk in bench.chunks():
        assert bench.store.document(chunk.uri).text[chunk.start_char : chunk.end_char] == chunk.text


class Changes(RuleBasedStateMachine):
    """Files come, change, move and go; after each run the store is as if it had seen only the last state."""

    folder: Path
    number = 0

    @initialize(text=TEXT)
    def begin(self, text: str) -> None:
        type(self).number += 1
        self.bench = Workbench(self.folder / str(self.number))
        self.bench.write({"always.md": text})

    @rule(name=NAMES, text=TEXT)
    def write(self, name: str, text: str) -> None:
        self.bench.write({name: text})

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        (self.bench.docs / name).unlink(missing_ok=True)

    @rule(name=NAMES, target_name=NAMES)
    def rename(self, name: str, target_name: str) -> None:
        if (self.bench.docs / name).exists() and name != target_name:
            (self.bench.docs / target_name).parent.mkdir(exist_ok=True)
            (self.bench.docs / name).replace(self.bench.docs / target_name)

    @rule(name=NAMES)
    def touch(self, name: str) -> None:
        if (self.bench.docs / name).exists():
            os.utime(self.bench.docs / name, (1_600_000_000, 1_600_000_000))

    @rule()
    def ingest(self) -> None:
        self.bench.ingest(allow_delete=True)
        assert verify(self.bench.root, deep=True) == []
        again = self.bench.ingest(dry_run=True)
        assert set(summary(again)) <= {"unchanged", "rejected", "stale"}

    @invariant()
    def the_snapshot_is_that_of_a_clean_build(self) -> None:
        if not hasattr(self, "bench") or not self.bench.root.exists():
            return
        self.ingest()
        clean = Workbench(self.bench.folder / "clean")
        shutil.rmtree(clean.folder, ignore_errors=True)
        shutil.copytree(self.bench.docs, clean.docs)
        clean.ingest()
        good = {row["uri"] for row in self.bench.store.sql("SELECT uri FROM documents WHERE status = 'ok'").to_pylist()}
        assert [c for c in self.bench.chunks() if c.uri in good] == clean.chunks()


@pytest.mark.slow
@pytest.mark.hypothesis
def test_the_way_to_a_state_leaves_no_trace(tmp_path: Path) -> None:
    Changes.folder = tmp_path
    run_state_machine_as_test(Changes, settings=examples(6, stateful_step_count=12))
