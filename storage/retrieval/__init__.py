"""Retrieval: from a query to hits that explain themselves, by steps over candidates."""

from docmill.storage.retrieval.hit import Hit, Note
from docmill.storage.retrieval.options import FUSION_NAMES, Fusion, How, Mode, Rewrite, SearchOptions, check_query
from docmill.storage.retrieval.pipeline import search
from docmill.storage.retrieval.query import Query
from docmill.storage.retrieval.sources import Sources

__all__ = [
    "FUSION_NAMES",
    "Fusion",
    "Hit",
    "How",
    "Mode",
    "Note",
    "Query",
    "Rewrite",
    "SearchOptions",
    "Sources",
    "check_query",
    "search",
]
