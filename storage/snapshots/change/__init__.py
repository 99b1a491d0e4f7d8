"""Change: compare snapshots, tag them, publish or discard candidates, and restore deleted documents."""
