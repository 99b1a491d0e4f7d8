"""Reading: which characters of a document are markup, and so neither embedded nor indexed nor counted."""
