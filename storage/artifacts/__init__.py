"""Artifacts: parsed texts and vectors in packs, addressed by content, and what a run has staged."""
