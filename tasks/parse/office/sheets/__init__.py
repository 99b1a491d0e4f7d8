"""Excel and OpenDocument spreadsheets."""
