"""Access grants: who may see files for which no sidecar, folder or source says so, from the settings in `[access]`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import pyarrow as pa

from docmill.storage.schema import EVERYONE
from docmill.storage.snapshots.tables.row_columns import RowColumns
from docmill.storage.stated_metadata import ACCESS, record_of, record_text
from docmill.tasks.sources.source import Listing, Source, SourceFile

Listed = tuple[Source, Listing]


@dataclass(frozen=True, slots=True)
class Grants:
    """The principals of `sources` by name, and the `default` for all others."""

    default: tuple[str, ...] = (EVERYONE,)
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, source: str) -> tuple[str, ...]:
        """Return the principals of a source."""
        return self.sources.get(source, self.default)


def granted(listings: Sequence[Listed], grants: Grants) -> list[Listed]:
    """Return the listings, granting the access of the settings to files for which nothing else states it."""
    return [(source, _granted(listing, grants.of(source.name))) for source, listing in listings]


def _granted(listing: Listing, access: tuple[str, ...]) -> Listing:
    # The default of rows without a record is not written, so that a store without these settings stays as it is.
    return listing if access == (EVERYONE,) else replace(listing, found=_with(listing.found, cache(_grant(access))))


def _grant(access: tuple[str, ...]) -> Callable[[str], str]:
    def text_of(described: str) -> str:
        return record_text({ACCESS: [*access], **record_of(described)})

    return text_of


def _with(files: Sequence[SourceFile], text_of: Callable[[str], str]) -> Sequence[SourceFile]:
    """Return files with their records replaced by the results of `text_of`."""
    if not isinstance(files, RowColumns):
        return [replace(file, described=text_of(file.described)) for file in files]
    table = files.table
    had = table.column("described").to_pylist() if "described" in table.column_names else [""] * table.num_rows
    texts = pa.array(map(text_of, had), pa.string())
    others = tuple(replace(file, described=text_of(file.described)) for file in files.others)
    bare = table.drop_columns("described") if "described" in table.column_names else table
    return replace(files, table=bare.append_column("described", texts), others=others)


def access_of(described: str) -> tuple[str, ...]:
    """Return the column `access` of a document, given its column `described`."""
    return tuple(record_of(described).get(ACCESS, (EVERYONE,)))
