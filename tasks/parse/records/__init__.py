"""Records and plain text: prose, code, logs, chats, subtitles, tables and JSON."""
