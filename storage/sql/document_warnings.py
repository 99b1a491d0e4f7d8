"""Document warnings: what was lost of a document, or read less reliably, according to its parser's metadata."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from docmill.storage.stated_metadata import as_struct
from docmill.storage.timestamps import with_instants, with_written_times


class DocumentWarning(NamedTuple):
    """A warning about a document; `lost` says whether some of its text is missing in the store."""

    kind: str
    message: str
    lost: bool


_WHY = ("too_large", "too_many", "broken", "unread")
_NOT_KEPT = "pictures that are not kept, as they are damaged, too large, too many, or of a type that is not read: "


def warnings_of(metadata: str, beside: Iterable[str] = ()) -> list[DocumentWarning]:
    """Return the warnings of a document, given its columns `metadata`, which is JSON, and `metadata_warnings`.

    `WARNINGS` and `MESSAGES` say the same in SQL.
    """
    return warnings_in(json.loads(metadata or "{}")) + [DocumentWarning("metadata", one, False) for one in beside]


def warnings_in(facts: Mapping[str, Any]) -> list[DocumentWarning]:
    """Return the warnings of a document, given the metadata from its parser."""
    by_ocr = _pages(facts, "ocr_pages")
    garbled = [page for page in _pages(facts, "garbled_pages") if page not in by_ocr]
    damaged, scanned, pages = _pages(facts, "damaged_pages"), _pages(facts, "scanned_pages"), facts.get("pages")
    found = []
    if garbled:
        message = f"{len(garbled)} of {pages} pages: their fonts do not say which letters they draw"
        found.append(DocumentWarning("undecodable_pages", message, True))
    if damaged:
        found.append(DocumentWarning("damaged_pages", f"{len(damaged)} of {pages} pages cannot be read", True))
    if scanned:
        message = f"{len(scanned)} of {pages} pages are pictures: docmill[ocr] reads them"
        found.append(DocumentWarning("scanned_pages", message, True))
    if by_ocr:
        found.append(DocumentWarning("ocr_pages", _told_of_ocr(by_ocr, pages, _pages(facts, "ocr_confidence")), False))
    if lost := _left_out(facts):
        found.append(DocumentWarning("figures_left_out", f"{_NOT_KEPT}{lost}", False))
    if facts.get("read_as"):
        found.append(DocumentWarning("read_as", f"read as {facts['read_as']}", False))
    return found


def messages_of(metadata: str, beside: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the value of `documents.warnings`, given the columns `metadata` and `metadata_warnings`."""
    return tuple(warning.message for warning in warnings_of(metadata, beside))


def lost_text(metadata: str) -> bool:
    """Return whether the store lacks some text of a document, given its column `metadata`."""
    return any(warning.lost for warning in warnings_of(metadata))


def _left_out(facts: Mapping[str, Any]) -> int:
    """Return how many pictures are not kept although they may show something; decoration is left out on purpose."""
    counts = facts.get("figures_left_out")
    known = counts if isinstance(counts, dict) else {}
    return sum(known[why] for why in _WHY if type(known.get(why)) is int)


def _told_of_ocr(by_ocr: list[int], pages: Any, sure: list[int]) -> str:
    named = ", ".join(map(str, by_ocr[:_NAMED])) + (", …" if len(by_ocr) > _NAMED else "")
    certainty = f"; it is at least {min(sure)} % sure" if sure else ""
    return f"{len(by_ocr)} of {pages} pages were read by OCR ({named}){certainty}"


def _pages(facts: Mapping[str, Any], name: str) -> list[int]:
    """Return a list of page numbers; empty if a document's front matter uses this name for something else."""
    value = facts.get(name)
    return [page for page in value if type(page) is int] if isinstance(value, list) else []


_NAMED = 10  # the most pages that a message lists; the metadata has all of them
_SAID = "CASE WHEN json_valid(metadata) THEN metadata ELSE '{}' END"  # a row of an older docmill may have none


