"""PDF and images: pages in the order in which people read them, by pdfium, and by OCR where they are pictures."""
