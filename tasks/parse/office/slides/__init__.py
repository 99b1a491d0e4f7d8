"""Presentations of PowerPoint, old and new."""
