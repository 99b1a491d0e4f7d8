"""Layout of a PDF page: tables and columns."""
