"""Keywords: BM25 postings in immutable segments, with the scores of `rank_bm25.BM25Okapi` but for the last bits."""
