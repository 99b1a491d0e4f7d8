"""Spreadsheets, presentations, and what Office documents need before and beside their reading."""
