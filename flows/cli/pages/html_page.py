"""HTML page: the head of all pages that docmill writes."""

from html import escape

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""The content security policy: a page may load only its own style, so hostile text of a document cannot run code."""


def opening(title: str, style: str) -> str:
    """Return a page up to the start of its body. The title is escaped, the style is not."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
    )


CLOSING = "</body>\n</html>\n"
