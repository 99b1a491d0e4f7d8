"""Access: the part of a snapshot that some principals may see, as a small separate store."""
