"""The page on Python: the public names, whose docstrings the site prints."""

from tests.kit.making.reference.markdown import code, page

HEAD = """\
`import docmill` imports nothing heavy; each name loads what it needs when it is first used. The names below keep their
meaning within a minor version, and so do those for [authors of plugins](../guides/extend.md) and the
[adapters](../guides/adapters.md). Everything else, `docmill.flows`, `docmill.tasks` and `docmill.storage` included, is
private and may change in any release. The package is typed (`py.typed`).

Offsets are half-open and count code points. Scores and vectors are floats, times are ISO 8601 in UTC."""
FUNCTIONS = ("ingest", "plan", "open_store")
CLASSES = (
    "Store",
    "Document",
    "Section",
    "Figure",
    "KeptPicture",
    "Hit",
    "Judgement",
    "JudgedPassage",
    "FrequentQuery",
    "ContentGap",
    "ReplayedQuery",
    "Report",
    "Phase",
    "Exported",
    "Settings",
)
TYPES = (
    ("Mode", 'the type of `mode`, which is `"hybrid"`, `"vector"` or `"keyword"`.'),
    ("SearchArguments", "the type of the [options of a search](#options-of-a-search), a `TypedDict`."),
)
OPTIONS = "docmill.storage.search.rank.candidates.search_options.SearchOptions"
MORE = f"""\
## Options of a search

`Store.search` and `Store.search_all` take these by name. `SearchArguments` is the type of a dict that holds all of them
but `k`, `mode` and `where`.

::: {OPTIONS}
    options:
      heading_level: 3
      members: false
      show_root_heading: false
      show_signature: false"""
ERRORS = "The exceptions are in `docmill.errors`: see [errors](errors.md)."
FLOWS = """\
Two Prefect flows are entry points of deployments and keep their names and parameters:
`docmill.flows.ingest.ingest` and `docmill.flows.evaluate.evaluate`."""


def made() -> str:
    """Return the page."""
    types = " ".join(f"{code(name)}: {said}" for name, said in TYPES)
    names = [f"::: docmill.{name}{_members(name)}" for name in (*FUNCTIONS, *CLASSES)]
    return page("Python", HEAD, types, ERRORS, FLOWS, *names, MORE)


def _members(name: str) -> str:
    """Return the options of a class whose attributes its docstring describes: its methods alone are shown."""
    members = {
        "Report": "[exit_status, as_json, as_text, as_markdown]",
        "Phase": "[seconds_left, percent]",
    }
    if name in FUNCTIONS:
        return ""
    if name == "Store":
        return "\n    options:\n      inherited_members: true"
    return f"\n    options:\n      members: {members.get(name, 'false')}\n      show_signature: false"
