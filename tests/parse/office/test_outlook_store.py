"""Outlook's data files: how readpst is asked, and what is made of its answer.

No program that is free writes such a file, so the program here is a script, which writes what readpst 0.6.76 writes.
"""

import textwrap
from pathlib import Path

import pytest

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.storage.sql.document_warnings import warnings_in
from docmill.tasks.archive.archive_options import ArchiveOptions
from docmill.tasks.archive.listing import list_contents
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.mail.messages import attachments
from docmill.tasks.paths.local_file import LocalFile
from docmill.tasks.sources.listings import Listings
from docmill.tasks.work.pool.limits import Limits
from docmill.tasks.work.pool.pool import Pool

STORE = b"!BDN" + bytes(5_000)
ASKED = """#!/bin/sh
for argument; do
  case "$last" in -o) out="$argument" ;; esac
  last="$argument"
done
test "$HOME" = "$(pwd)" || exit 9
test "$(head -c 4 "$last")" = '!BDN' || exit 8
cd "$out"
"""
BOXES = ASKED + textwrap.dedent("""\
    mkdir -p 'Archive 2014/Inbox/Gates' 'Archive 2014/Sent Items' 'Archive 2014/Calendar'
    cat > 'Archive 2014/Inbox/Gates/mbox' <<'END'
    From "ann@mill.example" Wed Feb 26 07:50:04 2014
    From: Ann Reed <ann@mill.example>
    Subject: The lower gate
    Date: Wed, 26 Feb 2014 08:50:04 +0100
    MIME-Version: 1.0
    Content-Type: multipart/mixed;
    \tboundary="--boundary-LibPST-iamunique-861079677_-_-"


    ----boundary-LibPST-iamunique-861079677_-_-
    Content-Type: text/plain; charset="utf-8"

    It leaks at the größte hinge.

    >From the weir it looks dry.

    ----boundary-LibPST-iamunique-861079677_-_-
    Content-Type: text/csv
    Content-Disposition: attachment; filename="levels.csv"

    day,level
    1,22

    ----boundary-LibPST-iamunique-861079677_-_---

    From "bo@mill.example" Wed Feb 26 09:00:00 2014
    From: bo@mill.example
    Date: Wed, 26 Feb 2014 10:00:00 +0100

    I shall look at it.

    END
    cat > 'Archive 2014/Sent Items/mbox' <<'END'
    From "MAILER-DAEMON" Thu Feb 27 09:00:00 2014
    Subject: Invoice

    Paid on Thursday.

    END
    printf 'BEGIN:VEVENT\\nSUMMARY:Repair\\nEND:VEVENT\\n' > 'Archive 2014/Calendar/calendar'
    echo '	"Inbox" - 3 items done, 0 items skipped.'
    """)


