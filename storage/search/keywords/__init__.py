"""Keywords: BM25 postings in immutable segments; scores equal those of `rank_bm25.BM25Okapi` up to rounding."""
