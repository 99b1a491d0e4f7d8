"""Spreadsheets of Excel and OpenDocument."""
