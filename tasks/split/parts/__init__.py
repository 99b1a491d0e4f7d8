"""Parts: what a strategy is called with, and what it asks about a document."""
