"""Answer ranks: where the answers to questions are in a store, and why some questions cannot be answered at all."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from docmill.storage.search.sentences.quotations import part_of, spans_of
from docmill.storage.snapshots.artifacts.packs import Packs, decode_parsed
from docmill.storage.snapshots.history.measurements import AskedQuestion, ExpectedAnswer, FirstHit
from docmill.storage.snapshots.read.store import Store
from docmill.storage.snapshots.tables.tables import read_table
from docmill.tasks.evaluate.overlap import Passage
from docmill.tasks.evaluate.questions import Question, Target
from docmill.tasks.evaluate.retrieval_measures import RankedHit, holds, is_target, keys_of, names_of

_SHOWN = 60
"""Characters of a quotation to show in a reason: enough to find it, and short enough for one line."""
_FIRST = 5
"""Hits of a question to keep: the first ones show what was found instead of the answer; each takes some 50 bytes."""
_AT_ONCE = 256
"""Documents whose texts are read at once to find a quotation that names none: a few megabytes."""


@dataclass
class Answers:
    """The answers to questions in one snapshot; texts and bounds are read on first use."""

    store: Store
    _texts: dict[str, str] = field(default_factory=dict)
    _anywhere: dict[str, Passage | None] = field(default_factory=dict)

    def place(self, target: Target) -> Passage | None:
        """Return where a target's quotation is, or None; a short name may mean any of several documents."""
        if not target.quotation:
            return None
        if not target.document:
            return self._anywhere_in([target.quotation])[target.quotation]
        for uri in self.documents(target):
            if found := locate(self.text(uri), target):
                return Passage(uri, *found)
        return None

    def documents(self, target: Target) -> list[str]:
        """Return the uris of the documents that a target's name may mean."""
        return self._uris.get(target.document, [])

    def text(self, uri: str) -> str:
        """Return the canonical text of a document."""
        if uri not in self._texts:
            self._texts[uri] = self.store.document(uri).text
        return self._texts[uri]

    def missing(self, target: Target) -> str:
        """Return why no search can find a target, or "" if one can."""
        if target.document and not self.documents(target):
            return f"no document {target.document!r} in snapshot {self.store.snapshot.number}"
        if not target.quotation or self.place(target):
            return ""
        where = target.document or "no document"
        return f"{where} {'does not contain' if target.document else 'contains'} {target.quotation[:_SHOWN]!r}"

    def cut(self, target: Target) -> bool:
        """Return whether the target's quotation is in a document but in no single chunk of it."""
        place = self.place(target)
        if place is None:
            return False
        text = self.text(place.document)
        return not any(holds(text[start:end], target) for start, end in self.chunks_of(place.document))

    def chunks_of(self, uri: str) -> list[tuple[int, int]]:
        """Return the spans of a document's chunks."""
        return self._chunks[uri]

    @cached_property
    def _chunks(self) -> dict[str, list[tuple[int, int]]]:
        rows = self.store.sql("SELECT uri, start_char, end_char FROM chunks")
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for uri, start, end in zip(*(column.to_pylist() for column in rows.columns), strict=True):
            found[uri].append((start, end))
        return found

    @cached_property
    def _uris(self) -> dict[str, list[str]]:
        uris = self.store.sql("SELECT uri FROM documents ORDER BY uri").column(0).to_pylist()
        found: dict[str, list[str]] = defaultdict(list)
        for uri in uris:
            for name in dict.fromkeys(names_of(uri)):
                found[name].append(uri)
        return found | {uri: [uri] for uri in uris}

    def look_everywhere(self, quotations: Iterable[str]) -> None:
        """Find all quotations that name no document, in one pass over the documents."""
        self._anywhere_in([one for one in quotations if one not in self._anywhere])

    def _anywhere_in(self, quotations: Sequence[str]) -> dict[str, Passage | None]:
        wanted = {one for one in quotations if one not in self._anywhere}
        self._anywhere |= dict.fromkeys(wanted)
        for uri, text in self._documents() if wanted else ():
            for quotation in sorted(wanted):
                if found := locate(text, Target("", quotation)):
                    self._anywhere[quotation] = Passage(uri, *found)
                    wanted.discard(quotation)
            if not wanted:
                break
        return self._anywhere

    def _documents(self) -> Iterator[tuple[str, str]]:
        """Yield every document's uri and text, in the order of the uris."""
        table = read_table(self.store.stored, "documents", ["uri", "text_key"])
        rows = sorted(zip(*(table.column(name).to_pylist() for name in ("uri", "text_key")), strict=True))
        packs = Packs(self.store.stored.ensure_packs("texts"))
        for start in range(0, len(rows), _AT_ONCE):
            some = rows[start : start + _AT_ONCE]
            texts = packs.take([key for _, key in some]).to_pylist()
            yield from ((uri, decode_parsed(row).text) for (uri, _), row in zip(some, texts, strict=True))


def locate(text: str, target: Target) -> tuple[int, int] | None:
    """Return the span of a quotation: the target's position, else the first occurrence, ignoring white space."""
    if target.start >= 0 and text[target.start : target.start + len(target.quotation)] == target.quotation:
        return target.start, target.start + len(target.quotation)
    if found := next(iter(spans_of(text, target.quotation)), None):
        return found
    partly = part_of(text, target.quotation) if target.share < 1 else None
    return partly[0] if partly and partly[1] >= target.share else None


def asked_question(
    question: Question, ranking: Sequence[RankedHit], others: Iterable[Sequence[RankedHit]], answers: Answers
) -> AskedQuestion:
    """Return the outcome of a question in one way to search; hits of `others` also show where its answers are."""
    own = {hit.key: hit for hit in ranking if is_target(hit.key)}
    known = {hit.key: hit for hit in chain.from_iterable(others)}
    expected = [_expected(target, own.get(key), known.get(key), answers) for key, target in keys_of(question).items()]
    first = [hit for hit in ranking if hit.rank <= _FIRST]
    return AskedQuestion(
        question.id,
        question.text,
        min((hit.rank for hit in own.values()), default=None),
        tuple(expected),
        tuple(FirstHit(hit.rank, hit.uri, hit.chunk_id, hit.key in own) for hit in first),
    )


def _expected(target: Target, own: RankedHit | None, known: RankedHit | None, answers: Answers) -> ExpectedAnswer:
    if hit := own or known:
        rank = own.rank if own else None
        return ExpectedAnswer(target.document, target.quotation, hit.uri, hit.start, hit.end, rank)
    if place := answers.place(target):
        return ExpectedAnswer(target.document, target.quotation, place.document, place.start, place.end, None)
    (uri, *_) = [*answers.documents(target), ""]
    return ExpectedAnswer(target.document, target.quotation, uri, None, None, None)


def reasons(questions: Sequence[Question], snapshots: Sequence[Answers]) -> list[str]:
    """Return why each question has no answer in any of the snapshots, "" if one has an answer."""
    nameless = [target.quotation for one in questions for target in one.targets if not target.document]
    for answers in snapshots:
        answers.look_everywhere(nameless)
    return [_reason(one, snapshots) for one in questions]


def _reason(question: Question, snapshots: Sequence[Answers]) -> str:
    said = [answers.missing(target) for answers in snapshots for target in question.targets]
    return said[-1] if all(said) else ""
