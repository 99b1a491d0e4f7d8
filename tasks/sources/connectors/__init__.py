"""Connectors: what readers of sources other than folders share, and the connectors for git and for loaders."""
