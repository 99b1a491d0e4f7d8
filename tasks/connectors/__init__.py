"""Connectors: docmill's own readers of what is not a folder, such as web sites, git, databases and loaders."""
