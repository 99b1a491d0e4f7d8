"""Versions: compare snapshots, tag them, publish or discard candidate snapshots, and restore deleted documents."""
