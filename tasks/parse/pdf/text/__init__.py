"""Text layer of a PDF page: characters in lines, rules, links and form fields."""
