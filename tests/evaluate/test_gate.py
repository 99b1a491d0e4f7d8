"""The gate: what answers known questions worse does not become current, stays under a name, and can be published."""

import errno
import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.storage import failpoints
from docmill.storage.errors import ConfigError, QueryError, StoreError
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.snapshots.change import candidate_snapshots
from docmill.storage.snapshots.change.tagging import set_tag
from docmill.storage.snapshots.clean.compact import compact, vacuum
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.retention import Retention
from docmill.storage.snapshots.read.store import open_store
from docmill.storage.snapshots.write.current_folder import catch_up
from tests.kit.victim import Countdown
from tests.kit.workbench import Workbench, summary

pytestmark = pytest.mark.usefixtures("fake_model")
NAMES = ("seal", "lid", "hinge", "bolt", "gasket", "flange")


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    """Return a store behind a gate of six questions, and a source whose next state has lost their answers."""
    made = Workbench(tmp_path_factory.mktemp("laid"))
    made.write({f"{name}.md": f"# {name}\n\nThe {name} lies in box {i}.\n" for i, name in enumerate(NAMES)})
    rows = "".join(f"where is the {name},{name}.md,The {name} lies in box {i}.\n" for i, name in enumerate(NAMES))
    (made.folder / "q.csv").write_text("question,uri,phrase\n" + rows)
    made.settings = {"gate": {"questions": str(made.folder / "q.csv"), "metric": "RR"}}
    assert made.ingest().snapshot == 1
    return made


@pytest.fixture
def bench(laid: Workbench, tmp_path: Path) -> Workbench:
    return laid.copy(tmp_path)


def spoil(bench: Workbench) -> None:
    bench.write({f"{name}.md": f"# {name}\n\nNothing is said here any more.\n" for name in NAMES[:5]})
    bench.write({"new.md": "# News\n\nThe shop opens at nine.\n"})


def test_a_worse_snapshot_is_held_back_and_a_second_run_does_no_work(bench: Workbench) -> None:
    spoil(bench)
    report = bench.ingest()
    assert (report.snapshot, report.candidate, report.exit_status) == (None, "candidate-2", 4)
    assert report.gate is not None
    assert report.gate.change.verdict == "worse"
    assert report.gate.after < report.gate.before == 1.0
    assert snapshots.numbers(bench.root) == [1]
    assert bench.store.search("box", mode="keyword")
    assert verify(bench.root, deep=True) == []
    again = bench.ingest()
    assert (again.parsed, again.embedded, again.candidate) == (0, 0, "candidate-2")
    assert snapshots.candidates(bench.root) == ["candidate-2"]


def test_what_is_held_back_is_read_by_its_name(bench: Workbench) -> None:
    spoil(bench)
    bench.ingest()
    held = open_store(bench.root, "candidate-2")
    assert held.search("when does the shop open", k=1)[0].uri == "new.md"
    assert {row["uri"] for row in held.sql("SELECT uri FROM documents").to_pylist()} >= {"new.md"}
    with pytest.raises(QueryError, match="reserved for candidate snapshots; choose another"):
        set_tag(bench.root, "candidate-7")
    with pytest.raises(StoreError, match="candidate-2"):
        open_store(bench.root, "candidate-3")


def test_a_person_publishes_what_was_held_back(bench: Workbench) -> None:
    spoil(bench)
    bench.ingest()
    held = [(hit.text, hit.score) for hit in open_store(bench.root, "candidate-2").search("box of news")]
    made = candidate_snapshots.publish(bench.root, "candidate-2")
    assert made.number == 2
    assert [(hit.text, hit.score) for hit in bench.store.search("box of news")] == held
    assert snapshots.candidates(bench.root) == []
    assert verify(bench.root, deep=True) == []
    assert bench.store.sql("SELECT snapshot FROM runs").to_pylist() == [{"snapshot": 1}, {"snapshot": 2}]
    assert summary(bench.ingest()) == {"unchanged": 7}
    assert open_store(bench.root, 1).search("seal", mode="keyword", k=1)[0].text.endswith("lies in box 0.")


def test_a_better_run_passes_and_undoes_nothing(bench: Workbench) -> None:
    spoil(bench)
    bench.ingest()
    bench.write({f"{name}.md": f"# {name}\n\nThe {name} lies in box {i}.\n" for i, name in enumerate(NAMES)})
    report = bench.ingest()
    assert (report.snapshot, report.exit_status, summary(report)["added"]) == (2, 0, 1)
    assert verify(bench.root, deep=True) == []
    with pytest.raises(QueryError, match="snapshot 2 was committed after candidate-2"):
        candidate_snapshots.publish(bench.root, "candidate-2")
    made = candidate_snapshots.publish(bench.root, "candidate-2", force=True)
    assert made.number == 3
    assert verify(bench.root, deep=True) == []
    assert bench.store.sql("SELECT snapshot FROM runs").to_pylist() == [{"snapshot": n} for n in (1, 2, 3)]


