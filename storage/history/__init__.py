"""History: snapshots, what names and keeps them, and what was deleted, changed or held back between them."""
