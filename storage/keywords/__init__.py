"""BM25 postings in immutable segments, with the scores of `rank_bm25.BM25Okapi` to the last bits."""

from docmill.storage.keywords.index import KeywordHit, KeywordIndex
from docmill.storage.keywords.scoring import Scoring
from docmill.storage.keywords.state import KeywordState
from docmill.storage.keywords.update import compact, rebuild, update

__all__ = ["KeywordHit", "KeywordIndex", "KeywordState", "Scoring", "compact", "rebuild", "update"]
