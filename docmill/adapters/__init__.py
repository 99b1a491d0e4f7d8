"""Adapters: docmill in other frameworks, each a thin class around the search of a store."""
