"""BM25 postings in immutable segments, with the scores of `rank_bm25.BM25Okapi` to the last bits."""

from storage.keywords.index import KeywordHit, KeywordIndex
from storage.keywords.scoring import Scoring
from storage.keywords.state import KeywordState
from storage.keywords.update import compact, rebuild, update

__all__ = ["KeywordHit", "KeywordIndex", "KeywordState", "Scoring", "compact", "rebuild", "update"]
