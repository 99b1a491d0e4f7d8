"""Chunk measures: the quality of chunks, measured without questions.

Sizes are in tokens of the embedding model, including the context. Shares are of chunks unless noted otherwise.
"""

import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from docmill.storage.process.extras import extra
from docmill.storage.schema import ChunkRow, Parsed
from docmill.storage.search.keywords.analysis.analyser import analyse
from docmill.tasks.evaluate.prose_sentences import sentences

_REFERRING = re.compile(
    r"(?:this|that|these|those|it|its|they|them|their|he|she|his|her|such|however|therefore|thus|hence|moreover|"
    r"furthermore|besides|also|then|otherwise|instead|similarly|as (?:mentioned|noted|described|shown)|"
    r"the (?:above|latter|former|same))\b",
    re.IGNORECASE,
)
_MARKS = "#*->|_` \t\n\"'\u201c\u201d\u2018\u2019([0123456789.)"
_WIDESPREAD = 0.1
"""Share of documents that must have a line of boilerplate: a footer may be that of only one section of a site."""
_FEW_DOCUMENTS = 3
"""Minimum number of documents with such a line: in a small store, two may quote the same sentence."""
_SHORTEST_LINE = 4
"""Minimum characters of such a line: shorter ones are brackets and numbers, which are in many documents."""
_NEAR = 0.97
"""Cosine above which chunks are nearly equal, like versions of a page; if lower, so are chunks on one topic."""
_QUANTILES = {"p5": 0.05, "p50": 0.5, "p95": 0.95}
_TOPICS, _TOPIC_WORDS = 10, 10
"""Topics of a store, and the number of top words by which each is judged.

With more words, rare ones that share no chunk would decide; more topics need more chunks than a small store has.
"""
_ROUNDS, _TOLERANCE = 200, 1e-3
"""Where the factorization stops: a topic's top words are settled long before its weights."""

Shares = dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True)
class Written:
    """A document with its chunks, in order; of nested chunks, only the innermost."""

    uri: str
    parsed: Parsed
    chunks: tuple[ChunkRow, ...]


def sizes(chunks: Sequence[ChunkRow], least: int, limit: int) -> dict[str, float]:
    """Return the distribution of sizes; `truncated` counts chunks beyond the model's limit and must be 0.

    A chunk with parts is read part by part, and the encoder refuses a part that is too long.
    """
    values = np.array([one.tokens for one in chunks])
    whole = np.array([not one.parts for one in chunks])
    found = {f"tokens {name}": float(np.quantile(values, share)) for name, share in _QUANTILES.items()}
    return {
        "chunks": float(len(values)),
        "tokens mean": float(values.mean()),
        **found,
        "tokens max": float(values.max()),
        f"below {least} tokens": float((values < least).mean()),
        "truncated": float((whole & (values > limit)).sum()),
    }


def spread(document: Written) -> dict[str, float]:
    """Return the shares of a document's characters in several chunks and in none, ignoring white space."""
    text = document.parsed.text
    counts = np.zeros(len(text) + 1, np.int32)
    for chunk in document.chunks:
        counts[chunk.start_char] += 1
        counts[chunk.end_char] -= 1
    # Starts less ends, accumulated: the time depends on the sum of text and chunks, not on their product.
    held = np.cumsum(counts)[:-1]
    black = np.array([not character.isspace() for character in text], bool)
    total = max(1, int(black.sum()))
    return {
        "characters in several chunks": float((held[black] > 1).sum()) / total,
        "characters in none": float((held[black] == 0).sum()) / total,
    }


