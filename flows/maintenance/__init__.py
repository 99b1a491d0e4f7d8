"""Maintenance: check an installation and a store, list plugins, and remove documents."""
