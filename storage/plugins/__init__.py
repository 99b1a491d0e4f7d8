"""Plugins: what other distributions add to the registries of docmill, found by their entry points."""
