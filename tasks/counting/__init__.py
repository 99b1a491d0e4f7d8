"""Counting: the number of tokens of texts, computed once per document."""
