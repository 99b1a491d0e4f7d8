"""The ingest and its evaluation as Prefect flows, on one test server for the whole session."""

import json
from importlib import import_module
from pathlib import Path

import pytest

from docmill.flows.config.settings import Settings
from docmill.flows.prefect.prefect_run import run_prefect
from docmill.flows.runs.report import Report
from docmill.storage.errors import SourceError
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import snapshots
from tests.kit.counting_encoder import LONG_RUN, PAGES, Slow, slow_model
from tests.kit.fake_encoder import NAME
from tests.kit.remote_bench import RemoteBench
from tests.kit.workbench import Workbench, summary

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("fake_model", "prefect_api")]

DOCUMENTS: dict[str, str | bytes] = {
    "guide.md": "# Guide\n\nIntro of the guide.\n\n## Setup\n\nTurn the red knob.\n",
    "prices.csv": "name,price\nknob,3\nbutton,4\n",
    **{f"notes/{number:03}.txt": f"Note {number} about the northern valley.\n" for number in range(70)},  # two batches
}


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    made = Workbench(tmp_path / "a bench")
    made.write(DOCUMENTS)
    return made


def run_flow(bench: Workbench, *sources: str, retry: bool = False) -> Report:
    settings = Settings.model_validate({"store": bench.root, "embedding": {"model": NAME}})
    return run_prefect(settings, sources or [str(bench.docs)], retry=retry)


def test_the_flow_and_the_local_engine_give_the_same_snapshot(bench: Workbench, tmp_path: Path) -> None:
    local = Workbench(tmp_path / "local")
    local.write(DOCUMENTS)
    by_threads, by_flow = local.ingest(), run_flow(bench)
    assert (by_flow.engine, summary(by_flow)) == ("prefect", summary(by_threads))
    assert local.chunks() == bench.chunks()
    assert [hit.chunk_id for hit in bench.store.search("red knob", k=9)] == [
        hit.chunk_id for hit in local.store.search("red knob", k=9)
    ]
    assert verify(bench.root, deep=True) == []


def test_a_long_flow_commits_in_steps(tmp_path: Path) -> None:
    bench = Workbench(tmp_path / "bench", dict(LONG_RUN))
    bench.write(PAGES)
    seen: set[int] = set()
    with slow_model():
        Slow.after = staticmethod(lambda _: seen.update(snapshots.numbers(bench.root)))
        settings = Settings.model_validate({"store": bench.root, "embedding": {"model": NAME}, **LONG_RUN})
        report = run_prefect(settings, [str(bench.docs)])
        assert (report.engine, report.pending) == ("prefect", 0)
        assert len(seen) > 1
        assert snapshots.numbers(bench.root) == [report.snapshot]
        assert verify(bench.root, deep=True) == []
        assert bench.ingest().snapshot is None


def test_the_flow_commits_to_an_object_store(far: RemoteBench) -> None:
    far.write({"guide.md": "# Guide\n\nTurn the red knob.\n"})
    mirrors = str(far.folder / "mirrors" / far.machine)
    settings = Settings.model_validate({"store": far.address, "mirrors": mirrors, "embedding": {"model": NAME}})
    report = run_prefect(settings, [str(far.docs)])
    assert (report.engine, report.snapshot, summary(report)) == ("prefect", 1, {"added": 1, "parsed": 1, "embedded": 1})
    assert run_prefect(settings, [str(far.docs)]).snapshot is None
    two = far.on("two")
    assert two.ingest().snapshot is None
    assert two.store.search("red knob", k=1)[0].uri == "guide.md"
    assert verify(two.root, deep=True) == []


def test_a_second_flow_run_changes_nothing(bench: Workbench) -> None:
    run_flow(bench)
    report = run_flow(bench)
    assert (summary(report), report.snapshot) == ({"unchanged": len(DOCUMENTS)}, None)


