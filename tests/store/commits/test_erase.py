"""Erasing a document: nothing of it is left in any file of the store, and all else is as it was."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from docmill.flows.cli.app import app
from docmill.flows.config.settings import Settings
from docmill.flows.maintenance.remove_and_erase import erase
from docmill.storage import failpoints
from docmill.storage.errors import QueryError
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.snapshots.change.restoring import undelete
from docmill.storage.snapshots.change.tagging import set_tag
from docmill.storage.snapshots.clean.compact import compact
from docmill.storage.snapshots.clean.erase import NOTE
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import measurements, snapshots, tags
from docmill.storage.snapshots.history.retention import Retention
from docmill.storage.snapshots.read.store import open_store
from tests.kit.remote_bench import RemoteBench
from tests.kit.victim import Countdown, Places, at_boundaries, erase_secrets, start
from tests.kit.workbench import Workbench

pytestmark = pytest.mark.usefixtures("fake_model")
WORDS = ("xyzzyquux", "plughfrotz", "grault")
"""Words of the secret documents: of the one that is there, of its first version, and of the one that is gone."""
OTHERS = {f"plain-{n}.md": f"# Plain {n}\n\nA filler about mill {n} and its wheel.\n" for n in range(6)}


def fill(bench: Workbench) -> None:
    """Make a store of three snapshots: a secret that has changed, one that was deleted, and other documents."""
    bench.write({**OTHERS, "secret.md": f"# S\n\nThe {WORDS[1]}.\n", "secret-old.md": f"# Old\n\nThe {WORDS[2]}.\n"})
    bench.ingest()
    bench.write({"secret.md": f"# S\n\nThe {WORDS[0]}.\n", "secret-old.md": None, "plain-0.md": None})
    bench.ingest()
    bench.write({"plain-1.md": "# Plain 1\n\nIt has another text now.\n"})
    bench.ingest()


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    made = Workbench(tmp_path_factory.mktemp("laid"))
    fill(made)
    return made


@pytest.fixture
def bench(laid: Workbench, tmp_path: Path) -> Workbench:
    return laid.copy(tmp_path / "bench")


def seen(root: Path, *words: str) -> list[str]:
    """Return the files below a folder in which one of some words can be read, packed or not."""
    return [str(path.relative_to(root)) for path in sorted(root.rglob("*")) if path.is_file() and _holds(path, words)]


def _holds(path: Path, words: tuple[str, ...]) -> bool:
    data = path.read_bytes() + b"".join(_unpacked(path))
    return any(word.encode() in data for word in words)


def _unpacked(path: Path) -> Iterator[bytes]:
    tables: list[Any] = []
    if path.suffix == ".parquet":
        tables = [pq.read_table(path, partitioning=None)]
    elif path.suffix == ".arrow":
        tables = [ipc.open_file(path).read_all()]
    yield from (str(table.to_pydict()).encode() for table in tables if isinstance(table, pa.Table))


def ids(bench: Workbench, *uris: str) -> list[str]:
    """Return the ids of the chunks of some documents, in all snapshots."""
    found = list[str]()
    for number in snapshots.numbers(bench.root):
        with open_store(bench.root, number) as store:
            every = store.sql("SELECT uri, chunk_id FROM chunks UNION SELECT uri, chunk_id FROM deleted_chunks")
        found += [row["chunk_id"] for row in every.to_pylist() if row["uri"] in uris]
    return found


def present(bench: Workbench) -> dict[str, str]:
    """Return the texts of the documents but the secret ones, by uri, after checking all of the store."""
    assert verify(bench.root, deep=True) == []
    return {row.uri: row.text for row in bench.chunks() if not row.uri.startswith("secret")}


def test_judgements_about_a_document_lose_their_words_also_those_of_its_former_name(bench: Workbench) -> None:
    with bench.store as store:
        for by, query in (("Ada", "what is secret"), ("Bo", WORDS[0])):
            store.judge(query, uri="secret.md", quotation=f"The {WORDS[0]}.", by=by)
        kept = store.judge("mill", uri="plain-2.md", quotation="A filler about mill 2", by="Ada")
    bench.write({"secret.md": None, "secret-renamed.md": f"# Secret\n\nIt is edited. The {WORDS[0]}.\n"})
    bench.ingest(allow_delete=True)
    done = erase(Settings(store=bench.root), ["secret-renamed.md", "secret.md"])
    assert done.judgements == 2
    assert seen(bench.root, WORDS[0], "what is secret") == []
    with bench.store as store:
        assert [one.judgement for one in store.judgements()] == [kept]
    assert verify(bench.root, deep=True) == []


def test_nothing_of_a_document_is_left_in_any_file_and_all_others_are_as_they_were(bench: Workbench) -> None:
    own, before = ids(bench, "secret.md", "secret-old.md"), present(bench)
    assert {name.split("/")[0] for name in seen(bench.root, *own)} >= {"tables", "keywords", "vectors", ".current"}
    assert {name.split("/")[0] for name in seen(bench.root, *WORDS)} >= {"tables", "artifacts", "keywords"}
    set_tag(bench.root, "kept", 1)
    planned = erase(Settings(store=bench.root), ["secret.md", "secret-old.md"], dry_run=True)
    assert (planned.documents, planned.chunks, planned.restorable, planned.snapshot) == (1, 1, 1, None)
    assert (planned.snapshots, planned.tags) == ((1, 2, 3), ("kept",))
    assert snapshots.numbers(bench.root) == [1, 2, 3]
    done = erase(Settings(store=bench.root), ["secret.md", "secret-old.md"])
    assert (done.snapshots, done.tags, done.open, done.snapshot) == ((1, 2, 3), ("kept",), (), 5)
    assert seen(bench.root, *own, *WORDS, "secret") == []
    assert (snapshots.numbers(bench.root), tags.tags(bench.root)) == ([5], {})
    assert present(bench) == before
    assert bench.store.search("mill wheel filler", k=9)
    undelete(bench.root, ["plain-0.md"], Retention())
    assert present(bench).keys() == OTHERS.keys()


def test_a_document_that_no_snapshot_lists_is_erased_only_when_that_is_meant(bench: Workbench) -> None:
    with pytest.raises(QueryError, match=r"no snapshot lists a document 'secret\.txt' \(but .*secret\.md"):
        erase(Settings(store=bench.root), ["secret.md", "secret.txt"])
    assert snapshots.numbers(bench.root) == [1, 2, 3]
    bench.write({"secret.md": None})
    bench.ingest()
    bench.write({"plain-2.md": "# Plain 2\n\nAnother text.\n"})
    bench.settings["retention"] = {"undelete_days": 0.0}
    bench.ingest()
    for number in (1, 2, 3, 4):
        snapshots.path_of(bench.root, number).unlink()
    with pytest.raises(QueryError, match=r"docmill erase --unlisted 'secret\.md'"):
        erase(Settings(store=bench.root), ["secret.md"])
    assert seen(bench.root / "artifacts", *WORDS)
    erase(Settings(store=bench.root), ["secret.md"], unlisted=True)
    assert seen(bench.root, *WORDS) == []
    assert present(bench)


def test_compact_forgets_what_was_deleted_longer_ago_than_it_can_be_restored(bench: Workbench) -> None:
    before = present(bench)
    compact(bench.root, Retention(keep_snapshots=1))
    assert seen(bench.root, WORDS[2]), "it can still be restored"
    bench.ingest()
    done = compact(bench.root, Retention(keep_snapshots=1, undelete_days=0.0))
    assert seen(bench.root, *WORDS[1:], *ids(bench, "secret-old.md")) == []
    assert done.snapshot == snapshots.read(bench.root).number
    assert present(bench) == before
    assert bench.store.sql("SELECT uri FROM deleted").num_rows == 0


def test_a_reader_keeps_its_snapshot_and_the_same_call_erases_it_afterwards(bench: Workbench) -> None:
    with open_store(bench.root, 2) as store:
        assert call(bench, "secret.md").exit_code == 3
        assert (store.document("secret.md").text.split()[-1], (bench.root / NOTE).exists()) == (f"{WORDS[0]}.", True)
        assert snapshots.numbers(bench.root) == [2, 5]
        (found,) = verify(bench.root)
        assert str(found) == f"past: an erasure is not finished; docmill erase secret.md --store {bench.root}"
    done = erase(Settings(store=bench.root), ["secret.md"])
    assert (done.open, (bench.root / NOTE).exists()) == ((), False)
    assert seen(bench.root, *WORDS[:2], "secret.md") == []
    assert present(bench)


def test_an_unfinished_run_and_questions_about_the_document_go_too(bench: Workbench) -> None:
    staged = bench.root / "staging" / "run" / "batch-1"
    staged.mkdir(parents=True)
    (staged / "texts.parquet").write_text(WORDS[0])
    row = measurements.EvaluationRow("a", "2026", 3, "", "s", "questions", "q.csv", "h", "{}", "R@5", 1.0, 1.0, 1.0, 2)
    hits = [measurements.FirstHit(1, uri, "c", True) for uri in ("plain-3.md", "secret.md")]
    asked = [measurements.AskedQuestion(f"q-{hit.uri}", hit.uri, 1, (), (hit,)) for hit in hits]
    measurements.keep(open_folder(bench.root), [row], asked)
    assert erase(Settings(store=bench.root), ["secret.md"]).questions == 1
    assert measurements.read_asked(bench.root).column("text").to_pylist() == ["plain-3.md"]
    assert measurements.read(bench.root).num_rows == 1
    assert seen(bench.root, "secret.md", *WORDS[:2]) == []


@at_boundaries
def test_a_kill_at_any_boundary_loses_nothing_else_and_the_same_call_ends_it(
    bench: Workbench, tmp_path: Path, token_counts_folder: Path, places: Places
) -> None:
    before, own = present(bench), ids(bench, "secret.md", "secret-old.md")
    counted = Countdown(0, lambda: None)
    failpoints.watch = counted
    try:
        erase_secrets(bench.copy(tmp_path / "clean"))
    finally:
        failpoints.watch = None
    for at in places(counted.seen):
        victim = bench.copy(tmp_path / f"victim-{at}")
        process = start(erase_secrets, victim, token_counts_folder, at)
        process.join()
        assert process.exitcode == -9
        process.close()
        with victim.store as store:
            assert {row.uri for row in store.documents()} - {"secret.md"} == before.keys()
        if (victim.root / NOTE).exists() or seen(victim.root, *own):
            erase_secrets(victim)
        assert seen(victim.root, *own, *WORDS, "secret") == [], counted.seen[at - 1]
        assert present(victim) == before


def test_a_document_of_a_store_in_a_bucket_leaves_bucket_and_mirror(far: RemoteBench) -> None:
    fill(far)
    two = far.on("two")
    two.store.close()
    own = ids(far, "secret.md", "secret-old.md")
    assert any("vacuum --store s3://" in one for one in erase(Settings(store=far.root), ["secret.md"]).remains)
    erase(Settings(store=far.root), ["secret-old.md"])
    assert seen(far.root, *own, *WORDS, "secret") == []
    objects = open_folder(far.root).objects  # type: ignore[attr-defined]
    left = {entry.key: objects.read(entry.key) for entry in objects.listing()}
    assert [key for key, data in left.items() if any(word.encode() in data for word in (*own, *WORDS))] == []
    assert verify(far.root, deep=True) == []
    compact(two.root, Retention())
    assert seen(two.root, *own, *WORDS, "secret") == []


def call(bench: Workbench, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["erase", *arguments, "--store", str(bench.root)])


def test_the_command_says_what_goes_and_where_copies_may_be(bench: Workbench) -> None:
    plan = call(bench, "secret.md", "secret-old.md", "--dry-run").stdout
    assert plan.splitlines()[:2] == [
        "This would erase secret.md, secret-old.md: 1 document, 1 chunk, 1 deleted document",
        "  snapshots  1, 2, 3 removed",
    ]
    with bench.store as store:
        store.log_query("who knows the secret?", [])
    done = call(bench, "secret.md", "secret-old.md")
    assert done.stdout.startswith("Erased secret.md, secret-old.md: 1 document, 1 chunk, 1 deleted document\n")
    assert "Snapshot 5 is all that is left" in done.stdout
    named = ("the files themselves: the next ingest adds", "exports: ", "copies and backups of the store: ")
    for what in (*named, "logged queries, "):
        assert f"not erased: {what}" in done.stderr
    assert call(bench, "secret.md").exit_code == 1
    rows = json.loads(call(bench, "plain-3.md", "--json").stdout)
    assert (rows["uris"], rows["documents"], rows["snapshot"], rows["open"]) == (["plain-3.md"], 1, 7, [])


def test_present_and_deleted_copies_of_what_is_erased_are_named(bench: Workbench) -> None:
    text = (bench.docs / "secret.md").read_text()
    bench.write({"copy.md": text, "gone.md": text})
    bench.ingest()
    bench.write({"gone.md": None})
    bench.ingest()
    told = "not erased: the same content under other names, present or deleted: copy.md, gone.md: type docmill erase"
    assert told in call(bench, "secret.md", "--dry-run").stderr
    assert told in call(bench, "secret.md").stderr
    assert "the same content" not in call(bench, "copy.md", "gone.md").stderr
    assert seen(bench.root, WORDS[0]) == []
    assert "the same content" not in call(bench, "plain-3.md").stderr
