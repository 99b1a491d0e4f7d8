"""Plugins: additions of other distributions to the registries of docmill, found by entry points."""
