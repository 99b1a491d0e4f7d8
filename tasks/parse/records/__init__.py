"""Texts that are read as they are, or record by record: prose, code, logs, chats, subtitles, tables, JSON."""
