"""Pictures: what figures show as vectors: made by a model, kept in packs, and compared with words."""
