"""What machines share beside snapshots: replies that were paid for, and evaluations."""

import logging
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.storage.errors import Transient
from docmill.storage.files import hash_file
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.remote.objects import shared_files
from docmill.storage.snapshots.history import judgements, measurements, query_log
from docmill.tasks.model.journal import REPLIES, SHARED
from tests.kit.model_server import ModelServer
from tests.kit.remote_bench import RemoteBench

MANUAL = "# Mill\n\n" + "\n\n".join(
    f"## Wheel {i}\n\n" + " ".join(f"Part {i} turns wheel {j} of the mill by hand." for j in range(20))
    for i in range(4)
)


@pytest.fixture
def asking(far: RemoteBench, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> RemoteBench:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-key")
    model = {"provider": "openai", "model": "loopback", "base_url": f"{server.url}/v1"}
    far.settings |= {"model": model, "chunk": {"contextualizer": "llm"}}
    far.write({"manual.md": MANUAL})
    return far


def another_store(bench: RemoteBench) -> None:
    """Forget all that is on the object store and in the first machine's mirror but the replies."""
    bench.objects.delete([key for key in sorted(bench.keys()) if not key.startswith(f"{SHARED}/")])


def test_what_one_machine_paid_for_another_does_not_pay_again(asking: RemoteBench, server: ModelServer) -> None:
    asked = asking.ingest().model["calls"]
    assert asked == len(server.requests) > 0
    (pack,) = (asking.root / REPLIES).glob("*.parquet")
    assert asking.keys(SHARED) == {f"{SHARED}/{pack.stem}-{hash_file(pack)}.parquet"}
    chunks = asking.chunks()
    another_store(asking)
    two = asking.on("two")
    report = two.ingest()
    assert (report.documents.added, len(server.requests)) == (1, asked)
    assert two.chunks() == chunks


def test_replies_that_could_not_be_put_are_put_by_the_next_run(
    asking: RemoteBench, server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    asking.ingest()
    asking.objects.delete(sorted(asking.keys(SHARED)))
    asking.write({"manual.md": MANUAL.replace("by hand", "by foot")})
    asking.ingest()
    assert len(asking.keys(SHARED)) == 2
    asking.objects.put(f"{SHARED}/broken-{'0' * 32}.parquet", b"of another content")
    another_store(asking)
    before = len(server.requests)
    with caplog.at_level(logging.WARNING, "docmill.remote"):
        assert asking.on("two").ingest().documents.added == 1
    assert "not have the content that was written" in caplog.text
    assert len(server.requests) == before


def evaluate(bench: RemoteBench, machine: str, monkeypatch: pytest.MonkeyPatch, *measures: str) -> None:
    monkeypatch.setenv("DOCMILL_MIRRORS", str(bench.folder / "mirrors" / machine))
    arguments = ["evaluate", "--questions", str(bench.folder / "q.csv"), "--store", bench.address, "--mode", "keyword"]
    options = [word for measure in measures for word in ("--measure", measure)]
    done = CliRunner().invoke(app, [*arguments, *options])
    assert done.exit_code == 0, done.output


def kept(bench: RemoteBench) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = bench.store.sql("SELECT * FROM evaluations ORDER BY measure").to_pylist()
    return rows


def test_what_one_machine_measured_another_shows(far: RemoteBench, monkeypatch: pytest.MonkeyPatch) -> None:
    far.write({"guide.md": "# Guide\n\nTurn the red knob.\n"})
    far.ingest()
    (far.folder / "q.csv").write_text("question,phrase\nred knob,the red knob\n")
    evaluate(far, "one", monkeypatch, "RR", "R@5")
    two = far.on("two")
    assert kept(two) == kept(far)
    assert [row["measure"] for row in kept(two)] == ["R@5", "RR"]
    first = far.keys(measurements.FOLDER)
    write_older(two)
    evaluate(far, "two", monkeypatch, "RR", "R@5")
    assert names(far.keys(measurements.FOLDER)) == names(first)
    assert kept(far) == kept(two)
    assert kept(far.on("three")) == kept(two)


def names(keys: set[str]) -> list[str]:
    """Return the names of objects without the hashes of their contents."""
    return sorted(key.rsplit("-", 1)[0] for key in keys)


def write_older(bench: RemoteBench) -> None:
    """Spoil what a mirror has of the evaluations: the object store's word counts."""
    (path,) = (bench.root / measurements.FOLDER).glob("[!n]*.parquet")
    path.write_bytes(b"")


def test_a_mirror_takes_no_evaluations_into_another_store(far: RemoteBench, monkeypatch: pytest.MonkeyPatch) -> None:
    far.write({"guide.md": "# Guide\n\nTurn the red knob.\n"})
    far.ingest()
    (far.folder / "q.csv").write_text("question,phrase\nred knob,the red knob\n")
    evaluate(far, "one", monkeypatch, "RR")
    far.objects.delete(sorted(far.keys()))
    far.on("two").ingest()
    assert kept(far) == []
    assert far.keys(measurements.FOLDER) == set()


def judged(bench: RemoteBench) -> list[tuple[str, str]]:
    return [(one.judgement.judged_by, one.judgement.verdict) for one in bench.store.judgements()]


def test_two_machines_judge_and_see_each_other_and_none_undoes_the_other(far: RemoteBench) -> None:
    far.write({"guide.md": "# Guide\n\nTurn the red knob.\n"})
    far.ingest()
    two = far.on("two")
    with two.store as store:
        mine = store.judge("red knob", store.search("red knob", k=1)[0], by="Ada")
    assert judged(far) == [("Ada", "right")]
    with far.store as store:
        store.judge("red knob", store.search("red knob", k=1)[0], False, by="Bo")
        store.withdraw(mine.judgement_id)
    assert judged(two) == judged(far.on("three")) == [("Bo", "wrong")]


def test_a_judgement_that_could_not_be_shared_is_shared_later(
    far: RemoteBench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    far.write({"guide.md": "# Guide\n\nTurn the red knob.\n"})
    far.ingest()

    def away(*_: object) -> None:
        raise Transient("the object store does not answer")

    with far.store as store, monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "docmill.remote"):
        patch.setattr(shared_files, "share", away)
        store.judge("red knob", store.search("red knob", k=1)[0], by="Ada")
    assert "not shared yet" in caplog.text
    assert far.keys(judgements.FOLDER) == set()
    assert judged(far) == [("Ada", "right")]
    assert judged(far.on("two")) == [("Ada", "right")]


def test_a_mirror_takes_no_judgements_into_another_store(far: RemoteBench) -> None:
    far.write({"guide.md": "# Guide\n\nTurn the red knob.\n"})
    far.ingest()
    with far.store as store:
        store.judge("red knob", store.search("red knob", k=1)[0], by="Ada")
    far.objects.delete(sorted(far.keys()))
    far.on("two").ingest()
    assert judged(far) == []


def logged(bench: RemoteBench) -> list[str]:
    return [one.query for one in bench.store.queries()[::-1]]


def test_two_machines_log_queries_and_what_one_removes_stays_removed(
    far: RemoteBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    far.write({"guide.md": "# Guide\n\nTurn the red knob.\n"})
    far.ingest()
    two = far.on("two")
    for bench, name in ((far, "one"), (two, "two"), (far, "one again")):
        monkeypatch.setattr("socket.gethostname", lambda name=name: name[:3])
        with bench.store as store:
            store.log_query(name, store.search("red knob", k=1))
    assert logged(far) == logged(two) == ["one", "two", "one again"]
    assert len(far.keys(query_log.FOLDER)) == 2
    query_log.clear(two.store.stored.folder)
    assert logged(far) == logged(two) == logged(far.on("three")) == []
    with far.store as store:
        store.log_query("later", [])
    assert logged(two) == ["later"]


def test_queries_that_could_not_be_shared_are_shared_later_and_none_are_lost(
    far: RemoteBench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    far.write({"guide.md": "# Guide\n\nTurn the red knob.\n"})
    far.ingest()

    def away(*_: object) -> None:
        raise Transient("the object store does not answer")

    with far.store as store:
        store.log_query("first", [])
        with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "docmill.remote"):
            patch.setattr(shared_files, "share_own", away)
            store.log_query("second", [])
    assert "not shared yet" in caplog.text
    assert logged(far) == ["first", "second"]
    assert logged(far.on("two")) == ["first", "second"]


def test_a_store_that_is_a_folder_shares_nothing(tmp_path: Path) -> None:
    measurements.keep(open_folder(tmp_path), [])
    assert [path.name for path in tmp_path.iterdir()] == [measurements.FOLDER]
