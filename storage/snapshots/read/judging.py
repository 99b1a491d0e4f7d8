"""Judging: make a judgement of a person's opinion, and find the judged passages again in a snapshot."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import PurePosixPath
from typing import Any, Literal

from docmill.storage.errors import QueryError
from docmill.storage.search.rank.candidates.hit import Hit
from docmill.storage.search.rank.candidates.search_options import check_query, check_text
from docmill.storage.search.sentences.quotations import nearest, part_of, spans_of, spans_of_words
from docmill.storage.snapshots.artifacts.packs import Packs, decode_parsed
from docmill.storage.snapshots.history import judgements
from docmill.storage.snapshots.history.judgements import Judgement, Verdict
from docmill.storage.snapshots.read.stored_documents import StoredDocuments, row_of
from docmill.storage.snapshots.tables.tables import read_table

MOST_QUOTED = 4_000
"""The most characters of a quotation. A chunk of 512 tokens has some 2,000; a longer passage is a chapter, not an
answer."""
_MOST_QUERY, _MOST_NAME, _MOST_NOTE = 2_000, 200, 2_000
"""The most characters of a query, a name and a note: enough for typed text, and keeps the file below 10 kB."""
_TELLING = 20
"""Characters that a quotation needs to be looked for in other documents: shorter ones, such as names, are in many."""
_ENOUGH = 0.5
"""Share of a quotation's sentences that must still be there; with fewer, most of what was judged is gone."""
_AT_ONCE = 256  # documents whose texts are read at once: a few megabytes

State = Literal["found", "moved", "changed", "lost", "absent"]


@dataclass(frozen=True, slots=True)
class JudgedPassage:
    """A judgement, and where its passage is in a snapshot.

    Attributes:
        judgement: What was judged, as it was then.
        state: `found` in its document; `moved` to another one, as after a rename; `changed` if only some of its
            sentences, at least half, are left; `lost` if fewer are; `absent` if the store was judged to have no answer.
        uri: The document that has the passage now, or "".
        start_char: Where it starts now, in code points, or None.
        end_char: Where it ends now, exclusive, or None.
        disputed: Whether another person judged the same passage for the same query differently.
    """

    judgement: Judgement
    state: State
    uri: str = ""
    start_char: int | None = None
    end_char: int | None = None
    disputed: bool = False

    @property
    def relevant(self) -> bool:
        """Whether the passage was judged to answer the query."""
        return self.judgement.verdict in ("right", "answer")

    def as_row(self) -> dict[str, Any]:
        """Return it as one object: what was judged, and where its passage is now."""
        place = {"uri": self.uri, "start_char": self.start_char, "end_char": self.end_char} if self.uri else None
        return {**asdict(self.judgement), "state": self.state, "now": place, "disputed": self.disputed}


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a person says about a query and a passage: a hit, a chunk, a marked quotation, or no passage at all.

    Raises `QueryError` for texts that are empty, too long or not valid.
    """

    query: str
    hit: Hit | str | None = None
    relevant: bool = True
    by: str = ""
    uri: str = ""
    quotation: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        check_query(self.query)
        for what, text, most in (
            ("the query", self.query, _MOST_QUERY),
            ("the name", self.by, _MOST_NAME),
            ("the note", self.note, _MOST_NOTE),
            ("the quotation", self.quotation, MOST_QUOTED),
        ):
            check_text(text, what)
            if len(text) > most:
                raise QueryError(f"{what} has {len(text):,} characters, the limit of a judgement is {most:,}")
        if self.relevant and not (self.hit or self.uri):
            raise QueryError("say what answers the query: a hit, or a uri and a quotation of it")
        if self.uri and not self.quotation:
            raise QueryError(f"quote the passage of {self.uri} that is judged")


@dataclass(frozen=True, slots=True)
class _QuotedPlace:
    uri: str
    start: int
    end: int
    text: str


def judgement_of(store: StoredDocuments, opinion: Opinion) -> Judgement:
    """Return the judgement of a person's opinion about an open snapshot.

    Raises `QueryError` if the snapshot lacks the chunk, the document or the quotation.
    """
    own, created = opinion, judgements.now()
    verdict: Verdict = "right" if own.relevant else "wrong"
    place = _judged_place(store, own)
    if place is None:
        key = judgements.id_of(own.query, own.by, "", "")
        number = store.snapshot.number
        return Judgement(key, created, own.query, "absent", own.by, snapshot=number, note=own.note)
    return Judgement(
        judgements.id_of(own.query, own.by, place.uri, place.text),
        created,
        own.query,
        "answer" if own.quotation and own.relevant else verdict,
        own.by,
        place.uri,
        place.start,
        place.end,
        place.text,
        row_of(store, place.uri).content_hash,
        store.snapshot.number,
        own.note,
    )


def _judged_place(store: StoredDocuments, own: Opinion) -> _QuotedPlace | None:
    """Return the judged passage, or None if the person says that the query has no answer."""
    hit = store._chunk(own.hit) if isinstance(own.hit, str) else own.hit
    if own.quotation:
        uri = hit.uri if hit else own.uri
        text = store.document(uri).text
        spans = spans_of(text, own.quotation) or spans_of_words(text, own.quotation)
        span = nearest(spans, hit.start_char if hit else 0)
        if span is None:
            raise QueryError(f"{uri} does not contain {own.quotation[:_MOST_NAME]!r}")
        return _QuotedPlace(uri, *span, text[span[0] : span[1]])
    if hit is None:
        return None
    text = hit.text[:MOST_QUOTED]
    return _QuotedPlace(hit.uri, hit.start_char, hit.start_char + len(text), text)


def judged_passages(store: StoredDocuments, query: str | None) -> list[JudgedPassage]:
    """Return the judgements of a store, oldest first, each with its place in an open snapshot."""
    return list(_with_disputes(_newest_of_each(_passages(store, query))))


def withdraw(store: StoredDocuments, judgement_id: str) -> Judgement:
    """Take back a judgement and the person's earlier ones of the same passage; return the judgement as it was."""
    every = {one.judgement.judgement_id: one for one in _passages(store, None)}
    if judgement_id not in every:
        raise QueryError(f"no judgement {judgement_id!r}; docmill judge list --json shows their ids")
    own = every[judgement_id]
    for one in every.values():
        if _is_of_one_person(one, own) and same_passage(one, own):
            judgements.withdraw(store.stored.folder.beside, one.judgement)
    return own.judgement


