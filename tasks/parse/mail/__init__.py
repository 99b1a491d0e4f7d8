"""Mail of the internet and of Outlook: its text, the history that it quotes, and its attachments."""
