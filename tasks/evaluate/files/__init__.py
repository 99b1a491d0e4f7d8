"""Files of questions: tables as people keep them, read as rows that know their place."""
