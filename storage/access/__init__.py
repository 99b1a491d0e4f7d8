"""Access: a snapshot as some principals may see it, as a small store of its own."""
