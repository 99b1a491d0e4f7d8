"""What Prefect shows of a run: names, graph, log, final state, events, artifacts; read back through its API."""

import json
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from docmill.flows.config.settings import Settings
from docmill.flows.prefect.prefect_run import run_prefect
from docmill.flows.runs.report import Report
from tests.kit.counting_encoder import LONG_RUN, PAGES, Slow, slow_model
from tests.kit.fake_encoder import NAME
from tests.kit.workbench import Workbench

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("fake_model", "prefect_api")]

STEPS = 14  # discover, plan, embed, commit; two batches of four phases each
PATIENCE_S = 30.0  # the server saves log lines and events some seconds after it has taken them
DOCUMENTS: dict[str, str | bytes] = {
    "guide.md": "# Guide\n\nIntro of the guide.\n\n## Setup\n\nTurn the red knob.\n",
    "broken.pdf": b"%PDF-1.7 and no page",
    **{f"notes/{number:03}.txt": f"Note {number} about the northern valley.\n" for number in range(70)},
}


class Seen:
    """The records of the newest flow run into a store."""

    def __init__(self, store: str) -> None:
        from prefect import get_client

        with get_client(sync_client=True) as client:
            run = next(run for run in _newest(client) if run.name.endswith(f"→ {store}"))
            assert run.state is not None
            self.id, self.name, self.state = run.id, run.name, run.state

    @property
    def nodes(self) -> dict[str, Any]:
        """Return the steps of the run's graph by their names, once the server has saved all of them."""
        from prefect import get_client

        found: dict[str, Any] = {}
        with get_client(sync_client=True) as client:

            def saved() -> bool:
                graph = client._client.get(f"/flow_runs/{self.id}/graph-v2").json()
                found.update({node["label"]: node for _, node in graph["nodes"]})
                return len(found) == STEPS and all(node["end_time"] for node in found.values())

            _wait(saved)
        return found


def _edges(nodes: dict[str, Any]) -> set[tuple[str, str]]:
    names = {node["id"]: label for label, node in nodes.items()}
    return {(names[above["id"]], label) for label, node in nodes.items() for above in node["parents"]}


def _parts(nodes: dict[str, Any], label: str) -> set[str]:
    """Return the steps inside of a step."""
    own = nodes[label]["id"]
    return {name for name, node in nodes.items() if own in [one["id"] for one in node["encapsulating"]]}


def _newest(client: Any) -> list[Any]:
    from prefect.client.schemas.sorting import FlowRunSort

    return list(client.read_flow_runs(sort=FlowRunSort.START_TIME_DESC, limit=20))


def _log(run: UUID) -> list[str]:
    from prefect import get_client
    from prefect.client.schemas.filters import LogFilter, LogFilterFlowRunId

    with get_client(sync_client=True) as client:
        return [log.message for log in client.read_logs(LogFilter(flow_run_id=LogFilterFlowRunId(any_=[run])))]


def _events(run: UUID) -> dict[str, dict[str, Any]]:
    from prefect import get_client

    wanted = {"filter": {"event": {"prefix": ["docmill."]}, "related": {"id": [f"prefect.flow-run.{run}"]}}}
    with get_client(sync_client=True) as client:
        found = client._client.post("/events/filter", json=wanted).json()["events"]
    return {event["event"]: event["payload"] for event in found}


