"""The block of Prefect: flows of others save it, load it, ingest and search."""

import asyncio
from pathlib import Path
from typing import cast

import pytest

from docmill.errors import SourceError

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("prefect_api")]


def test_a_flow_of_others_ingests_and_searches(tmp_path: Path, fake_model: str) -> None:
    from prefect import flow

    from docmill.adapters.prefect import DocmillStore

    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# Ship\n\nA zeppelin lands on the lake.\n")
    block = DocmillStore(
        store=str(tmp_path / "store"), sources=[str(docs)], options={"embedding.model": fake_model, "engine": "local"}
    )
    block.save("handbook", overwrite=True)

    @flow
    def answer(question: str) -> tuple[int, str, int]:
        handbook = cast(DocmillStore, DocmillStore.load("handbook"))
        report = handbook.ingest()
        (hit,) = handbook.search(question, k=1, mode="keyword", where="uri = 'a.md'", candidates=50)
        with handbook.open() as store:
            assert store.document(hit.uri).text[hit.start_char : hit.end_char] == hit.text
        return report.exit_status, hit.uri, report.documents.added

    assert answer("zeppelin") == (0, "a.md", 1)
    assert asyncio.run(block.aingest()).documents.unchanged == 1
    assert [hit.uri for hit in asyncio.run(block.asearch("zeppelin", at=1))] == ["a.md"]
    with pytest.raises(SourceError):
        block.ingest([str(tmp_path / "nowhere")])