def test_a_run_leaves_its_summary_and_its_progress(bench: Workbench, tmp_path: Path) -> None:
    from prefect import get_client

    settings = {"store": tmp_path / "reported", "embedding": {"model": NAME}}  # no other run has a store of this name
    report = run_prefect(Settings.model_validate(settings), [str(bench.docs)])
    with get_client(sync_client=True) as client:
        left = {artifact.key: (artifact.type, artifact.data) for artifact in client.read_latest_artifacts()}
    assert left["ingest-reported"] == ("markdown", report.as_markdown())
    assert left["progress-reported"] == ("progress", 100.0)


def test_what_fails_in_the_flow_is_raised_and_does_not_shout(
    bench: Workbench, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SourceError, match="nowhere"):
        run_flow(bench, "nowhere")
    assert capfd.readouterr() == ("", "")


def test_the_flow_holds_back_what_answers_worse(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("question,phrase\n" + "where is the red knob,the red knob\n" * 8)
    gate = {"questions": str(tmp_path / "q.csv")}
    settings = Settings.model_validate({"store": bench.root, "embedding": {"model": NAME}, "gate": gate})
    assert run_prefect(settings, [str(bench.docs)]).snapshot == 1
    bench.write({"guide.md": "# Guide\n\nIntro of the guide.\n"})
    report = run_prefect(settings, [str(bench.docs)])
    assert (report.snapshot, report.candidate, report.exit_status) == (None, "candidate-2", 4)
    assert bench.store.search("red knob", mode="keyword", k=1)[0].uri == "guide.md"


def test_an_evaluation_as_a_flow_keeps_rows_and_leaves_its_table(bench: Workbench, tmp_path: Path) -> None:
    from prefect import get_client

    from docmill.flows.evaluate import evaluate

    bench.ingest()
    (tmp_path / "q.csv").write_text("question,uri,phrase\nwhere is the red knob,guide.md,the red knob\n")
    found = evaluate(str(tmp_path / "q.csv"), str(bench.root), modes=["hybrid", "keyword"], measures=["RR", "recall@5"])
    kept = bench.store.sql("SELECT measure, value, items FROM evaluations ORDER BY settings, measure").to_pylist()
    assert len(kept) == 4
    assert {row["measure"]: row["value"] for row in kept} == {"RR": 1.0, "recall@5": 1.0}
    assert [one.evaluation.way.mode for one in found] == ["hybrid", "keyword"]
    with get_client(sync_client=True) as client:
        (left,) = [one for one in client.read_latest_artifacts() if one.key == "evaluate-store"]
    assert (left.type, [row["RR"] for row in json.loads(str(left.data))]) == ("table", ["1.000", "1.000"])


@pytest.mark.parametrize("name", ["ingest", "evaluate"])
def test_each_parameter_of_a_form_is_described(name: str) -> None:
    from prefect.utilities.callables import parameter_schema

    schema = parameter_schema(getattr(import_module(f"flows.{name}"), name))
    assert [field for field, about in schema.properties.items() if not about.get("description")] == []


def test_the_parameters_make_a_form_that_refuses_what_it_does_not_know() -> None:
    from prefect.exceptions import ParameterTypeError
    from prefect.utilities.callables import parameter_schema

    from docmill.flows.ingest import ingest

    schema = parameter_schema(ingest)
    assert schema.definitions["IngestParameters"]["additionalProperties"] is False
    with pytest.raises(ParameterTypeError):
        ingest.validate_parameters({"options": {"workres": 2}})


def test_passwords_stay_out_of_the_parameters_that_the_server_keeps(bench: Workbench) -> None:
    from prefect import get_client

    settings = {"store": bench.root, "embedding": {"model": NAME}, "parse": {"passwords": ("open sesame",)}}
    run_prefect(Settings.model_validate(settings), [str(bench.docs)])
    with get_client(sync_client=True) as client:
        assert "open sesame" not in str([run.parameters for run in client.read_flow_runs()])
