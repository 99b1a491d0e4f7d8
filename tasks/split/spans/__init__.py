"""Spans: where a text may be cut, how long a span is, and how pieces are merged into chunks."""