def _is_of_one_person(one: JudgedPassage, other: JudgedPassage) -> bool:
    same = judgements.same_query(one.judgement.query) == judgements.same_query(other.judgement.query)
    return same and one.judgement.judged_by == other.judgement.judged_by


def _passages(store: StoredDocuments, query: str | None) -> list[JudgedPassage]:
    rows = judgements.read(store.stored.folder.beside.root)
    if query is not None:
        rows = [one for one in rows if judgements.same_query(one.query) == judgements.same_query(query)]
    places = _places(store, rows)
    found = [_passage(one, places.get(one.judgement_id)) for one in rows]
    return [*_visible(found)] if store.stored.folder.whole else found


def _visible(passages: Iterable[JudgedPassage]) -> Iterator[JudgedPassage]:
    """Yield the passages in visible documents, without the names of documents that they were in before."""
    for one in passages:
        if one.uri:
            yield replace(one, judgement=replace(one.judgement, uri=one.uri, content_hash=""))


def _passage(own: Judgement, found: tuple[State, _QuotedPlace] | None) -> JudgedPassage:
    if own.verdict == "absent":
        return JudgedPassage(own, "absent")
    if found is None:
        return JudgedPassage(own, "lost")
    state, place = found
    return JudgedPassage(own, state, place.uri, place.start, place.end)


def same_passage(one: JudgedPassage, other: JudgedPassage) -> bool:
    """Return whether two judgements are about one passage: they share at least half of the shorter passage."""
    if one.start_char is None or other.start_char is None or one.end_char is None or other.end_char is None:
        return one.state == other.state and one.judgement.quotation == other.judgement.quotation
    shared = min(one.end_char, other.end_char) - max(one.start_char, other.start_char)
    shorter = min(one.end_char - one.start_char, other.end_char - other.start_char)
    return one.uri == other.uri and shared > 0 and 2 * shared >= shorter


def _by_query(passages: Iterable[JudgedPassage]) -> Iterator[list[JudgedPassage]]:
    found: dict[str, list[JudgedPassage]] = defaultdict(list)
    for one in passages:
        found[judgements.same_query(one.judgement.query)].append(one)
    yield from found.values()


def _newest_of_each(passages: Sequence[JudgedPassage]) -> list[JudgedPassage]:
    """Return the passages without the ones that the same person judged again later, for example in changed chunks."""
    left = []
    for of_query in _by_query(passages):
        for place, one in enumerate(of_query):
            later = (two for two in of_query[place + 1 :] if two.judgement.judged_by == one.judgement.judged_by)
            if not any(same_passage(one, two) for two in later):
                left.append(one)
    return sorted(left, key=lambda one: one.judgement.created)


