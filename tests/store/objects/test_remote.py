"""A store on an object store: what one machine writes the others read, and the conditional put decides who commits."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.storage import failpoints
from docmill.storage.address import at_hand, url_of
from docmill.storage.errors import ConfigError, Locked, StoreError
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.remote.objects import lease
from docmill.storage.search.vectors import vectors
from docmill.storage.snapshots.change import candidate_snapshots
from docmill.storage.snapshots.change.diff import diff
from docmill.storage.snapshots.change.restoring import undelete
from docmill.storage.snapshots.change.tagging import delete_tag, set_tag
from docmill.storage.snapshots.clean.compact import compact, vacuum
from docmill.storage.snapshots.clean.repair import repair
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.retention import Retention
from docmill.storage.snapshots.history.snapshots import vector_tag
from docmill.storage.snapshots.history.tags import tags
from docmill.storage.snapshots.read.store import open_store
from tests.kit.remote_bench import RemoteBench
from tests.kit.victim import ingest, start
from tests.kit.workbench import Workbench

ONE = Retention(keep_snapshots=1, grace_hours=0.0)


@pytest.fixture(autouse=True)
def unwatched() -> Iterator[None]:
    yield
    failpoints.watch = None


@pytest.fixture
def laid(far: RemoteBench) -> RemoteBench:
    far.write({"guide.md": "# Guide\n\nTurn the red knob.\n", "notes.txt": "Notes about snow.\n"})
    far.ingest()
    return far


def edit(bench: Workbench, text: str) -> None:
    bench.write({"guide.md": f"# Guide\n\n{text}\n"})


def once_before(name: str, act: Callable[[], object]) -> None:
    """Do something when the boundary of that name is reached for the first time."""

    def watch(seen: str) -> None:
        if seen == f"before {name}":
            failpoints.watch = None
            act()

    failpoints.watch = watch


def test_what_one_machine_ingests_another_finds(laid: RemoteBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMILL_MIRRORS", str(laid.folder / "elsewhere"))
    store = open_store(laid.address)
    for mode in ("keyword", "vector", "hybrid"):
        assert store.search("red knob", k=1, mode=mode)[0].uri == "guide.md"
    assert store.document("guide.md").text == "# Guide\n\nTurn the red knob.\n"
    assert store.sql("SELECT uri FROM documents ORDER BY uri").column(0).to_pylist() == ["guide.md", "notes.txt"]
    assert store.status()["store"] == laid.address
    two = laid.on("two")
    edit(two, "Turn the blue knob.")
    report = two.ingest()
    assert (report.snapshot, report.parsed, report.embedded) == (2, 1, 1)
    assert laid.ingest().snapshot is None
    assert laid.chunks() == two.chunks()
    assert verify(laid.root, deep=True) == []
    clean = Workbench(laid.folder / "clean")
    shutil.copytree(laid.docs, clean.docs)
    clean.ingest()
    assert clean.chunks() == laid.chunks()
    assert clean.files("chunks") == two.files("chunks")


def test_a_reader_keeps_its_snapshot_while_commits_a_compaction_and_a_vacuum_pass(laid: RemoteBench) -> None:
    reader = laid.on("two").store
    for number in range(3):
        edit(laid, f"Turn the knob {number}.")
        laid.ingest()
    compact(laid.root, ONE)
    edit(laid, "Turn nothing.")
    laid.ingest()
    assert vacuum(laid.root, ONE).bytes > 0
    assert "snapshots/000001.json" not in laid.keys("snapshots")
    assert reader.search("red knob", k=1)[0].text.endswith("red knob.")
    assert reader.sql("SELECT count(*) AS n FROM chunks").to_pylist() == [{"n": 2}]
    fresh = laid.on("three")
    assert fresh.store.search("guide", k=1, mode="keyword")[0].text.endswith("nothing.")
    assert verify(fresh.root, deep=True) == []


def test_a_snapshot_that_is_vacuumed_while_it_is_fetched_is_left_for_the_newest(laid: RemoteBench) -> None:
    def overtake() -> None:
        edit(laid, "Turn the blue knob.")
        laid.ingest()
        compact(laid.root, ONE)

    once_before("remote fetch", overtake)
    assert laid.on("two").store.search("knob", k=1)[0].text.endswith("blue knob.")


def test_what_is_dropped_stays_for_the_grace(laid: RemoteBench) -> None:
    edit(laid, "Turn the blue knob.")
    laid.ingest()
    before = laid.keys("tables")
    vacuum(laid.root, Retention(keep_snapshots=1, grace_hours=1.0))
    assert laid.keys("dropped") == {"dropped/000001.json"}
    assert before <= laid.keys("tables")
    with pytest.raises(StoreError, match="it has 2 to 3"):
        open_store(laid.on("two").root, 1)
    compact(laid.root, ONE)
    assert laid.keys("dropped") == set()
    assert not before <= laid.keys("tables")


def test_of_two_writers_that_race_one_commits_and_the_other_mirrors_it(laid: RemoteBench) -> None:
    two = laid.on("two")
    edit(laid, "Turn the blue knob.")

    def overtake() -> None:
        laid.objects.delete([lease.KEY])  # as if it had run out
        two.write({"other.txt": "Words of the other machine.\n"})
        assert two.ingest(str(two.docs / "other.txt")).snapshot == 2

    once_before("remote put snapshots", overtake)
    with pytest.raises(Locked, match="snapshot 2 was committed by another writer"):
        laid.ingest()
    assert snapshots.numbers(laid.root) == [1]
    assert two.store.search("red knob", k=1)[0].text.endswith("red knob.")
    report = laid.ingest()
    assert (report.snapshot, report.parsed, report.embedded) == (3, 0, 0)
    assert laid.on("three").store.search("blue knob", k=1)[0].text.endswith("blue knob.")
    assert verify(laid.root, deep=True) == []
    assert {chunk.uri for chunk in two.chunks()} == {"guide.md", "notes.txt", "other.txt"}
    assert verify(two.root, deep=True) == []


def test_a_run_killed_in_the_middle_of_its_upload_leaves_the_store_as_it_was(
    laid: RemoteBench, token_counts_folder: Path
) -> None:
    edit(laid, "Turn the blue knob.")
    before = laid.keys()
    process = start(ingest, laid, token_counts_folder, kill_at="after remote upload tables")
    process.join(120)
    assert process.exitcode == -9
    sent = laid.keys() - before
    assert sent
    assert not any(key.startswith("snapshots/") for key in sent)
    assert laid.on("two").store.search("knob", k=1)[0].text.endswith("red knob.")
    report = laid.ingest()
    assert (report.snapshot, report.parsed, report.embedded) == (2, 0, 0)
    assert verify(laid.root, deep=True) == []
    assert laid.on("two").store.search("knob", k=1)[0].text.endswith("blue knob.")


def test_earlier_snapshots_and_tags_can_be_asked_on_any_machine(laid: RemoteBench) -> None:
    assert set_tag(laid.root, "first") == 1
    edit(laid, "Turn the blue knob.")
    laid.ingest()
    two = laid.on("two")
    past = open_store(two.root, "first")
    assert past.search("knob", k=1)[0].text.endswith("red knob.")
    now = open_store(two.root)
    assert now.sql("SELECT text FROM chunks_at('first') WHERE uri = 'guide.md'").column(0).to_pylist() == [
        "# Guide\n\nTurn the red knob."
    ]
    assert [row["snapshot"] for row in now.history()] == [1, 2]
    assert [c.kind for c in diff(past.stored, now.stored).documents] == ["changed"]
    vacuum(laid.root, ONE)
    assert open_store(laid.on("three").root, 1).search("red", k=1)
    delete_tag(two.root, "first")
    open_folder(laid.root).refresh()
    assert tags(laid.root) == {}


def test_a_deleted_document_comes_back_on_another_machine(laid: RemoteBench) -> None:
    (laid.docs / "notes.txt").unlink()
    laid.ingest(allow_delete=True)
    two = laid.on("two")
    open_folder(two.root).refresh()
    assert undelete(two.root, ["notes.txt"], Retention()).number == 3
    assert laid.store.search("snow", k=1)[0].uri == "notes.txt"
    assert verify(two.root, deep=True) == []


def test_objects_and_files_that_are_lost_are_named_and_brought_back_from_each_other(laid: RemoteBench) -> None:
    table = next(iter(sorted(laid.keys("tables/chunks"))))
    laid.objects.delete([table])
    assert [finding.mend for finding in verify(laid.root)] == [f"docmill repair --store {laid.address}"]
    with pytest.raises(StoreError, match="just been removed"):
        open_store(laid.on("two").root)
    done = repair(laid.root, lambda _: pytest.fail("nothing has to be embedded"))
    assert done.done == [f"sent 1 objects again to {laid.address}"]
    (laid.root / table).write_bytes(b"damaged")
    assert verify(laid.root, deep=True) == []
    assert laid.on("two").store.search("knob", k=1)[0].text.endswith("red knob.")


def test_an_index_that_is_lost_everywhere_is_built_again(laid: RemoteBench) -> None:
    gone = [*laid.keys("vectors"), *laid.keys("keywords")]
    laid.objects.delete(gone)
    shutil.rmtree(laid.folder / "mirrors")
    open_folder(laid.root).refresh()
    assert {finding.kind for finding in verify(laid.root)} >= {"vectors", "keywords"}
    done = repair(laid.root, lambda _: pytest.fail("nothing has to be embedded"))
    assert "committed snapshot 2" in done.done
    assert laid.on("two").store.search("red knob", k=1, mode="vector")[0].uri == "guide.md"
    assert verify(laid.root, deep=True) == []


def test_an_object_of_another_content_is_not_let_in(laid: RemoteBench) -> None:
    (key,) = laid.keys("tables/documents")
    laid.objects.put(key, b"x" * len(laid.objects.read(key)))
    with pytest.raises(StoreError, match="not have the content that was written"):
        open_store(laid.on("two").root)


def test_a_new_store_at_the_same_address_empties_the_mirrors(laid: RemoteBench) -> None:
    assert laid.on("two").store.search("red knob", k=1)
    laid.objects.delete(sorted(laid.keys()))
    with pytest.raises(StoreError, match=f"{laid.address} has no snapshot"):
        open_store(laid.on("two").root)
    edit(laid, "Turn the green knob.")
    assert laid.ingest().snapshot == 1
    assert laid.on("two").store.search("knob", k=1)[0].text.endswith("green knob.")


def test_a_folder_that_stays_open_empties_its_mirror_once(laid: RemoteBench) -> None:
    two = laid.on("two")
    open_folder(two.root).refresh()
    folder = open_folder(two.root)  # which knows the first store
    laid.objects.delete(sorted(laid.keys()))
    laid.ingest()
    folder.refresh()
    folder.complete()
    fetched = list(two.root.glob("tables/chunks/*.parquet"))
    folder.refresh()
    assert fetched, "the mirror is now one of the second store"
    assert all(path.exists() for path in fetched)


def test_many_small_commits_leave_few_objects(laid: RemoteBench) -> None:
    for number in range(5):
        (laid if number % 2 else laid.on("two")).write({f"{number}.txt": f"Words of number {number}.\n"})
        (laid if number % 2 else laid.on("two")).ingest()
    many = len(laid.keys())
    compact(laid.root, ONE)
    clean = RemoteBench(laid.folder, address=f"{laid.address}-clean", environment=laid.environment)
    clean.ingest()
    assert len(laid.keys()) <= len(clean.keys()) + 3 < many
    assert verify(laid.root, deep=True) == []
    assert len(laid.on("three").chunks()) == 7


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, [*arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_commands_take_an_address_for_a_store(laid: RemoteBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMILL_EMBEDDING__MODEL", "token-counts")
    monkeypatch.chdir(laid.folder)
    (laid.folder / "docmill.toml").write_text(
        f'store = "{laid.address}"\nmirrors = "{laid.folder}/cli"\nsources = ["docs"]\nengine = "local"\n'
    )
    edit(laid, "Turn the blue knob.")
    assert "changed 1" in run("plan") or "1 changed" in run("plan")
    assert "sent to s3://" in run("ingest")
    assert "blue knob" in run("search", "knob")
    assert "red knob" in run("search", "knob", "--at", "1")
    assert json.loads(run("status", "--json").splitlines()[-1])["store"] == laid.address
    assert "no findings" in run("verify", "--deep")
    run("tag", "kept", "--at", "1")
    assert "kept" in run("tag")
    run("compact")
    assert "removed" in run("vacuum", "--set", "retention.keep_snapshots=1", "--set", "retention.grace_hours=0")
    assert (laid.folder / "cli").is_dir()


@pytest.mark.parametrize(
    ("store", "url"),
    [
        ("s3://b/p/q", "s3://b/p/q"),
        ("s3://b", "s3://b"),
        ("s3://b/p//", "s3://b/p"),
        (Path("s3://b/p"), "s3://b/p"),
        ("store", None),
        ("/s3/b", None),
    ],
)
def test_an_address_is_told_from_a_folder(store: str | Path, url: str | None) -> None:
    assert url_of(store) == url


def test_what_is_no_address_and_no_bucket_is_said_once(laid: RemoteBench, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ConfigError, match="s3://BUCKET/PREFIX"):
        at_hand("s3://")
    nowhere = RemoteBench(laid.folder, address="s3://no-such-bucket/store", environment=laid.environment)
    with pytest.raises(StoreError, match="no such bucket"):
        open_store(nowhere.root)
    assert not caplog.messages


def test_no_credential_is_written_anywhere(laid: RemoteBench) -> None:
    files = [path for path in laid.folder.rglob("*") if path.is_file()]
    assert not [path for path in files if laid.environment["AWS_SECRET_ACCESS_KEY"].encode() in path.read_bytes()]
    assert not [path for path in files if b"127.0.0.1" in path.read_bytes()]


def test_what_is_held_back_can_be_asked_and_published_on_another_machine(laid: RemoteBench) -> None:
    edit(laid, "Turn the blue knob.")
    with open_folder(laid.root).lock():
        held = open_folder(laid.root).read()
        base = held.snapshot
        tagged = vectors.update(laid.root, base.vectors, base.space, (), (), vector_tag(2))
        name = candidate_snapshots.keep(held.changed(number=2, vectors=tagged))
    two = laid.on("two")
    assert open_store(two.root, name).search("red knob", k=1)[0].uri == "guide.md"
    assert two.store.snapshot.number == 1
    open_folder(two.root).refresh()
    assert candidate_snapshots.publish(two.root, name, force=True).number == 2
    assert laid.keys(snapshots.CANDIDATES) == set()
    assert laid.store.snapshot.number == 2
    assert snapshots.candidates(laid.root) == []
    assert verify(laid.root, deep=True) == []
