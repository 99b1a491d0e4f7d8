"""Artifacts: packs of parsed texts and vectors, addressed by content, and the staged results of unfinished runs."""