def boundaries(document: Written) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield, by chunk id, whether a chunk begins and ends at the boundary of a sentence, an element or a line."""
    text = document.parsed.text
    spans = [(one.start, one.end) for one in sentences(document.parsed)]
    spans += [(one.start_char, one.end_char) for one in document.parsed.elements]
    starts, ends = {start for start, _ in spans}, {end for _, end in spans}
    for chunk in document.chunks:
        begins = chunk.start_char in starts or text[: chunk.start_char].rstrip(" \t>#*-")[-1:] in ("", "\n")
        stops = chunk.end_char in ends or text[chunk.end_char :].lstrip(" \t")[:1] in ("", "\n")
        inside = not begins, not stops
        yield chunk.chunk_id, {"begins inside a sentence": float(inside[0]), "ends inside a sentence": float(inside[1])}


def dependence(chunk: ChunkRow) -> dict[str, float]:
    """Return signs that a chunk depends on text outside it."""
    text = chunk.text.lstrip(_MARKS)
    return {
        "begins with a reference": float(bool(_REFERRING.match(text))),
        "begins in lower case": float(text[:1].islower()),
        "fence or bracket left open": float(
            chunk.text.count("```") % 2 or chunk.text.count("(") > chunk.text.count(")")
        ),
        "says nothing of its place": float(not chunk.context),
    }


def duplicates(chunks: Sequence[ChunkRow]) -> dict[str, float]:
    """Return the share of chunks whose text occurred earlier, ignoring white space and case."""
    # Copies of a page often differ only in blanks and capitals.
    texts = Counter(" ".join(chunk.text.split()).casefold() for chunk in chunks)
    return {"duplicates": 1 - len(texts) / max(1, len(chunks))}


def near_duplicates(vectors: npt.NDArray[np.float32]) -> dict[str, float]:
    """Return the share of chunks nearly equal to an earlier one, given float32 (n, dim), rows of unit L2 norm."""
    near = sum(bool((vectors[:row] @ vectors[row] > _NEAR).any()) for row in range(1, len(vectors)))
    return {f"near duplicates (cosine over {_NEAR})": near / max(1, len(vectors))}


def boilerplate(documents: Sequence[Written]) -> dict[str, float]:
    """Return the share of characters in boilerplate: lines in at least a tenth of the documents, and at least three."""
    lines = [_lines(one) for one in documents]
    frequency = Counter(line for own in lines for line in set(own) if len(line) >= _SHORTEST_LINE)
    least = max(_FEW_DOCUMENTS, _WIDESPREAD * len(documents))
    pieces = list(chain.from_iterable(lines))
    common = sum(len(line) for line in pieces if frequency[line] >= least)
    return {"characters in boilerplate": common / max(1, sum(map(len, pieces)))}


def _lines(document: Written) -> list[str]:
    return [line.strip() for chunk in document.chunks for line in chunk.text.splitlines()]


def inner_sentences(document: Written) -> Iterator[tuple[str, list[str]]]:
    """Yield the sentences of each chunk that has at least two, by chunk id."""
    spans = list(sentences(document.parsed))
    for chunk in document.chunks:
        held = [
            document.parsed.text[s.start : s.end]
            for s in spans
            if chunk.start_char <= s.start and s.end <= chunk.end_char
        ]
        if len(held) > 1:
            yield chunk.chunk_id, held


def coherence(vectors: npt.NDArray[np.float32]) -> float:
    """Return the mean cosine of all pairs of a chunk's sentences, float32 (n, dim), rows of unit L2 norm."""
    count = len(vectors)
    # The square of a sum of unit vectors is the sum of all their cosines, including each vector's own.
    return float(((vectors.sum(axis=0) ** 2).sum() - count) / (count * (count - 1)))


def topics(texts: Sequence[str], count: int = _TOPICS, words: int = _TOPIC_WORDS) -> dict[str, float]:
    """Return how well the top words of topics co-occur in chunks: NPMI in [-1, 1], UMass at most 0.

    Topics come from a non-negative factorization of tf-idf. Sources: Bouma, Normalized (pointwise) mutual information
    in collocation extraction, GSCL 2009; Mimno et al., Optimizing semantic coherence in topic models, EMNLP 2011.
    """
    with extra("evaluate", "topics"):
        from sklearn.decomposition import NMF
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.feature_extraction.text import TfidfVectorizer

    weigh = TfidfVectorizer(analyzer=analyse, min_df=2)
    try:
        weights = weigh.fit_transform(texts)
    except ValueError:  # no word is in two chunks
        return {}
    count = min(count, *weights.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        # This start is not random, so that two measurements of one store are equal.
        model = NMF(count, init="nndsvd", max_iter=_ROUNDS, tol=_TOLERANCE, random_state=0).fit(weights)
    best = [np.argsort(-row, kind="stable")[:words] for row in model.components_ if (row > 0).sum() > 1]
    held = (weights > 0).astype(np.float64)
    scores = [_together((held[:, terms].T @ held[:, terms]).toarray(), len(texts)) for terms in best]
    if not scores:  # each topic is a single word
        return {}
    means: Mapping[str, float] = dict(
        zip(("topics NPMI", "topics UMass"), np.mean(scores, axis=0).tolist(), strict=True)
    )
    return dict(means)


def _together(counts: npt.NDArray[np.float64], chunks: int) -> tuple[float, float]:
    """Return NPMI and UMass of a topic's words, the most important first, given the chunks that contain them."""
    npmi, umass = [], []
    for later in range(1, len(counts)):
        for earlier in range(later):
            both, one, other = counts[earlier, later], counts[earlier, earlier], counts[later, later]
            umass.append(np.log((both + 1) / one))  # 1, so that pairs that never co-occur have a finite score
            share = both / chunks
            npmi.append(
                -1.0 if not both else 1.0 if share == 1 else np.log(share * chunks**2 / (one * other)) / -np.log(share)
            )
    return float(np.mean(npmi)), float(np.mean(umass))
