"""Archives and mails: list and extract their members without trusting what they declare."""
