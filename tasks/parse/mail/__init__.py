"""Mail of the internet and of Outlook: text, quoted history and attachments."""
