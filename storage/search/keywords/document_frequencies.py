"""Document frequencies: count how many terms occur in 1, 2, 3 ... chunks, to compute the average idf of a corpus.

A change updates the counts of the terms that it touches, so no pass over the vocabulary is needed.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from docmill.storage.errors import StoreError
from docmill.storage.files import FileRef
from docmill.storage.search.keywords.scoring import raw_idfs
from docmill.storage.search.keywords.segments.arrays import read_arrays, write_arrays

SUFFIX = ".spectrum.arrow"
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DocumentFrequencies:
    """`terms[i]` terms, never 0, occur in exactly `frequencies[i]` live chunks; frequencies ascend from 1."""

    frequencies: Integers
    terms: Integers

    def average_idf(self, rows: int) -> float:
        """Return the mean of the raw idfs over the vocabulary, for a corpus of `rows` chunks."""
        if not len(self.terms):
            return 0.0
        return float(np.dot(raw_idfs(rows, self.frequencies), self.terms) / self.terms.sum())

    def change(self, before: Integers, after: Integers) -> "DocumentFrequencies":
        """Return the spectrum after the document frequencies of some terms changed from `before` to `after`."""
        values = np.concatenate([self.frequencies, before, after])
        signs = np.concatenate([self.terms, np.full(len(before), -1), np.full(len(after), 1)])
        frequencies, group = np.unique(values, return_inverse=True)
        terms = np.zeros(len(frequencies), np.int64)
        np.add.at(terms, group, signs)  # not `terms[group] +=`, which counts a repeated group once
        # A frequency of 0 means that a term is new, or no longer occurs.
        kept = (frequencies > 0) & (terms != 0)
        if (terms[kept] < 0).any():
            raise StoreError("the keyword index does not match its counts; rebuild it with: docmill repair")
        return DocumentFrequencies(frequencies[kept], terms[kept])


EMPTY = DocumentFrequencies(np.zeros(0, np.int64), np.zeros(0, np.int64))


def write_spectrum(root: Path, spectrum: DocumentFrequencies) -> FileRef:
    """Write a spectrum as an immutable file."""
    return write_arrays(root, SUFFIX, {"frequencies": spectrum.frequencies, "terms": spectrum.terms})


def read_spectrum(root: Path, file: FileRef | None) -> DocumentFrequencies:
    """Return the spectrum in a file, or an empty one if `file` is None."""
    if file is None:
        return EMPTY
    return DocumentFrequencies(**read_arrays(root, file, ("frequencies", "terms")))
