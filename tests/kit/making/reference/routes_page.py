"""The page on content types: what each is, and the strategy to which it is routed."""

from docmill.tasks.chunking.route import default_routes
from docmill.tasks.detect.content_types import CONTENT_TYPES
from docmill.tasks.detect.type_scores import DATA_LANGUAGES
from docmill.tasks.parse.formats import FORMATS as READ
from tests.kit.making.reference.markdown import block, code, codes, entries, page, prose

HEAD = """\
Every region of a document has a content type, which selects the [strategy](strategies.md) that splits it, by default
the one in brackets. [Routing](../concepts/routing.md) explains both, and `docmill explain FILE` shows them for a
file."""
ROUTES = """\
[Settings](settings.md#routes-and-its-fields) lists the fields of a rule."""
EXAMPLE = """\
[[routes]]
glob = "manuals/**"
strategy = "structure"
options = { size = 120 }
also = [{ strategy = "sentence" }]   # an ensemble: both split the region

[[routes]]
glob = "contracts/**"
contextualizer = "window"            # the strategy stays as it is"""
FORMATS = """\
These formats decide the type alone, and the document is one region:"""
FIELDS = """\
`json`, `jsonl` and `xml` are `data` if more than half of their text is fields, and so are files in these languages:"""


def made() -> str:
    """Return the page."""
    return page(
        "Content types and routes",
        HEAD,
        entries(map(_type, CONTENT_TYPES)),
        "## Routes",
        ROUTES,
        block(EXAMPLE, "toml"),
        "## Formats that decide",
        FORMATS,
        entries(_deciding()),
        f"{FIELDS} {codes(sorted(DATA_LANGUAGES))}. A table with a column of questions and one of answers is `faq`.",
    )


def _type(kind: str) -> tuple[str, str, str]:
    strategy = default_routes().by_type[kind].strategy
    return code(kind), f"[{code(strategy)}](strategies.md#{strategy})", prose(CONTENT_TYPES[kind])


def _deciding() -> list[tuple[str, str]]:
    alike: dict[str, list[str]] = {}
    for one in READ.values():
        if one.content_type:
            alike.setdefault(one.content_type, []).append(one.name)
    return [(code(kind), codes(formats)) for kind, formats in alike.items()]
