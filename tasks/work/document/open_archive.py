"""Open archive: the worker calls that list the members of a file and copy one of them."""

from dataclasses import dataclass
from pathlib import Path

# A worker's memory limit is counted on top of the imports of its first call.
import docmill.tasks.work.document.process  # noqa: F401
from docmill.storage.errors import Rejected
from docmill.tasks.archive.archive_options import ArchiveOptions
from docmill.tasks.archive.contents import Contents, Place
from docmill.tasks.archive.listing import extract, list_contents
from docmill.tasks.paths.local_file import LocalFile


@dataclass(frozen=True, slots=True)
class FileListing:
    """The input of one worker call: a file that may contain others."""

    file: LocalFile
    name: str
    options: ArchiveOptions


@dataclass(frozen=True, slots=True)
class MemberCopy:
    """The input of one worker call: a member of an archive, and where its bytes go."""

    archive: FileListing
    place: Place
    target: str


def look(job: FileListing) -> Contents:
    """Return the contents of a file; runs in a worker process."""
    return list_contents(job.file, job.name, job.options)


def copy_member(job: MemberCopy) -> None:
    """Write one member to its target; runs in a worker process. Raises Rejected if it is not there."""
    target = Path(job.target)
    extract(job.archive.file, job.archive.name, {job.place: target}, job.archive.options)
    if not target.exists():
        raise Rejected("unreadable", "the archive has no such member any more")
