"""History: which snapshots there are, what names and keeps them, and which files none of them names."""
