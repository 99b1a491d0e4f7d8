"""Maintenance: look after a store."""
