"""The order of the letters of a PDF's lines where it is not that of the page from left to right."""
