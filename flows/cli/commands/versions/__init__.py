"""Versions: tag, compare and restore snapshots."""
