"""JSON response: an answer of a server over HTTP, as the JSON of the command line."""

from typing import Any

from starlette.responses import Response

from docmill.flows.serving.audit import show
from docmill.flows.serving.json_text import json_text


def as_json(value: Any, status: int = 200) -> Response:
    """Return a response in JSON."""
    show(value)
    return ready_json(json_text(value).encode(), status)


def ready_json(text: bytes, status: int = 200) -> Response:
    """Return a response with a text that is already JSON."""
    return Response(text, status, media_type="application/json")
