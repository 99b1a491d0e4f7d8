"""Look: what one worker call finds in a file that may hold others."""

from dataclasses import dataclass
from pathlib import Path

# A worker's memory is limited to what its first call imports and so much more.
import docmill.tasks.document.process  # noqa: F401
from docmill.tasks.archive.archive_options import ArchiveOptions
from docmill.tasks.archive.listing import Contents, list_contents


@dataclass(frozen=True, slots=True)
class Look:
    """What one worker call gets: a file that may hold others."""

    path: str
    name: str
    options: ArchiveOptions


def look(job: Look) -> Contents:
    """Return what a file holds; runs in a worker process."""
    return list_contents(Path(job.path), job.name, job.options)
