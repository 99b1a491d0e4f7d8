"""Judgements: what people said about the answers to their queries, stored next to the snapshots.

Each judgement is one small Parquet file in `judgements/`, written once and named by its content, because several
machines may judge while another one commits. Judging the same passage again adds a file, and the newest counts. A
judgement quotes its passage, so that it can be found again after a document was edited, renamed or split differently.
"""

from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args

import pyarrow as pa

from docmill.storage.errors import QueryError
from docmill.storage.files import write_whole
from docmill.storage.keys import key_of
from docmill.storage.search.sentences.quotations import flat
from docmill.storage.snapshots.history import row_files
from docmill.storage.snapshots.history.folder import StoreFolder

FOLDER = "judgements"
Verdict = Literal["right", "wrong", "answer", "absent", "withdrawn", "erased"]
VERDICTS: tuple[str, ...] = get_args(Verdict)
_GONE = ("withdrawn", "erased")
"""Verdicts that take a judgement back. Its files stay; otherwise another mirror would bring back an older judgement."""
MOST = row_files.MOST_FILES
"""The most judgements in a store, including withdrawn ones: enough for ten people to judge 2,000 hits each. Reading so
many files takes 12 s of CPU, once per process."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a person said about a passage, as an answer to a query.

    Attributes:
        judgement_id: The id, equal for later judgements of the same person about the same passage and query.
        created: When it was judged, ISO 8601 in UTC.
        query: The query, in words.
        verdict: `right` or `wrong` of a hit, `answer` of a passage that somebody marked, `absent` if nothing in the
            store answers the query.
        judged_by: The name of the person who judged, or ""; it is not checked.
        uri: The document of the passage at that time, or "" for `absent`.
        start_char: Where the passage started in the canonical text, in code points, or None.
        end_char: Where it ended, exclusive, or None.
        quotation: The text of the passage, 4,000 characters at most.
        content_hash: The hash of the document's file at that time.
        snapshot: The number of the snapshot that was judged.
        note: What the person wrote about it.
    """

    judgement_id: str
    created: str
    query: str
    verdict: str
    judged_by: str = ""
    uri: str = ""
    start_char: int | None = None
    end_char: int | None = None
    quotation: str = ""
    content_hash: str = ""
    snapshot: int = 0
    note: str = ""


_NUMBERS = ("start_char", "end_char", "snapshot")
FILES = row_files.RowFiles("judgements", Judgement, **dict.fromkeys(_NUMBERS, pa.int64()))


def now() -> str:
    """Return the time of a judgement, in microseconds so that two by the same person differ."""
    return datetime.now(UTC).isoformat("T", "microseconds")


def same_query(query: str) -> str:
    """Return a form of a query that is equal for queries that differ only in case or white space."""
    return flat(query).casefold()


def id_of(query: str, by: str, uri: str, quotation: str) -> str:
    """Return the id of a person's judgement about a passage as an answer to a query."""
    return key_of("judgement", same_query(query), by, uri, flat(quotation))


def keep(folder: StoreFolder, judgement: Judgement) -> None:
    """Store a judgement and share it with all machines; it replaces an earlier one of the same id.

    Raises `QueryError` if the store already has as many judgements as it may have.
    """
    path = folder.root / FOLDER / f"{key_of('judgement file', asdict(judgement))}.parquet"
    if len(FILES.paths(folder.root)) >= MOST:
        raise QueryError(f"the store has {MOST:,} judgements, which is the limit; export them and remove {path.parent}")
    row_files.keep(folder, path, _encode(judgement), "the judgement")


def _encode(judgement: Judgement) -> bytes:
    # Uncompressed and without statistics: a file has one row, and its footer is most of it.
    row = FILES.as_table([judgement])
    return row_files.encoded(row, compression="none", use_dictionary=False, write_statistics=False)


def withdraw(folder: StoreFolder, own: Judgement) -> None:
    """Take a judgement back."""
    keep(folder, replace(own, verdict="withdrawn", created=now(), quotation="", note=""))


def forget(folder: StoreFolder, uris: Collection[str], hashes: Collection[str], texts: Collection[str]) -> int:
    """Blank the judgements about some documents, given their uris, content hashes and texts; return their number.

    The file stays under its name, without text: if it were removed here, another mirror would share its copy again.
    """
    gone = 0
    for path in FILES.paths(folder.root):
        for own in FILES.rows_in(path) or ():
            if own.verdict == "erased" or not (own.uri in uris or own.content_hash in hashes or _is_of(own, texts)):
                continue
            blank = Judgement(own.judgement_id, own.created, "", "erased")
            write_whole(path, _encode(blank))
            folder.share(FOLDER, path)
            gone += 1
    return gone


def _is_of(judgement: Judgement, texts: Collection[str]) -> bool:
    wanted = flat(judgement.quotation)
    return bool(wanted) and any(wanted in text for text in texts)


def read(root: Path) -> list[Judgement]:
    """Return the valid judgements, oldest first: the newest of each id, without withdrawn and damaged ones."""
    found = (own for path in FILES.paths(root) for own in FILES.rows_in(path) or ())
    newest = {one.judgement_id: one for one in sorted(found, key=lambda one: (one.created, one.verdict))}
    return sorted((one for one in newest.values() if one.verdict not in _GONE), key=lambda one: one.created)


def table(root: Path) -> pa.Table:
    """Return the valid judgements, as rows."""
    return FILES.as_table(read(root))
