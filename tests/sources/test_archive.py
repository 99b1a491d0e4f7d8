"""What is in an archive, and that no archive can do harm: every bomb is found while it goes off."""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.storage.errors import ConfigError, Rejected
from docmill.storage.keys import hash_bytes
from docmill.tasks.archive.archive_kinds import HEAD_BYTES, may_hold
from docmill.tasks.archive.archive_options import ArchiveOptions
from docmill.tasks.archive.contents import Contents
from docmill.tasks.archive.listing import extract, list_contents
from docmill.tasks.archive.member_names import inner_path, uncompressed
from docmill.tasks.paths.local_file import LocalFile
from tests.kit.drawing import examples
from tests.kit.writers import archives
from tests.kit.writers.archives import Files, tarred, zipped

SMALL = ArchiveOptions(members=50, total_bytes=40_000_000, ratio=100, depth=3, member_bytes=25_000_000)


def contents(data: bytes, name: str = "x", options: ArchiveOptions = SMALL, *, folder: Path) -> Contents:
    path = folder / "file"
    path.write_bytes(data)
    return list_contents(LocalFile(str(path)), name, options)


def reasons(found: Contents) -> dict[str, str]:
    return {entry.name: entry.reason for entry in found.entries}


def test_a_listing_gives_paths_hashes_and_parents(tmp_path: Path) -> None:
    found = contents(zipped({"a.md": "A", "in.zip": zipped({"b/c.md": "C"})}), folder=tmp_path)
    assert [(e.place, e.name, e.parent, e.size, e.content_hash) for e in found.entries] == [
        ((0,), "a.md", "", 1, hash_bytes(b"A")),
        ((1, 0), "in.zip/b/c.md", "in.zip", 1, hash_bytes(b"C")),
    ]


def test_of_files_with_one_name_the_last_is_read_at_every_depth(tmp_path: Path) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("a.md", "A")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("a.md", "B")
    assert [one.place for one in contents(made.getvalue(), folder=tmp_path).entries] == [(1,), (0,)]
    for name, data in (("a.md", made.getvalue()), ("in.zip/a.md", zipped({"in.zip": made.getvalue()}))):
        found = contents(data, folder=tmp_path)
        assert [(e.name, e.content_hash) for e in found.entries if not e.skipped] == [(name, hash_bytes(b"B"))]
        assert [(e.name, e.reason) for e in found.entries if e.skipped] == [(name, "duplicate")]


@pytest.mark.parametrize("data", [b"plain text", b"", b"%PDF-1.7", zipped({"word/document.xml": "<a/>"})])
def test_what_holds_no_files_is_no_archive(tmp_path: Path, data: bytes) -> None:
    assert contents(data, "x.zip", folder=tmp_path) == Contents("")


@pytest.mark.parametrize(
    "name", ["../x.md", "/etc/x", "a/../../x", "C:\\x.md", "..\\x.md", "\\\\host\\x", "", "a\0b", "."]
)
def test_no_name_leads_out_of_the_archive(name: str) -> None:
    with pytest.raises(Rejected) as caught:
        inner_path(name)
    assert caught.value.reason == "unsafe_path"


@examples(100)
@given(st.text(max_size=30))
def test_a_path_is_one_or_is_refused(name: str) -> None:
    try:
        path = inner_path(name)
    except Rejected:
        return
    assert not {"", ".", ".."} & {*path.split("/")}
    assert inner_path(path) == path


def test_names_with_backslashes_and_dots_are_paths() -> None:
    assert inner_path("./a\\b//c.md") == "a/b/c.md"
    assert [uncompressed(name) for name in ("a/b.txt.gz", "b.TGZ", "b")] == ["b.txt", "b.tar", "b"]


def test_a_member_with_a_hostile_name_is_refused_and_the_others_stay(tmp_path: Path) -> None:
    for data in (zipped({"../../x.md": "X", "a.md": "A"}), tarred({"../../x.md": "X", "/y.md": "Y", "a.md": "A"})):
        found = reasons(contents(data, folder=tmp_path))
        assert found.pop("a.md") == ""
        assert set(found.values()) == {"unsafe_path"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_links_and_devices_are_told_and_not_followed(tmp_path: Path) -> None:
    kinds = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE)
    for data in (archives.special_tar(*kinds), archives.linked_zip()):
        found = contents(data, folder=tmp_path)
        assert [entry.name for entry in found.entries if not entry.reason] == ["plain.md"]
        assert all(entry.skipped for entry in found.entries if entry.reason)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (lambda: archives.overlapping_zip(40), "overlap"),
        (lambda: zipped({f"{number}.md": "x" for number in range(51)}), "more than 50 members"),
        (lambda: zipped({f"{number}.md": bytes(20 << 20) for number in range(3)}), "more than 100 times"),
        (lambda: gzip.compress(tarred({f"{number}": bytes(8 << 20) for number in range(9)}, "w")), "100 times"),
    ],
)
def test_an_archive_over_a_limit_is_refused_as_a_whole(tmp_path: Path, data: Callable[[], bytes], message: str) -> None:
    found = contents(data(), folder=tmp_path)
    assert (found.entries, found.reason in ("too_large", "corrupt")) == ((), True)
    assert message in found.message


def test_the_bytes_of_all_members_together_are_limited_on_every_level(tmp_path: Path) -> None:
    options = ArchiveOptions(total_bytes=50)
    flat = zipped({"a.md": "x" * 30, "b.md": "y" * 30})
    deep = tarred({"a.md": "x" * 30, "b.gz": gzip.compress(b"y" * 30)}, "w:gz")
    for data in (flat, deep):
        found = contents(data, "x", options, folder=tmp_path)
        assert (found.entries, found.reason) == ((), "too_large")
        assert "more than 50 bytes (archives.max_bytes)" in found.message
    assert reasons(contents(flat, "x", ArchiveOptions(total_bytes=60), folder=tmp_path)) == {"a.md": "", "b.md": ""}


