"""Sentences: where the sentences of a text begin, and which of its lines are units of their own."""
