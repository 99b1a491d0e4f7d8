"""Content strategies: each splits one kind of content."""
