"""Archives in a source: their members are documents, and what a run does with them it does with files."""

import gzip
import shutil
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from docmill.storage.errors import SourceError
from docmill.storage.snapshots.clean.verify import verify
from tests.kit.drawing import examples
from tests.kit.workbench import Workbench, summary
from tests.kit.writers.archives import tarred, zipped

pytestmark = pytest.mark.usefixtures("fake_model")

FILES = {
    "guide.md": "# Guide\n\nTurn the red knob.\n\n## Use\n\nPress the green button.\n",
    "deep/notes.txt": "Plain notes about the northern valley.\n",
    "deep/er/prices.csv": "name,price\nknob,3\nbutton,4\n",
}


def rows(bench: Workbench, columns: str, table: str = "documents") -> list[tuple[str, ...]]:
    found = bench.store.sql(f"SELECT {columns} FROM {table} ORDER BY uri").to_pylist()
    return [tuple(row.values()) for row in found]


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    made = Workbench(tmp_path)
    made.write({"pack.zip": zipped(FILES), "other.md": "# Other\n\nText beside the archive.\n"})
    return made


@pytest.mark.parametrize("name", ["pack.zip", "pack.tar", "pack.tar.gz", "pack.tar.bz2", "pack.tar.xz"])
def test_the_members_of_an_archive_are_documents_below_its_name(tmp_path: Path, name: str) -> None:
    bench = Workbench(tmp_path)
    how = {"tar": "w", "gz": "w:gz", "bz2": "w:bz2", "xz": "w:xz"}
    bench.write({name: zipped(FILES) if name.endswith("zip") else tarred(FILES, how[name.rsplit(".")[-1]])})
    report = bench.ingest()
    assert (report.documents.added, report.parsed, report.exit_status) == (3, 3, 0)
    assert rows(bench, "uri, parent") == [(f"{name}/{inner}", name) for inner in sorted(FILES)]
    for chunk in bench.chunks():
        assert bench.store.document(chunk.uri).text[chunk.start_char : chunk.end_char] == chunk.text
    assert summary(bench.ingest()) == {"unchanged": 3}
    assert verify(bench.root, deep=True) == []


def test_changing_one_member_parses_that_one(bench: Workbench) -> None:
    bench.ingest()
    bench.write({"pack.zip": zipped(FILES | {"guide.md": FILES["guide.md"].replace("red", "blue")})})
    report = bench.ingest()
    assert (report.documents.changed, report.documents.unchanged, report.parsed) == (1, 3, 1)


def test_a_renamed_or_repacked_archive_parses_nothing(bench: Workbench) -> None:
    bench.ingest()
    (bench.docs / "pack.zip").rename(bench.docs / "box.zip")
    assert summary(bench.ingest()) == {"moved": 3, "unchanged": 1}
    (bench.docs / "box.zip").unlink()
    bench.write({"box.tgz": tarred(FILES)})
    assert summary(bench.ingest()) == {"moved": 3, "unchanged": 1}
    assert verify(bench.root, deep=True) == []


def test_a_file_that_moves_into_an_archive_is_not_parsed_again(bench: Workbench) -> None:
    bench.ingest()
    (bench.docs / "other.md").rename(bench.folder / "other.md")
    bench.write({"pack.zip": zipped(FILES | {"other.md": (bench.folder / "other.md").read_bytes()})})
    assert summary(bench.ingest()) == {"moved": 1, "unchanged": 3}


@pytest.mark.parametrize("damaged", [zipped(FILES)[:300], b"", bytes(900)], ids=["cut", "empty", "zeros"])
def test_a_damaged_archive_is_one_reject_and_its_documents_stay_stale(bench: Workbench, damaged: bytes) -> None:
    bench.ingest()
    before = bench.chunks()
    good = (bench.docs / "pack.zip").read_bytes()
    (bench.docs / "pack.zip").write_bytes(damaged)
    report = bench.ingest()
    assert (report.documents.stale, report.documents.rejected, report.documents.deleted) == (3, 1, 0)
    assert report.exit_status == 3
    assert bench.chunks() == before
    assert [row for row in rows(bench, "uri, status") if row[1] == "stale"] == [
        (f"pack.zip/{name}", "stale") for name in sorted(FILES)
    ]
    assert [uri for (uri,) in rows(bench, "uri", "rejects")] == ["pack.zip"]
    again = bench.ingest()
    assert (summary(again), again.snapshot) == ({"stale": 3, "rejected": 1, "unchanged": 1}, None)
    (bench.docs / "pack.zip").write_bytes(good)
    back = bench.ingest()
    assert (back.parsed, back.exit_status, rows(bench, "uri", "rejects")) == (0, 0, [])
    assert {status for (status,) in rows(bench, "status")} == {"ok"}
    assert verify(bench.root, deep=True) == []


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_a_member_whose_name_leads_out_of_the_archive_is_a_reject(tmp_path: Path, pack: Callable[..., bytes]) -> None:
    bench = Workbench(tmp_path)
    bench.settings = {"discover": {"exclude": ["*.txt", ".*"]}}
    names = ["../up.md", "/etc/passwd", ".hidden/../../up.txt", "..", "a/../../../../out.md"]
    bench.write(
        {"pack.zip": pack({"guide.md": FILES["guide.md"], ".hidden/kept out.md": "x", **dict.fromkeys(names, "x")})}
    )
    report = bench.ingest()
    assert (report.documents.added, report.documents.rejected, report.exit_status) == (1, len(names), 3)
    assert {*rows(bench, "uri, reason", "rejects")} == {(f"pack.zip/{name}", "unsafe_path") for name in names}
    assert summary(bench.ingest()) == {"rejected": len(names), "unchanged": 1}


