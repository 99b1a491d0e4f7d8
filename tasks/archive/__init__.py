"""Archives and mails: what they hold, found without trusting what they say of themselves."""
