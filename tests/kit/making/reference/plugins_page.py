"""The page on plugins: the groups of entry points, and what `docmill.plugins` and `docmill.testing` hold."""

from docmill import plugins, testing
from docmill.flows.maintenance.list_plugins import REGISTRIES
from tests.kit import fake_encoder
from tests.kit.making.reference.markdown import code, codes, page, table

HEAD = """\
A plugin is an object, or a class that is called without arguments, behind an
[entry point](https://packaging.python.org/en/latest/specifications/entry-points/) of one of these groups. Settings
choose it by its name. docmill's own parts are in the same registries, so their names are taken. The
guide [Write a plugin](../guides/extend.md) builds one of each kind.

Names of `docmill.plugins` and `docmill.testing` keep their meaning within a minor version."""
OWN = {
    "docmill.parsers": "the [formats](formats.md)",
    "docmill.splitters": "the [strategies](strategies.md)",
    "docmill.sources": "[buckets](../guides/s3.md#sources-in-a-bucket) and [other sources](sources.md)",
}
"""Groups whose names have a page."""
PROTOCOLS = """\
## Protocols

docmill checks a plugin against its protocol when it loads it."""
VALUES = """\
## Values

Arguments, results and exceptions of a plugin's methods."""
SUITES = """\
## Suites of tests

Derive a class in a file of pytest's. The suites need the package `hypothesis`."""


def made() -> str:
    """Return the page."""
    rows = [
        (
            code(one.seam.group),
            f"[{code(one.seam.protocol.__name__)}](#{_name(one.seam.protocol)})",
            OWN.get(one.seam.group) or codes(name for name in one.own if name != fake_encoder.NAME),  # which tests add
        )
        for one in REGISTRIES
    ]
    protocols = [one.seam.protocol.__name__ for one in REGISTRIES]
    values = [name for name in plugins.__all__ if name not in protocols]
    suites = [name for name in testing.__all__ if name.endswith("Suite")]
    return page(
        "Plugins",
        HEAD,
        table(("group", "protocol", "docmill's own"), rows),
        PROTOCOLS,
        *(_shown("plugins", name) for name in protocols),
        VALUES,
        *(_shown("plugins", name) for name in values),
        SUITES,
        *(_shown("testing", name, "\n      members: false") for name in suites),
    )


def _name(protocol: type) -> str:
    return f"docmill.plugins.{protocol.__name__}"


def _shown(module: str, name: str, options: str = "") -> str:
    return f"::: docmill.{module}.{name}\n    options:\n      heading_level: 3{options}"
