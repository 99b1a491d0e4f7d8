"""Connectors: what the readers of sources that are no folders share, and those of git and of loaders."""
