"""Hooks of mkdocs.yml: load the program that draws charts where a page has one, and leave out pages to be written."""

from pathlib import Path
from typing import Any

CHARTS = "assets/vendor/mermaid.tiny.js"
"""Material for MkDocs loads mermaid from a CDN unless the page has it; it weighs 2.5 MB, so other pages go without."""


def on_config(config: Any) -> Any:
    """Drop pages from the navigation that do not exist yet."""
    config.nav = _present(config.nav, Path(config.docs_dir))
    return config


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Load mermaid on a page that has a chart."""
    del config
    if 'class="mermaid"' not in output:
        return output
    script = f'<script src="{"../" * page.file.dest_uri.count("/")}{CHARTS}"></script>'
    return output.replace("</head>", f"{script}</head>", 1)


def _present(nav: list[Any], docs: Path) -> list[Any]:
    """Return the entries of a navigation whose pages exist."""
    kept: list[Any] = []
    for entry in nav:
        title, target = next(iter(entry.items())) if isinstance(entry, dict) else ("", entry)
        found = _present(target, docs) if isinstance(target, list) else target if (docs / target).is_file() else None
        if found:
            kept.append({title: found} if title else found)
    return kept
