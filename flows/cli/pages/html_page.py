"""HTML page: the head of every page that docmill writes."""

from html import escape

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""What a page may load: nothing but its own style. So a document's name or text, however hostile, runs nothing."""


def opening(title: str, style: str) -> str:
    """Return a page up to the beginning of its body; the title is escaped, the style is not."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
    )


CLOSING = "</body>\n</html>\n"
