"""Syntax: the definitions in source code, found by tree-sitter."""
