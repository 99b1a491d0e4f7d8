"""The commands that set docmill up: settings, schedule."""
