"""Calendars and address books: events and people, each with its properties."""
