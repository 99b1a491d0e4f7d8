"""Retrieval measures of the hits of a search, computed by ir_measures.

If a target is a quotation, the first chunk that contains it answers it; otherwise the best chunk of a document
represents the document.
"""

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from docmill.storage.errors import ConfigError
from docmill.storage.process.extras import extra
from docmill.storage.search.rank.candidates.hit import Hit
from docmill.storage.search.sentences.quotations import flat, held, length
from docmill.tasks.evaluate.questions import Question, Target

if TYPE_CHECKING:
    from ir_measures import Measure

MEASURES = ("nDCG@10", "R@5", "R@10", "RR", "AP", "Success@1", "Success@5")
"""nDCG, recall, reciprocal rank, average precision and hit rate, in the notation of ir_measures."""

_TARGET = "target-"
Ranked = Sequence[str]
Values = dict[str, dict[str, float]]


class RankedHit(NamedTuple):
    """An id in a ranking, its rank from 1, and the chunk that put it there, without its text."""

    key: str
    rank: int
    uri: str
    chunk_id: str
    start: int
    end: int


def ranked(question: Question, hits: Sequence[Hit]) -> list[str]:
    """Return only the ids of `ranked_hits`."""
    return [one.key for one in ranked_hits(question, hits)]


def ranked_hits(question: Question, hits: Sequence[Hit]) -> list[RankedHit]:
    """Return ids in the order of the hits: those of the targets that they answer, else of the documents found.

    Repeated documents and passages are left out.
    """
    found: dict[str, RankedHit] = {}
    targets, by_document = keys_of(question), not any(target.quotation for target in question.targets)
    for hit in hits:
        answered = [key for key, target in targets.items() if answers(hit, target)]
        if not answered and by_document:
            answered = [hit.uri]
        for key in answered or [hit.chunk_id]:
            rank = len(found) + 1
            found.setdefault(key, RankedHit(key, rank, hit.uri, hit.chunk_id, hit.start_char, hit.end_char))
    return list(found.values())


def answers(hit: Hit, target: Target) -> bool:
    """Return whether a chunk is in the target's document and contains its quotation."""
    at_home = not target.document or target.document in names_of(hit.uri)
    return at_home and (not target.quotation or holds(hit.text, target))


def holds(text: str, target: Target) -> bool:
    """Return whether a chunk's text has as much of a target's quotation as required, ignoring white space.

    A chunk that is mostly part of the quotation also counts: a judged passage is a whole chunk of its time, and smaller
    chunks could otherwise never answer.
    """
    if flat(target.quotation) in flat(text):
        return True
    found = held(text, target.quotation) if target.share < 1 else 0
    return found > 0 and found >= target.share * min(length(target.quotation), len(flat(text)))


def names_of(uri: str) -> tuple[str, str, str]:
    """Return the names of a document: its uri, its file name, and that without the suffix."""
    path = PurePosixPath(uri)
    return uri, path.name, path.stem


def is_target(key: str) -> bool:
    """Return whether an id in a ranking is a target's rather than that of another document or chunk."""
    return bool(re.fullmatch(rf"{_TARGET}\d+", key))


def keys_of(question: Question) -> dict[str, Target]:
    """Return the targets of a question by their ids in a ranking."""
    return {f"{_TARGET}{number}": target for number, target in enumerate(question.targets)}


def measure(questions: Sequence[Question], rankings: Mapping[str, Ranked], measures: Iterable[str]) -> Values:
    """Return the values by measure and question id; a question without a ranking has 0."""
    with extra("evaluate", "evaluation"):
        import ir_measures

    known = {name: measure_of(name) for name in measures}
    if not known:
        return {}
    qrels = [
        ir_measures.Qrel(question.id, key, target.grade)
        for question in questions
        for key, target in keys_of(question).items()
    ]
    run = [
        ir_measures.ScoredDoc(key, found, -float(position))
        for key, ids in rankings.items()
        for position, found in enumerate(ids)
    ]
    values = {one: {question.id: 0.0 for question in questions} for one in known.values()}
    for metric in ir_measures.iter_calc(list(values), qrels, run):
        values[metric.measure][metric.query_id] = metric.value
    return {name: dict(values[one]) for name, one in known.items()}  # RR and MRR are two names of one measure


@cache
def measure_of(name: str) -> "Measure":
    """Return a measure of ir_measures by its name; raise ConfigError if it is unknown or cannot be computed here."""
    with extra("evaluate", "evaluation"):
        import ir_measures

    hint = f"; for example {', '.join(MEASURES)}"
    try:
        found = _parsed(name)
    except (ValueError, KeyError, SyntaxError) as error:
        raise ConfigError(f"measure {name!r} is unknown{hint}") from error
    try:  # the library reports other mistakes only on computing, and crashes on a cutoff of 0
        found.validate_params()  # type: ignore[no-untyped-call]
        if found.params.get("cutoff", 1) < 1:
            raise ValueError("its cutoff must be at least 1")
        list(ir_measures.iter_calc([found], [ir_measures.Qrel("1", "a", 1)], [ir_measures.ScoredDoc("1", "a", 1.0)]))
    except Exception as error:
        said = (str(error) or type(error).__name__).splitlines()[0]
        raise ConfigError(f"measure {name!r} cannot be computed: {said}{hint}") from error
    return found


def _parsed(name: str) -> "Measure":
    """Return the measure for a name such as `nDCG(dcg='exp-log2')@10`.

    `parse_measure` of ir_measures does the same, but uses classes of `ast` that Python 3.14 no longer has.
    """
    from ir_measures import measures

    node: ast.expr = ast.parse(name, mode="eval").body
    cutoff = None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        cutoff, node = ast.literal_eval(node.right), node.left
    stated = {}
    if isinstance(node, ast.Call) and not node.args:
        stated = {str(one.arg): ast.literal_eval(one.value) for one in node.keywords}
        node = node.func
    kind: type[Measure] = measures.registry[ast.unparse(node)]
    return kind(**stated, **({} if cutoff is None else {kind.AT_PARAM: cutoff}))


def run_file(questions: Iterable[Question], rankings: Mapping[str, Ranked], tag: str) -> str:
    """Return rankings as a TREC run file: `query Q0 document rank score tag`.

    A document that is an answer has its name from the question, so that it matches the qrels; a passage is `target-0`,
    `target-1` ... in the order of the question's targets. White space in a name, which would split it, becomes `%20`.
    """
    names = {(one.id, key): target.document for one in questions for key, target in _named(one).items()}
    return "".join(
        f"{_word(key)} Q0 {_word(names.get((key, found), found))} {rank} {1 / rank:.6f} {tag}\n"
        for key, ids in rankings.items()
        for rank, found in enumerate(ids, start=1)
    )


def _named(question: Question) -> dict[str, Target]:
    return {key: target for key, target in keys_of(question).items() if target.document and not target.quotation}


def _word(name: str) -> str:
    return re.sub(r"\s", "%20", name)