def test_a_compaction_in_between_is_no_obstacle(bench: Workbench) -> None:
    spoil(bench)
    bench.ingest()
    set_tag(bench.root, "before")
    compact(bench.root, Retention())
    vacuum(bench.root, Retention(keep_snapshots=1))
    answers = [hit.text for hit in open_store(bench.root, "candidate-2").search("shop")]
    made = candidate_snapshots.publish(bench.root, "candidate-2")
    assert made.number == snapshots.numbers(bench.root)[-1]
    assert [hit.text for hit in bench.store.search("shop")] == answers
    assert verify(bench.root, deep=True) == []


def test_a_drop_within_bounds_passes(bench: Workbench) -> None:
    bench.settings["gate"]["max_drop"] = 0.9
    spoil(bench)
    report = bench.ingest()
    assert report.snapshot == 2
    assert report.gate is not None
    assert report.gate.change.verdict == "worse"


def test_candidates_are_given_up_by_hand_and_by_age(bench: Workbench) -> None:
    spoil(bench)
    bench.ingest()
    reader = open_store(bench.root, "candidate-2")
    bench.ingest()
    assert snapshots.candidates(bench.root) == ["candidate-2", "candidate-2-2"], "a reader keeps what it has open"
    assert reader.search("shop")
    del reader
    candidate_snapshots.discard(bench.root, "candidate-2-2")
    assert snapshots.candidates(bench.root) == ["candidate-2"]
    vacuum(bench.root, Retention(keep_days=0))
    assert snapshots.candidates(bench.root) == []
    assert verify(bench.root, deep=True) == []
    with pytest.raises(QueryError, match="there are none"):
        candidate_snapshots.publish(bench.root, "candidate-2")


@pytest.mark.parametrize("gate", [{"questions": "none.csv"}, {"metric": "sharpness"}])
def test_a_gate_that_cannot_be_asked_is_refused_before_any_work(bench: Workbench, gate: dict[str, str]) -> None:
    bench.settings["gate"] |= gate
    spoil(bench)
    with pytest.raises((ConfigError, QueryError)):
        bench.ingest()
    assert not list((bench.root / "staging").glob("*/batch-*"))


def test_a_question_that_the_gate_cannot_ask_is_named(bench: Workbench) -> None:
    own = bench.folder / "long.csv"
    own.write_text(f"question,uri\nwhere is the lid,lid.md\n{'where ' * 4000},lid.md\n")
    bench.settings["gate"]["questions"] = str(own)
    spoil(bench)
    with pytest.raises(QueryError, match=r"long.csv: question 2 \(line 3\): the query has 24,000 characters"):
        bench.ingest()
    assert snapshots.numbers(bench.root) == [1]


def test_a_run_that_fails_while_it_holds_back_harms_nothing(bench: Workbench) -> None:
    catch_up(open_folder(bench.root))  # as it was copied from elsewhere
    spoil(bench)
    failed_at: list[str] = []
    while (name := _fail_at(bench, len(failed_at) + 1)) is not None:
        failed_at.append(name)
        assert snapshots.numbers(bench.root) == [1]
        assert verify(bench.root, deep=True) == []
    assert {"before write candidate-2.json", "after replace candidate-2.json", "before lance untag"} <= {*failed_at}
    assert bench.ingest().candidate.startswith("candidate-2")


def _fail_at(bench: Workbench, boundary: int) -> str | None:
    """Fill the disk at this boundary, counted from the first write of a candidate; None if the run ended before it.

    Runs remove what failed ones left, so a boundary has another number in each run.
    """
    watch = Countdown(boundary, _no_room, since="write candidate-")
    failpoints.watch = watch
    try:
        bench.ingest()
    except Exception as error:
        assert "free some space and run again" in str(error)  # noqa: PT017  # a run that ends is no failure here
        return watch.seen[boundary - 1]
    finally:
        failpoints.watch = None
    if len(watch.seen) < boundary:
        return None
    assert "sources" in watch.seen[boundary - 1], "a full disk was not noticed"  # without that log, the run is as good
    return watch.seen[boundary - 1]


def _no_room() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_the_command_ends_with_a_status_of_its_own(bench: Workbench, fake_model: str) -> None:
    def call(*arguments: str, status: int = 0) -> str:
        done = CliRunner().invoke(app, [*arguments, "--store", str(bench.root)])
        assert done.exit_code == status, done.output
        return done.stdout

    spoil(bench)
    gate = (
        "--set",
        f"gate.questions={bench.folder / 'q.csv'}",
        "--set",
        "gate.metric=RR",
        "--embedding-model",
        fake_model,
    )
    arguments = ("ingest", str(bench.docs), "--engine", "local", *gate)
    found = json.loads(call(*arguments, "--json", status=4))
    assert found["candidate"] == "candidate-2"
    assert found["gate"]["change"]["high"] < 0
    assert "Held back as candidate-2" in call(*arguments, status=4)
    assert "candidate-2" in call("publish")
    assert call("publish", "candidate-2") == "snapshot 2 published; it was held back as candidate-2\n"
    assert json.loads(call("publish", "--json")) == []
