"""What a PDF page draws: characters in lines, rules, links and form fields."""
