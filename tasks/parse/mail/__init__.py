"""Internet and Outlook mail: text, quoted history and attachments."""
