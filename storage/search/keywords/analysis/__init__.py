"""Analysis: from text to the terms that BM25 counts."""
