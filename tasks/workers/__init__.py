"""Workers: processes that handle one document after another, within bounds of time and memory."""
