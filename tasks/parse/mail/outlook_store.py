"""Outlook's data files: the folders of a .pst or .ost, each as a mailbox, by `readpst` of libpst, if it is installed.

It runs as a process of its own with the worker's limits.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docmill.storage.errors import Rejected
from docmill.tasks.parse.programs import last_line, run_program

_TIMEOUT_S = 300.0  # a file of 2 MB takes 0.02 s, so gigabytes are read in minutes; damaged ones may keep it for ever
_MAILS = "mbox"
_OTHERS = {"calendar": ".ics", "contacts": ".vcf", "journal": ".ics"}
"""Names of the files that readpst writes beside a folder's mails, each with the suffix that tells what it holds."""
_SKIPPED = re.compile(r"items done, (\d+) items skipped")
_OPTIONS = ("-r", "-8", "-b", "-j", "0")
"""A file for each folder; text in UTF-8; no copies of the text as RTF; one process, as there is a worker for each core.
"""


@dataclass(frozen=True, slots=True)
class MailFolder:
    """A folder of mails: its name with those around it, outermost first, and its mails as an mbox file."""

    names: tuple[str, ...]
    mails: bytes


@dataclass(frozen=True, slots=True)
class OutlookStore:
    """What a data file holds: folders of mails, calendars and contacts as files, and how many items are unreadable."""

    folders: list[MailFolder]
    others: list[tuple[str, bytes]]
    skipped: int


def read_store(data: bytes, most: int) -> OutlookStore:
    """Return the folders of a data file; raise Rejected `not_installed`, `timeout`, `corrupt`, `crashed`, `too_large`.

    `most` limits the bytes of all that is in it.
    """
    program = shutil.which("readpst")
    if program is None:
        raise Rejected("not_installed", "Outlook's data files (.pst, .ost) need readpst: install pst-utils")
    with tempfile.TemporaryDirectory(prefix="docmill-") as name:
        source, made = Path(name, "store.pst"), Path(name, "out")
        source.write_bytes(data)
        made.mkdir()
        done = run_program("readpst", [program, *_OPTIONS, "-o", str(made), str(source)], Path(name), _TIMEOUT_S)
        said = f"{done.output}\n{done.errors}"
        if done.status:
            raise Rejected("corrupt", f"readpst cannot read it: {last_line(said) or 'it gives no reason'}")
        files = sorted(path for path in made.rglob("*") if path.is_file() and not path.is_symlink())
        size = sum(path.stat().st_size for path in files)
        if size > most:
            raise Rejected("too_large", f"the data file holds {size} bytes of mail, the limit is {most}")
        return OutlookStore(list(_folders(files, made)), list(_others(files)), sum(map(int, _SKIPPED.findall(said))))


def _folders(files: list[Path], made: Path) -> Iterator[MailFolder]:
    for path in files:
        if path.name == _MAILS:
            yield MailFolder(path.parent.relative_to(made).parts, path.read_bytes())


def _others(files: list[Path]) -> Iterator[tuple[str, bytes]]:
    for path in files:
        if path.name in _OTHERS:
            yield path.name + _OTHERS[path.name], path.read_bytes()