def test_an_archive_replaced_by_a_document_loses_its_members_unless_they_are_too_many(bench: Workbench) -> None:
    bench.ingest()
    (bench.docs / "pack.zip").write_text("<html><body><p>The download has expired.</p></body></html>")
    with pytest.raises(SourceError, match="would lose 3 of 4 documents"):
        bench.ingest()
    report = bench.ingest(allow_delete=True)
    assert (report.documents.added, report.documents.deleted) == (1, 3)
    assert [uri for (uri,) in rows(bench, "uri")] == ["other.md", "pack.zip"]


def test_an_emptied_archive_is_refused_as_an_emptied_folder_is(bench: Workbench) -> None:
    bench.ingest()
    (bench.docs / "pack.zip").write_bytes(zipped({}))
    with pytest.raises(SourceError, match="would lose 3 of 4 documents"):
        bench.ingest()
    report = bench.ingest(allow_delete=True)
    assert (report.documents.deleted, report.documents.rejected) == (3, 1)
    assert rows(bench, "uri, reason", "rejects") == [("pack.zip", "empty")]


def test_archives_in_archives_are_opened_and_keep_their_places(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    inner = tarred({"b/c.md": "# C\n\nDeep inside.\n"})
    bench.write({"a.zip": zipped({"x.tar.gz": inner, "y.md": "# Y\n\nNot so deep.\n"})})
    bench.ingest()
    assert rows(bench, "uri, parent") == [("a.zip/x.tar.gz/b/c.md", "a.zip/x.tar.gz"), ("a.zip/y.md", "a.zip")]
    bench.settings = {"archives": {"max_depth": 1}}
    report = bench.ingest()
    assert (report.documents.stale, report.documents.rejected) == (1, 1)
    assert rows(bench, "uri, reason", "rejects") == [("a.zip/x.tar.gz", "too_large")]


def test_a_member_that_cannot_be_used_is_a_reject_of_its_own(bench: Workbench) -> None:
    bench.write({"pack.zip": zipped(FILES | {"bad.pdf": b"%PDF-1.7 nothing more", "empty.md": b""})})
    report = bench.ingest()
    assert (report.documents.added, report.documents.rejected, report.exit_status) == (4, 2, 3)
    assert rows(bench, "uri, reason", "rejects") == [("pack.zip/bad.pdf", "corrupt"), ("pack.zip/empty.md", "empty")]
    again = bench.ingest()
    assert (again.snapshot, again.parsed, again.documents.rejected) == (None, 0, 2)


def test_members_follow_the_rules_of_the_source(bench: Workbench) -> None:
    hidden = {".git/config": "x", "__MACOSX/._guide.md": "x", "deep/.DS_Store": "x", "drafts/a.md": "# A\n\nDraft.\n"}
    bench.write({"pack.zip": zipped(FILES | hidden), ".docmillignore": "drafts/\n"})
    bench.settings = {"discover": {"exclude": ["pack.zip/deep/er/"]}}
    bench.ingest()
    assert [uri for (uri,) in rows(bench, "uri")] == ["other.md", "pack.zip/deep/notes.txt", "pack.zip/guide.md"]


def test_an_archive_does_not_say_itself_what_is_left_out(bench: Workbench) -> None:
    bench.write({"pack.zip": zipped({".docmillignore": "*.md\n", "guide.md": "# Guide\n\nKept.\n"})})
    bench.ingest()
    assert [uri for (uri,) in rows(bench, "uri")] == ["other.md", "pack.zip/guide.md"]


def test_a_compressed_file_is_named_after_the_file_that_it_is_now_in(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    bench.write({"notes.md.gz": gzip.compress(FILES["guide.md"].encode())})
    bench.ingest()
    assert rows(bench, "uri") == [("notes.md.gz/notes.md",)]
    (bench.docs / "notes.md.gz").rename(bench.docs / "guide.md.gz")
    assert summary(bench.ingest()) == {"moved": 1}
    assert rows(bench, "uri") == [("guide.md.gz/guide.md",)]


def letter(text: str, **attached: str | bytes) -> bytes:
    """Return a mail; the names of attachments are written with `_` for their dot."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "ann@example.org", "bob@example.org", "The knobs"
    message["Date"] = "Tue, 05 Mar 2024 06:07:08 +0100"
    message.set_content(text)
    for name, content in attached.items():
        data = content.encode() if isinstance(content, str) else content
        message.add_attachment(data, "application", "octet-stream", filename=name.replace("_", "."))
    return message.as_bytes()


def test_what_is_attached_to_a_mail_is_documents_beside_the_mail(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    guide, pack = FILES["guide.md"], zipped({"prices.csv": FILES["deep/er/prices.csv"]})
    bench.write({"letter.eml": letter("Here is the guide.\n", guide_md=guide, pack_zip=pack)})
    assert bench.ingest().exit_status == 0
    assert rows(bench, "uri, parent, author") == [
        ("letter.eml", "", "ann@example.org"),
        ("letter.eml/guide.md", "letter.eml", ""),
        ("letter.eml/pack.zip/prices.csv", "letter.eml/pack.zip", ""),
    ]
    bench.write({"letter.eml": letter("Here is the guide again.\n", guide_md=guide, pack_zip=pack)})
    changed = bench.ingest()
    assert (changed.documents.changed, changed.documents.unchanged, changed.parsed) == (1, 2, 1)
    bench.write({"letter.eml": letter("Here is the guide again.\n", guide_md=guide)})
    assert bench.ingest(allow_delete=True).documents.deleted == 1
    assert [uri for (uri,) in rows(bench, "uri")] == ["letter.eml", "letter.eml/guide.md"]
    assert verify(bench.root, deep=True) == []


def test_the_logo_of_a_mail_is_no_reject(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    message = EmailMessage()
    message["From"], message["Subject"] = "ann@example.org", "The knobs"
    message.set_content('<p>Here is the guide.</p><img src="cid:logo">', subtype="html")
    message.add_related(b"\x89PNG", "image", "png", cid="<logo>", filename="logo.png")
    bench.write({"letter.eml": message.as_bytes()})
    report = bench.ingest()
    assert (report.exit_status, report.rejects, rows(bench, "uri")) == (0, [], [("letter.eml",)])


def test_a_mail_in_an_archive_has_its_attachments_below_it(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    bench.write({"box.tar": tarred({"in/letter.eml": letter("Hello.\n", guide_md=FILES["guide.md"])}, "w")})
    bench.ingest()
    parents = [("box.tar/in/letter.eml", "box.tar"), ("box.tar/in/letter.eml/guide.md", "box.tar/in/letter.eml")]
    assert rows(bench, "uri, parent") == parents


NAMES = st.lists(st.text("abc ä", min_size=1, max_size=3).map(str.strip).filter(bool), min_size=1, max_size=3)
TREES = st.dictionaries(NAMES.map(lambda steps: "/".join(steps) + ".md"), st.text("ab #\n|-", min_size=1), min_size=1)


@examples(5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=TREES, as_tar=st.booleans())
def test_a_packed_folder_is_the_same_documents_as_the_folder(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, str], as_tar: bool
) -> None:
    bench = Workbench(tmp_path_factory.mktemp("packed"))
    bench.write({f"plain/{name}": text for name, text in files.items()})
    bench.write({"pack": tarred(files) if as_tar else zipped(files)})
    bench.ingest()

    def below(folder: str) -> list[tuple[str, ...]]:
        start = len(folder) + 1
        documents = f"SELECT uri, text_key, chunk_key, title, status FROM documents WHERE starts_with(uri, '{folder}/')"
        chunks = f"SELECT uri, ordinal, text, context FROM chunks WHERE starts_with(uri, '{folder}/')"
        found = [row for query in (documents, chunks) for row in bench.store.sql(query).to_pylist()]
        return sorted((row.pop("uri")[start:], *map(str, row.values())) for row in found)

    assert below("pack") == below("plain")
    shutil.rmtree(bench.folder)
