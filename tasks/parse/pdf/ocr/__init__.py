"""OCR: read the lines in a picture of a page, by rapidocr or by tesseract."""
