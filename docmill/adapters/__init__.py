"""Adapters: docmill in frameworks of others, each a thin class over the search of a store."""
