"""Counting: the number of tokens of a text, computed once a document."""
