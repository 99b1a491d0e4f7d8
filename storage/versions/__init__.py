"""Versions: compare snapshots, tag them, hold them back for review, and bring deleted documents back."""
