"""Hook of mkdocs.yml: load the program that draws charts where a page has one."""

from typing import Any

CHARTS = "assets/vendor/mermaid.tiny.js"
"""Material for MkDocs loads mermaid from a CDN unless the page has it; it weighs 2.5 MB, so other pages go without."""


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Load mermaid on a page that has a chart."""
    del config
    if 'class="mermaid"' not in output:
        return output
    script = f'<script src="{"../" * page.file.dest_uri.count("/")}{CHARTS}"></script>'
    return output.replace("</head>", f"{script}</head>", 1)
