"""Start: write and list settings, ingest once, on each change, or on a schedule."""
