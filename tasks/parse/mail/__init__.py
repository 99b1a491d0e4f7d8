"""Mail of the internet and of Outlook: what was written, what it quotes, and what is attached."""
