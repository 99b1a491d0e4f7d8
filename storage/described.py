"""Described: what is said of a document beside it, by its sidecar, its folders or its source, as one JSON object.

The column `described` holds it as text, "" if nothing is said. Names that begin with `$` are docmill's own:
`PROBLEMS` lists what is wrong with the files that describe the document.
"""

import json
from collections.abc import Mapping
from typing import Any

Record = Mapping[str, Any]

ACCESS = "access"
"""The key that says who may read a document: a list of strings; an empty list is nobody."""
PROBLEMS = "$problems"
"""The key of what is wrong with the files that describe a document, in words."""


def record_of(text: str) -> dict[str, Any]:
    """Return the record in a column `described`; nothing for ""."""
    found: dict[str, Any] = json.loads(text) if text else {}
    return found


def record_text(record: Record) -> str:
    """Return a record as the text of the column: keys sorted, so that equal records have equal texts."""
    return json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":")) if record else ""


def merged(below: Record, above: Record) -> dict[str, Any]:
    """Return two records as one: for each key the value of `above` counts; problems add up."""
    problems = [*below.get(PROBLEMS, ()), *above.get(PROBLEMS, ())]
    return {**below, **above, **({PROBLEMS: problems} if problems else {})}
