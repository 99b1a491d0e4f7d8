"""List archive: one worker call that lists the members of a file."""

from dataclasses import dataclass
from pathlib import Path

# The memory limit of a worker is relative to the imports of its first call.
import docmill.tasks.document.process  # noqa: F401
from docmill.tasks.archive.archive_options import ArchiveOptions
from docmill.tasks.archive.listing import Contents, list_contents


@dataclass(frozen=True, slots=True)
class FileListing:
    """The input of one worker call: a file that may hold others."""

    path: str
    name: str
    options: ArchiveOptions


def look(job: FileListing) -> Contents:
    """Return the contents of a file; runs in a worker process."""
    return list_contents(Path(job.path), job.name, job.options)
