"""Exports: downloads of a wiki, a chat or an account, read as pages, threads, notes and mails."""
