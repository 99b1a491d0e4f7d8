"""Counting: how many tokens a text has for a tokenizer, found once a document."""
