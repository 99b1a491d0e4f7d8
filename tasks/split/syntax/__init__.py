"""Syntax: the definitions in source code, as tree-sitter reads them."""
