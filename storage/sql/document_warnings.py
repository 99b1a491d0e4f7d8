"""Document warnings: what was lost of a document, or read by a lesser way, from the metadata that its parser left."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple


class DocumentWarning(NamedTuple):
    """A warning about a document; `lost` says whether text of it is missing in the store."""

    kind: str
    message: str
    lost: bool


def warnings_of(metadata: str) -> list[DocumentWarning]:
    """Return the warnings of a document, given its column `metadata`, which is JSON.

    `WARNINGS` says the same in SQL.
    """
    facts: Mapping[str, Any] = json.loads(metadata or "{}")
    by_ocr = _pages(facts, "ocr_pages")
    garbled = [page for page in _pages(facts, "garbled_pages") if page not in by_ocr]
    damaged, pages = _pages(facts, "damaged_pages"), facts.get("pages")
    found = []
    if garbled:
        message = f"{len(garbled)} of {pages} pages: their fonts do not say which letters they draw"
        found.append(DocumentWarning("undecodable_pages", message, True))
    if damaged:
        found.append(DocumentWarning("damaged_pages", f"{len(damaged)} of {pages} pages cannot be read", True))
    if facts.get("read_as"):
        found.append(DocumentWarning("read_as", f"read as {facts['read_as']}", False))
    return found


def lost_text(metadata: str) -> bool:
    """Return whether the store lacks some text of a document, given its column `metadata`."""
    return any(warning.lost for warning in warnings_of(metadata))


def _pages(facts: Mapping[str, Any], name: str) -> list[int]:
    """Return a list of page numbers; none if a document's own front matter says something else by this name."""
    value = facts.get(name)
    return [page for page in value if type(page) is int] if isinstance(value, list) else []


WARNINGS = """\
SELECT uri, document_id, w.kind AS kind, w.message AS message, w.lost AS lost
FROM (
    SELECT uri, document_id, unnest([
        CASE WHEN len(garbled) > 0 THEN {
            'kind': 'undecodable_pages', 'lost': true,
            'message': len(garbled) || ' of ' || pages || ' pages: their fonts do not say which letters they draw'
        } END,
        CASE WHEN len(damaged) > 0 THEN {
            'kind': 'damaged_pages', 'lost': true,
            'message': len(damaged) || ' of ' || pages || ' pages cannot be read'
        } END,
        CASE WHEN read_as <> '' THEN {'kind': 'read_as', 'lost': false, 'message': 'read as ' || read_as} END
    ]) AS w
    FROM (
        SELECT
            uri, document_id, metadata ->> '$.pages' AS pages, metadata ->> '$.read_as' AS read_as,
            list_filter(
                TRY_CAST(metadata -> '$.damaged_pages' AS BIGINT[]), lambda page: page IS NOT NULL
            ) AS damaged,
            list_filter(
                TRY_CAST(metadata -> '$.garbled_pages' AS BIGINT[]),
                lambda page: page IS NOT NULL AND NOT coalesce(
                    list_contains(TRY_CAST(metadata -> '$.ocr_pages' AS BIGINT[]), page), false
                )
            ) AS garbled
        FROM documents
    )
)
WHERE w IS NOT NULL
ORDER BY uri, kind
"""
"""One row for each warning of each document, in any DuckDB."""
