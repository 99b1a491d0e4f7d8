"""Read: the store as applications see it, one snapshot at a time."""
