"""BM25 postings in immutable segments, with the scores of `rank_bm25.BM25Okapi` to the last bits."""