def _wait(found: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not found():
        assert time.monotonic() < end, "the server has not saved it"
        time.sleep(0.3)


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    made = Workbench(tmp_path / "a bench")
    made.write(DOCUMENTS)
    return made


def run_flow(bench: Workbench, store: str, *others: str, **settings: Any) -> tuple[Report, Seen]:
    values = {"store": bench.folder / store, "embedding": {"model": NAME}, **settings}
    report = run_prefect(Settings.model_validate(values), [str(bench.docs), *others])
    return report, Seen(store)


def test_the_graph_of_a_run_is_that_of_the_pipeline(bench: Workbench) -> None:
    report, seen = run_flow(bench, "drawn")
    nodes, chunks = seen.nodes, report.chunks.added
    assert seen.name == "ingest docs → drawn"
    assert {"discover (72 files)", "batch 00000 (64 files)", "batch 00001 (8 files)", "commit"} <= set(nodes)
    assert f"embed 00000 ({chunks} chunks)" in nodes
    keys = {(above.partition(" (")[0], below.partition(" (")[0]) for above, below in _edges(nodes)}
    phases = ("parse", "detect", "chunk", "contextualize")
    assert keys == {
        ("discover", "plan"),
        ("embed 00000", "commit"),
        *((f"{above} {n}", f"{below} {n}") for n in ("00000", "00001") for above, below in pairwise(phases)),
        *(("plan", f"{step} {n}") for n in ("00000", "00001") for step in ("parse", "batch")),
        *((f"{step} {n}", "embed 00000") for n in ("00000", "00001") for step in ("batch", "contextualize")),
    }
    inside = {part.partition(" ")[0] for part in _parts(nodes, "batch 00001 (8 files)")}
    assert inside == set(phases)


def test_phases_follow_each_other_within_their_batch(bench: Workbench) -> None:
    _, seen = run_flow(bench, "timed")
    nodes = seen.nodes
    whole = nodes["batch 00001 (8 files)"]
    parts = [nodes[name] for name in _parts(nodes, "batch 00001 (8 files)")]
    times = sorted((part["start_time"], part["end_time"]) for part in parts)
    assert whole["start_time"] <= times[0][0]
    assert times[-1][1] <= whole["end_time"]
    assert all(end <= start for (_, end), (start, _) in pairwise(times))
    assert times[0][0] < times[-1][1]


def test_the_log_tells_each_phase_the_rejects_and_the_snapshot(bench: Workbench) -> None:
    report, seen = run_flow(bench, "logged")
    _wait(lambda: report.headline in _log(seen.id))
    log = _log(seen.id)
    for begin in ("discover: 72 files in docs (", "plan: 72 to process (", "parse 00001: 8 files", "chunk 00000: "):
        assert [line for line in log if line.startswith(begin)], begin
    assert [line for line in log if line.startswith("broken.pdf: ")]
    assert [line for line in log if line.startswith("embed: ") and f" {report.tokens_embedded:,} tokens in " in line]
    assert f"commit: snapshot 1, {report.chunks.added} chunks added, 0 kept, 0 removed" in log
    assert "Snapshot 1 committed" in log


def test_a_run_with_rejects_ends_in_a_state_of_that_name(bench: Workbench) -> None:
    from prefect import get_client

    _, seen = run_flow(bench, "lacking")
    assert (seen.state.type.value, seen.state.name) == ("COMPLETED", "CompletedWithRejects")
    said = "Snapshot 1 committed; 1 document rejected, 1 of them now: broken.pdf (corrupt)"
    assert seen.state.message == said
    _wait(lambda: len(_events(seen.id)) == 2)
    told = _events(seen.id)
    assert told["docmill.snapshot.committed"]["documents"]["added"] == len(DOCUMENTS) - 1
    assert told["docmill.documents.rejected"]["count"] == 1
    assert [one["uri"] for one in told["docmill.documents.rejected"]["rejects"]] == ["broken.pdf"]
    with get_client(sync_client=True) as client:
        (left,) = [one for one in client.read_latest_artifacts() if one.key == "rejects-lacking"]
    assert [row["document"] for row in json.loads(str(left.data))] == ["broken.pdf"]


def test_names_of_states_tell_runs_apart(bench: Workbench, tmp_path: Path) -> None:
    (bench.docs / "broken.pdf").unlink()
    (tmp_path / "q.csv").write_text("question,phrase\n" + "where is the red knob,the red knob\n" * 8)
    gate = {"questions": str(tmp_path / "q.csv")}
    assert run_flow(bench, "gated", gate=gate)[1].state.name == "Completed"
    assert run_flow(bench, "gated", gate=gate)[1].state.name == "NothingToDo"
    bench.write({"guide.md": "# Guide\n\nIntro of the guide.\n"})
    report, seen = run_flow(bench, "gated", gate=gate)
    assert seen.state.name == "HeldByGate"
    _wait(lambda: bool(_events(seen.id)))
    assert _events(seen.id)["docmill.gate.held"]["candidate"] == report.candidate


def test_a_run_without_one_of_its_sources_ends_in_a_state_of_that_name(bench: Workbench) -> None:
    nowhere = str(bench.folder / "nowhere")
    report, seen = run_flow(bench, "bereft", nowhere, run={"retries": 0})
    assert (report.exit_status, report.documents.added) == (5, len(DOCUMENTS) - 1)
    assert (seen.state.type.value, seen.state.name) == ("COMPLETED", "SourceUnreached")
    assert "source nowhere not reached: " in str(seen.state.message)
    _wait(lambda: "docmill.sources.unreached" in _events(seen.id))
    told = _events(seen.id)["docmill.sources.unreached"]
    assert (told["count"], [one["source"] for one in told["sources"]]) == (1, ["nowhere"])
    assert nowhere in told["sources"][0]["message"]


def test_the_progress_moves_while_texts_are_embedded(tmp_path: Path) -> None:
    from prefect import get_client

    seen: set[float] = set()

    def look(_: object) -> None:
        with get_client(sync_client=True) as client:
            seen.update(float(one.data) for one in client.read_latest_artifacts() if one.key == "progress-moving")  # type: ignore[arg-type]

    bench = Workbench(tmp_path / "bench", dict(LONG_RUN))
    bench.write(PAGES)
    with slow_model():
        Slow.after = staticmethod(look)
        run_flow(bench, "moving", **LONG_RUN)
    assert len([percent for percent in seen if 10 < percent < 99]) > 1
