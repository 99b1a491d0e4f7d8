"""The server over HTTP, asked by schemathesis what its OpenAPI description allows and what it forbids."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given

from docmill.flows.serving.access import Access
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.http.http_app import http_app
from docmill.flows.serving.open_stores import OpenStores
from tests.kit.drawing import examples
from tests.kit.workbench import Workbench

EXAMPLES = 4  # of each path, of those that are allowed and of those that are not
CALLED = "testserver"  # by which schemathesis calls the server


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory, fake_model: str) -> Iterator[Any]:
    """Return the description of a server."""
    assert fake_model
    schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
    from schemathesis.python import asgi

    own = Workbench(tmp_path_factory.mktemp("described"))
    own.write({"git.md": "# Undo\n\nTo undo a commit, reset the branch.\n"})
    own.ingest()
    app = http_app(OpenStores({"store": own.root}), Searching({}), Access(hosts=(CALLED,)))
    yield schemathesis.openapi.from_asgi("/openapi.json", app)
    asgi.shutdown_lifespans()


def test_schemathesis_finds_nothing(described: Any) -> None:
    from schemathesis.generation import GenerationMode
    from schemathesis.specs.openapi.checks import positive_data_acceptance

    # A text is a string to OpenAPI, and may still be no question, no SQL, and no name of a document.
    not_said = [positive_data_acceptance]
    asked = 0
    for operation in (one.ok() for one in described.get_all_operations()):
        takes = [*operation.path_parameters, *operation.query, *operation.body]
        for mode in GenerationMode if takes else [GenerationMode.POSITIVE]:

            @examples(EXAMPLES)
            @given(case=operation.as_strategy(generation_mode=mode))
            def check(case: Any) -> None:
                nonlocal asked
                asked += 1
                case.call_and_validate(excluded_checks=not_said)

            check()
    assert asked > 50
