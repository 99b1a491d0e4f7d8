"""Archives and mails: what they hold, found without trusting a word of what they say."""