def _install(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = folder / "readpst"
    program.write_text(script)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def _read(data: bytes = STORE, options: ParseOptions | None = None) -> Parsed:
    return parse(data, FileType("pst"), options or ParseOptions())


def test_each_folder_is_a_section_and_each_of_its_mails_one_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install(tmp_path, monkeypatch, BOXES)
    assert detect_file_type("archive.pst", STORE) == detect_file_type("x", STORE) == FileType("pst")
    parsed = _read()
    headings = [(one.level, parsed.text[one.start_char : one.end_char].strip("# \n"), one.page)
                for one in parsed.elements if one.kind == "title"]  # fmt: skip
    assert [(level, text) for level, text, _ in headings] == [
        (1, "Inbox / Gates"), (2, "The lower gate"), (2, "Message 2"), (1, "Sent Items"), (2, "Invoice"),
    ]  # fmt: skip
    assert [page for level, _, page in headings if level == 2] == [1, 2, 3]
    assert (parsed.title, parsed.metadata) == ("Archive 2014", {"messages": 3})
    paragraphs = [parsed.text[one.start_char : one.end_char].strip() for one in parsed.elements]
    for said in ("It leaks at the größte hinge.", "From the weir it looks dry.", "I shall look at it.",
                 "Paid on Thursday."):  # fmt: skip
        assert said in paragraphs


def test_attachments_and_calendars_are_files_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install(tmp_path, monkeypatch, BOXES)
    names = [name for name, _ in attachments(STORE, "pst")]
    assert names == ["levels.csv", "calendar.ics"]
    path = tmp_path / "archive.pst"
    path.write_bytes(STORE)
    contents = list_contents(LocalFile(str(path)), path.name, ArchiveOptions())
    assert (contents.kind, [one.name for one in contents.entries]) == ("mail", names)


def test_a_store_is_read_in_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install(tmp_path, monkeypatch, BOXES)
    with Pool(Limits(workers=1)) as pool:
        assert list(pool.map(_title, [STORE])) == ["Archive 2014"]


def _title(data: bytes) -> str:
    return _read(data).title


def test_items_that_readpst_cannot_read_are_counted_in_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install(tmp_path, monkeypatch, BOXES + "echo '	\"Sent Items\" - 1 items done, 2 items skipped.'\n")
    (warning,) = warnings_in(_read().metadata)
    assert warning.message == "read as a mailbox without 2 items that readpst could not read"


def test_without_readpst_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Rejected, match=r"not_installed: Outlook's data files \(\.pst, \.ost\) need readpst: install"):
        _read()
    with pytest.raises(Rejected, match="not_installed"):
        attachments(STORE, "pst")


def test_attachments_are_looked_for_again_once_readpst_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "archive.pst"
    path.write_bytes(STORE)
    monkeypatch.setenv("PATH", str(tmp_path))
    lacking = list_contents(LocalFile(str(path)), path.name, ArchiveOptions())
    assert [one.reason for one in lacking.entries] == ["not_installed"]
    _install(tmp_path, monkeypatch, BOXES)
    whole = list_contents(LocalFile(str(path)), path.name, ArchiveOptions())
    listings = Listings(tmp_path, ArchiveOptions())
    listings.put("lacking", str(path), lacking)
    assert listings.get("lacking") == lacking
    listings.save()
    listings.put("whole", str(path), whole)
    listings.save()
    kept = Listings(tmp_path, ArchiveOptions())
    assert (kept.get("lacking"), kept.get("whole")) == (None, whole)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 'Could not get root record' >&2; exit 1\n", "corrupt: readpst cannot read it: Could not get root"),
        ("exit 1\n", "corrupt: .*it gives no reason"),
        ("kill -9 $$\n", "crashed: readpst was killed by signal 9"),
        ("exit 0\n", "no_text: "),
        ("mkdir A && yes | head -c 2000 > A/mbox\n", "too_large: the data file holds 2000 bytes"),
        ("mkdir A && ln -s /etc/hosts A/mbox\n", "no_text: "),
    ],
)
def test_a_store_that_cannot_be_read_is_a_reject(
    script: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install(tmp_path, monkeypatch, ASKED + script)
    with pytest.raises(Rejected, match=message):
        _read(options=ParseOptions(max_unpacked_bytes=1_999))


def test_readpst_ends_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install(tmp_path, monkeypatch, ASKED + "exec sleep 60\n")
    monkeypatch.setattr("docmill.tasks.parse.mail.messages._TIMEOUT_S", 0.3)
    with pytest.raises(Rejected, match=r"timeout: readpst took more than 0\.3 seconds"):
        _read()


def test_mail_of_apple_gives_its_attachments(tmp_path: Path) -> None:
    mail = (
        b"From: a@mill.example\nSubject: Gauges\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=x\n\n"
        b"--x\n\nSee the list.\n--x\nContent-Disposition: attachment; filename=a.csv\n\n1,2\n--x--\n"
    )
    path = tmp_path / "1.emlx"
    path.write_bytes(b"%d\n" % len(mail) + mail + b'<?xml version="1.0"?><plist></plist>\n')
    contents = list_contents(LocalFile(str(path)), path.name, ArchiveOptions())
    assert (contents.kind, [one.name for one in contents.entries]) == ("mail", ["a.csv"])
