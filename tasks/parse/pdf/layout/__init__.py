"""The layout of a PDF page: tables and columns."""
