"""Work item: content to process, and the row of a rejected document."""

from dataclasses import dataclass

from docmill.storage.errors import Rejected
from docmill.storage.schema import StagedDocument
from docmill.tasks.paths.content import PictureBeside
from docmill.tasks.paths.local_file import ANYWHERE, LocalFile, Reach
from docmill.tasks.work.document.recipe import suffix_of


@dataclass(frozen=True, slots=True)
class WorkItem:
    """Content to process; files of equal content and route share one item and its `key`.

    `text_key` is set if the canonical text is already stored. `uri` gives the suffix and the route. `place` locates a
    member in the archive at `path`; once it is unpacked, `path` is that of the member. `reach` limits where links in
    `path` may lead. `pictures` are the picture files that the document shows.
    """

    key: str
    uri: str
    path: str
    size: int
    content_hash: str
    text_key: str = ""
    format: str = ""
    language: str = ""
    place: tuple[int, ...] = ()
    reach: Reach = ANYWHERE
    pictures: tuple[PictureBeside, ...] = ()

    @property
    def file(self) -> LocalFile:
        """The file to read."""
        return LocalFile(self.path, self.reach)


def rejected_row(work: WorkItem, why: Rejected, parser: str = "") -> StagedDocument:
    """Return the row of a rejected document; `parser` was reading it when it was rejected."""
    return StagedDocument(
        work_key=work.key,
        content_hash=work.content_hash,
        suffix=suffix_of(work.uri),
        size=work.size,
        format="",
        language="",
        title="",
        content_type="",
        text_key="",
        chunk_key="",
        characters=0,
        chunks=0,
        metadata="{}",
        parsed=not work.text_key,
        reason=why.reason,
        message=why.message,
        parser=why.parser or parser,
    )