def _with_disputes(passages: Sequence[JudgedPassage]) -> Iterator[JudgedPassage]:
    disputed = {
        one.judgement.judgement_id
        for of_query in _by_query(passages)
        for one in of_query
        if any(_disagree(one, other) for other in of_query)
    }
    for one in passages:
        is_one = one.judgement.judgement_id in disputed
        yield JudgedPassage(one.judgement, one.state, one.uri, one.start_char, one.end_char, is_one)


def _disagree(one: JudgedPassage, other: JudgedPassage) -> bool:
    if one.judgement.judged_by == other.judgement.judged_by or one.relevant == other.relevant:
        return False
    return "absent" in (one.state, other.state) or same_passage(one, other)


def _places(store: StoredDocuments, rows: Sequence[Judgement]) -> dict[str, tuple[State, _QuotedPlace]]:
    """Return where each judged passage is in a snapshot, by the id of its judgement; lost passages are left out."""
    known = store._judged_places
    wanted = [one for one in rows if one.quotation and (one.judgement_id, one.quotation) not in known]
    if wanted:
        found = _Search(store, wanted).found
        known.update({(one.judgement_id, one.quotation): found.get(one.judgement_id) for one in wanted})
    return {
        one.judgement_id: place for one in rows if (place := known.get((one.judgement_id, one.quotation))) is not None
    }


class _Search:
    """Looks for judged passages in their documents, then in identical files of other names, then everywhere."""

    def __init__(self, store: StoredDocuments, rows: Sequence[Judgement]) -> None:
        self.found: dict[str, tuple[State, _QuotedPlace]] = {}
        table = read_table(store.stored, "documents", ["uri", "content_hash", "text_key"])
        self._documents = sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))
        self._packs = Packs(store.stored.ensure_packs("texts"))
        self._at_home(rows)
        left = [one for one in rows if self._is_open(one) and len(one.quotation) >= _TELLING]
        self._elsewhere(left)
        self._in_part(list(filter(self._is_open, left)))

    def _is_open(self, one: Judgement) -> bool:
        return one.judgement_id not in self.found

    def _at_home(self, rows: Sequence[Judgement]) -> None:
        """Find passages in the document of their uri, or else in one whose file has the judged content."""
        by_uri, by_hash = _grouped(rows, "uri"), _grouped(rows, "content_hash")
        near = [row for row in self._documents if row[0] in by_uri or row[1] in by_hash]
        for uri, digest, text in self._texts(near):
            for one in by_hash.get(digest, ()):
                if self._is_open(one):
                    self._note(one, "moved", uri, text)
            for one in by_uri.get(uri, ()):
                self._note(one, "found", uri, text)

    def _elsewhere(self, rows: Sequence[Judgement]) -> None:
        """Find passages in any document; prefer a document whose file has the same name."""
        for uri, _, text in self._texts(self._documents if rows else []):
            for one in rows:
                if self._is_open(one) or PurePosixPath(one.uri).name == PurePosixPath(uri).name:
                    self._note(one, "moved", uri, text)

    def _in_part(self, rows: Sequence[Judgement]) -> None:
        """Find changed passages in the document that has most of their sentences."""
        best: dict[str, float] = {}
        for uri, _, text in self._texts(self._documents if rows else []):
            for one in rows:
                partly = part_of(text, one.quotation)
                if partly and partly[1] >= max(_ENOUGH, best.get(one.judgement_id, 0.0)):
                    best[one.judgement_id] = partly[1]
                    self.found[one.judgement_id] = "changed", _QuotedPlace(uri, *partly[0], "")

    def _note(self, one: Judgement, state: State, uri: str, text: str) -> None:
        if span := nearest(spans_of(text, one.quotation), one.start_char or 0):
            self.found[one.judgement_id] = state, _QuotedPlace(uri, *span, "")

    def _texts(self, documents: Sequence[tuple[str, str, str]]) -> Iterator[tuple[str, str, str]]:
        """Yield the uri, content hash and text of each document."""
        for start in range(0, len(documents), _AT_ONCE):
            some = documents[start : start + _AT_ONCE]
            texts = self._packs.take([key for _, _, key in some]).to_pylist()
            for (uri, digest, _), row in zip(some, texts, strict=True):
                yield uri, digest, decode_parsed(row).text


def _grouped(rows: Iterable[Judgement], name: str) -> dict[str, list[Judgement]]:
    found: dict[str, list[Judgement]] = defaultdict(list)
    for one in rows:
        found[getattr(one, name)].append(one)
    return dict(found)