def test_a_bomb_of_archives_is_found_however_deep_it_is_and_costs_no_more_than_the_limit(tmp_path: Path) -> None:
    flat = contents(archives.zip_bomb(levels=1, width=16, megabytes=24), folder=tmp_path)
    assert {*reasons(flat).values()} == {"too_large"} or flat.reason == "too_large"
    deep = contents(archives.zip_bomb(levels=5, width=1, megabytes=1), folder=tmp_path)
    assert reasons(deep) == {"0.zip/0.zip/0.zip": "too_large"}
    twice = contents(archives.gzip_bomb(60), "x.gz.gz", folder=tmp_path)
    assert twice.reason == "too_large" or {*reasons(twice).values()} == {"too_large"}


def test_sizes_that_an_archive_states_are_not_believed(tmp_path: Path) -> None:
    assert reasons(contents(archives.lying_zip(), folder=tmp_path)) == {"a.txt": "corrupt"}
    assert contents(archives.boastful_tar(1 << 60), folder=tmp_path).reason == "corrupt"


def test_a_member_too_large_is_refused_alone(tmp_path: Path) -> None:
    options = ArchiveOptions(member_bytes=10)
    assert reasons(contents(tarred({"a": "x" * 11, "b": "y"}), "x", options, folder=tmp_path)) == {
        "a": "too_large",
        "b": "",
    }


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz", "w:bz2"])
def test_a_truncated_or_damaged_tar_is_never_a_shorter_one(tmp_path: Path, mode: str) -> None:
    whole = tarred({f"{number}.md": f"# {number}\n" * 300 for number in range(9)}, mode)
    assert contents(whole[: len(whole) // 2], folder=tmp_path).reason == "corrupt"
    damaged = bytearray(tarred({f"{number}.md": "x" * 600 for number in range(9)}, "w"))
    damaged[1536 * 4 : 1536 * 4 + 300] = b"\xff" * 300
    assert contents(bytes(damaged), folder=tmp_path).reason == "corrupt"


def test_a_damaged_member_of_a_zip_is_refused_alone(tmp_path: Path) -> None:
    data = bytearray(zipped({"a.md": "A" * 50, "b.md": "B" * 50}))
    data[36] ^= 0xFF
    assert reasons(contents(bytes(data), folder=tmp_path)) == {"a.md": "corrupt", "b.md": ""}


def test_names_that_are_not_unicode_are_read_by_what_they_are(tmp_path: Path) -> None:
    data = zipped({"xxxxxxxxxx.txt": "A"}).replace(b"xxxxxxxxxx", "日本語文書".encode("shift_jis"))
    assert [entry.name for entry in contents(data, folder=tmp_path).entries] == ["日本語文書.txt"]
    data = tarred({"x.md": "A"}, "w").replace(b"x.md", b"\xff.md")
    header = bytearray(data[:512])
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    assert [entry.name for entry in contents(bytes(header) + data[512:], folder=tmp_path).entries] == ["\\xff.md"]


@pytest.mark.parametrize("lock", [archives.locked_zip, archives.aes_zip])
def test_an_encrypted_archive_opens_with_its_password_or_says_so(
    tmp_path: Path, lock: Callable[[Files, bytes], bytes]
) -> None:
    data = lock({"a.md": "# A\n" * 9, "b.md": "# B\n" * 9}, b"sesame")
    found = contents(data, folder=tmp_path)
    assert (found.reason, found.entries) == ("encrypted", ())
    found = contents(data, "x", ArchiveOptions(passwords=("wrong", "sesame")), folder=tmp_path)
    assert [entry.content_hash for entry in found.entries] == [hash_bytes(b"# A\n" * 9), hash_bytes(b"# B\n" * 9)]


def test_wanted_members_are_laid_from_any_depth(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(zipped({"a.md": "A", "in.tgz": tarred({"b.md": "B", "c.md": "C"})}))
    wanted = {(0,): tmp_path / "1", (1, 1): tmp_path / "2"}
    extract(LocalFile(str(tmp_path / "x.zip")), "x.zip", wanted, SMALL)
    assert [(tmp_path / name).read_text() for name in "12"] == ["A", "C"]
    (tmp_path / "x.zip").write_bytes(b"PK\3\4 no more")
    with pytest.raises(Rejected, match="corrupt"):
        extract(LocalFile(str(tmp_path / "x.zip")), "x.zip", wanted, SMALL)


@examples(60)
@given(st.data())
def test_no_damage_does_more_than_refuse(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    files = {"a.md": "# A\n\nText.\n" * 20, "b/c.csv": "a,b\n1,2\n"}
    whole = bytearray(
        data.draw(st.sampled_from([zipped(files), tarred(files), tarred(files, "w"), gzip.compress(b"x" * 99)]))
    )
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole)))
    folder = tmp_path_factory.getbasetemp()
    found = contents(bytes(whole[:cut] if data.draw(st.booleans()) else whole), "x.gz", folder=folder)
    for entry in found.entries:
        assert entry.reason or entry.content_hash


def test_mails_are_seen_by_their_headers_and_texts_are_not_mails() -> None:
    assert may_hold("x", b"From: a@b.c\nSubject: x\n\n") == "mail"
    assert may_hold("x.eml", b"") == "mail"
    assert may_hold("x.md", b"Subject: a note\n\nText.\n"[:HEAD_BYTES]) == ""


def test_limits_that_allow_nothing_cannot_be_built() -> None:
    with pytest.raises(ConfigError, match="depth must be above 0, got 0"):
        ArchiveOptions(depth=0)
