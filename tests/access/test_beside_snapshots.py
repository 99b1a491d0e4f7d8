"""What is not in the tables, figures and judgements, is told to those alone who may see its document."""

import base64
import io
from pathlib import Path

import pytest
from PIL import Image

from docmill.storage.errors import QueryError
from docmill.storage.snapshots.read.store import open_store
from tests.kit.workbench import Workbench

pytestmark = pytest.mark.usefixtures("fake_model")


def picture(colour: str) -> str:
    drawn = io.BytesIO()
    image = Image.new("RGB", (200, 120), colour)
    for step in range(100):
        image.putpixel((step, step), (step, 0, 255 - step))
    image.save(drawn, "PNG")
    return f'<img alt="The {colour} mill" src="data:image/png;base64,{base64.b64encode(drawn.getvalue()).decode()}">'


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    made = Workbench(tmp_path)
    for name in ("red", "blue"):
        made.write({f"{name}.html": f"<h1>{name}</h1><p>The {name} mill grinds.</p>{picture(name)}"})
        made.write({f"{name}.html.meta.toml": f'access = ["{name}"]\n'})
    made.ingest()
    return made


def test_a_figure_is_shown_to_those_alone_who_may_see_a_document_with_it(bench: Workbench) -> None:
    keys = {name: bench.store.figures(f"{name}.html")[0].key for name in ("red", "blue")}
    with open_store(bench.root, principals=["red"]) as store:
        assert store.figure(keys["red"]).media_type == "image/png"
        assert [row["alt"] for row in store.sql("SELECT alt FROM figures").to_pylist()] == ["The red mill"]
        with pytest.raises(QueryError) as hidden:
            store.figure(keys["blue"])
        with pytest.raises(QueryError) as absent:
            store.figure("0" * 32)
    assert str(hidden.value).replace(keys["blue"], "0" * 32) == str(absent.value)


def test_judgements_are_kept_in_the_whole_store_and_shown_to_those_who_may_see_the_passage(bench: Workbench) -> None:
    for name in ("red", "blue"):
        with open_store(bench.root, principals=[name]) as store:
            store.judge("what grinds?", store.search("mill", k=1)[0], by=name)
            store.judge("what flies?", relevant=False, by=name)
    for name in ("red", "blue"):
        with open_store(bench.root, principals=[name]) as store:
            assert [one.uri for one in store.judgements()] == [f"{name}.html"]
            assert [one.judgement.uri for one in store.judgements()] == [f"{name}.html"]
            assert store.sql("FROM judgements").num_rows == 0
    every = bench.store.judgements()
    assert sorted(one.judgement.judged_by for one in every) == ["blue", "blue", "red", "red"]
    with open_store(bench.root, principals=["red"]) as store, pytest.raises(QueryError, match="no judgement"):
        store.withdraw(
            next(one for one in every if one.judgement.judged_by == "blue" and one.uri).judgement.judgement_id
        )