def _numbers(name: str) -> str:
    numbers = f"TRY_CAST(({_SAID}) -> '$.{name}' AS BIGINT[])"
    return f"list_filter({numbers}, lambda page: page IS NOT NULL)"


_DAMAGED = _numbers("damaged_pages")
_SCANNED = _numbers("scanned_pages")
_BY_OCR = f"coalesce(list_contains({_numbers('ocr_pages')}, page), false)"
_OCR, _SURE = _numbers("ocr_pages"), _numbers("ocr_confidence")
_GARBLED = f"list_filter({_numbers('garbled_pages')}, lambda page: NOT {_BY_OCR})"
_PAGES = f"(({_SAID}) ->> '$.pages')"
_LEFT_OUT = "({})".format(
    " + ".join(f"coalesce(TRY_CAST(({_SAID}) ->> '$.figures_left_out.{why}' AS BIGINT), 0)" for why in _WHY)
)
_READ_AS = f"(({_SAID}) ->> '$.read_as')"
_FOUND = f"""\
list_concat(list_filter([
    CASE WHEN len({_GARBLED}) > 0 THEN {{
        'kind': 'undecodable_pages', 'lost': true,
        'message': len({_GARBLED}) || ' of ' || {_PAGES} || ' pages: their fonts do not say which letters they draw'
    }} END,
    CASE WHEN len({_DAMAGED}) > 0 THEN {{
        'kind': 'damaged_pages', 'lost': true,
        'message': len({_DAMAGED}) || ' of ' || {_PAGES} || ' pages cannot be read'
    }} END,
    CASE WHEN len({_SCANNED}) > 0 THEN {{
        'kind': 'scanned_pages', 'lost': true,
        'message': len({_SCANNED}) || ' of ' || {_PAGES} || ' pages are pictures: docmill[ocr] reads them'
    }} END,
    CASE WHEN len({_OCR}) > 0 THEN {{
        'kind': 'ocr_pages', 'lost': false,
        'message': len({_OCR}) || ' of ' || {_PAGES} || ' pages were read by OCR ('
            || array_to_string(({_OCR})[1:{_NAMED}], ', ') || CASE WHEN len({_OCR}) > {_NAMED} THEN ', …' ELSE '' END
            || ')' || CASE WHEN len({_SURE}) > 0 THEN '; it is at least ' || list_min({_SURE}) || ' % sure' ELSE '' END
    }} END,
    CASE WHEN {_LEFT_OUT} > 0 THEN {{
        'kind': 'figures_left_out', 'lost': false, 'message': '{_NOT_KEPT}' || {_LEFT_OUT}
    }} END,
    CASE WHEN {_READ_AS} <> '' THEN {{'kind': 'read_as', 'lost': false, 'message': 'read as ' || {_READ_AS}}} END
], lambda found: found IS NOT NULL), list_transform(coalesce(metadata_warnings, []), lambda one: {{
    'kind': 'metadata', 'lost': false, 'message': one
}}))"""
MESSAGES = f"list_transform({_FOUND}, lambda found: found.message)"
"""The value of `documents.warnings`, given the columns `metadata` and `metadata_warnings`, in any DuckDB.

It is computed, not stored, so documents that an older docmill wrote have it, too."""
WARNINGS = f"""\
SELECT uri, document_id, w.kind AS kind, w.message AS message, w.lost AS lost
FROM (SELECT uri, document_id, unnest({_FOUND}) AS w FROM documents)
ORDER BY uri, kind
"""
"""One row for each warning of each document, in any DuckDB."""


def with_derived(name: str, select: str, keys: Mapping[str, str]) -> str:
    """Return the SELECT of a table's columns as SQL shows them.

    Times are timestamps instead of texts. Documents also have `warnings` and the values of `keys`, the keys of
    [metadata].
    """
    timed = with_written_times(name, select)
    if name not in ("documents", "deleted"):
        return timed
    timed = as_struct(keys, with_instants(timed))
    return f"SELECT *, {MESSAGES} AS warnings FROM ({timed})" if name == "documents" else timed
