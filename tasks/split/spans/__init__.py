"""Spans: where a text may be cut, how long a stretch of it is, and how pieces are merged into chunks."""
