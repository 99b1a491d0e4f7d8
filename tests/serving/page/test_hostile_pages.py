"""Pages that take for ever to draw: refused within the limits, once, while their text and the other pages are there."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from docmill.flows.config.settings import Settings
from docmill.flows.serving.page.originals import Originals, refusal
from docmill.storage.errors import Rejected
from docmill.storage.keys import hash_bytes
from docmill.storage.snapshots.read.store import Store
from docmill.tasks.archive.archive_options import ArchiveOptions
from docmill.tasks.work.document.original_page import PageRequest, original_page
from docmill.tasks.work.pool.limits import Limits
from docmill.tasks.work.pool.pool import shared_pool
from tests.kit.workbench import MakeBench
from tests.kit.writers.hostile_pdf import nested, tiled

SHORT_S = 0.5


@pytest.fixture(scope="module")
def store(make_bench: MakeBench) -> Iterator[Store]:
    bench = make_bench()
    bench.write({"tiled.pdf": tiled()})
    os.utime(bench.docs / "tiled.pdf", (1, 1))  # a run remembers only files that have rested
    bench.ingest()
    with bench.store as own:
        yield own


def test_a_page_that_draws_for_ever_is_refused_once_and_the_rest_is_there(store: Store) -> None:
    settings = Settings()
    hasty = Originals(settings.model_copy(update={"parse": settings.parse.model_copy(update={"timeout_s": SHORT_S})}))
    document = store.document("tiled.pdf")
    assert "tells of the mill" in document.text
    found = []
    for _ in range(2):
        with pytest.raises(Rejected) as caught:
            hasty.page(store, document.row, 1)
        found.append(caught.value)
    assert found[1] is found[0], "the page was drawn again"
    message = "drawing it takes more than 0.5 seconds"
    said = refusal(document.row, 1, found[1])
    assert said == {"reason": "timeout", "message": message, "number": 1, "pages": 2}
    assert Originals(settings).page(store, document.row, 2).number == 2


def test_forms_within_forms_are_ended_at_the_limit_of_time(tmp_path: Path) -> None:
    path = tmp_path / "nested.pdf"
    path.write_bytes(nested())
    asked = PageRequest(path, "", hash_bytes(path.read_bytes()), 1, 1 << 20, ArchiveOptions())
    [found] = shared_pool(Limits(1, SHORT_S)).map(original_page, [asked])
    assert isinstance(found, Rejected)
    assert found.reason == "timeout"
