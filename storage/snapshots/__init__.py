"""Snapshots: how one is read, written and changed, and how old ones are removed."""
