"""PDF by pdfium: pages in reading order, drawn as headings, paragraphs, lists, tables and furniture."""
