"""Learning: what judgements change in docmill.toml, what they leave alone, and how a change is taken back."""

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest

from docmill.flows.config.settings import Settings
from docmill.flows.measure import learn as learning
from docmill.flows.measure.learn import Learning, learn, take_back
from docmill.flows.measure.tune import TuneOptions
from docmill.flows.measure.tuned_settings import reverted, values_before
from docmill.storage.errors import QueryError
from docmill.storage.snapshots.history import learned_settings
from tests.kit.workbench import Workbench

NAMES = (
    "anvil", "bellows", "chisel", "drill", "easel", "file", "gimlet", "hammer", "jig", "kiln", "lathe", "mallet",
    "nail", "oven", "plane", "quill", "rasp", "saw", "tongs", "urn", "vise", "wrench", "yoke", "adze",
)  # fmt: skip
TRIED = TuneOptions(
    characters=60, strategies=("structure", "sentence"), sizes=(20,), contexts=("structural",), weights=(0.4,)
)
FILE = "# my settings\n[chunk]\ncontext_tokens = 48  # as it was\n"


@pytest.fixture
def bench(tmp_path: Path, fake_model: str) -> Workbench:
    """Return a store of one long paragraph in large chunks, whose sentences people ask for."""
    assert fake_model
    made = Workbench(tmp_path)
    facts = (f"The {name} hangs on hook number {number} by the door." for number, name in enumerate(NAMES, 10))
    made.write({"tools.md": "# Tools\n\n" + " ".join(facts) + "\n"})
    made.ingest()
    (tmp_path / "docmill.toml").write_text(FILE)
    return made


def judge(bench: Workbench, names: Sequence[str]) -> None:
    with bench.store as store:
        for name in names:
            quoted = f"hook number {NAMES.index(name) + 10}"
            store.judge(f"where hangs the {name}", uri="tools.md", quotation=quoted, by="Ada")


def night(bench: Workbench) -> Learning:
    settings = Settings.model_validate({"store": bench.root, "embedding": {"model": "token-counts"}})
    return learn(settings, bench.folder / "docmill.toml", [str(bench.docs)], TRIED)


def test_a_night_adopts_what_gains_and_a_person_takes_it_back_for_good(bench: Workbench) -> None:
    file = bench.folder / "docmill.toml"
    judge(bench, NAMES[:22])
    found = night(bench)
    (change,) = found.adopted
    assert (change.state, change.before, change.snapshot) == ("adopted", "", 1)
    assert change.low > 0
    assert tomllib.loads(change.after) == {"routes": tomllib.loads(file.read_text())["routes"]}
    assert file.read_text().startswith(FILE)
    assert json.loads(change.evidence)["measure"] == "nDCG@10"
    assert any(trial["what"] == change.what for trial in json.loads(change.evidence)["trials"])
    with bench.store as store:
        assert store.snapshot.number == 2, "the next run has already followed"
        rows = store.sql("SELECT change_id, state FROM learned WHERE state = 'adopted'").to_pylist()
    assert rows == [{"change_id": change.change_id, "state": "adopted"}]
    with duckdb.connect() as other:
        other.execute((bench.root / "views.sql").read_text())
        assert other.execute("SELECT count(*) FROM learned WHERE gain > 0 AND state = 'adopted'").fetchone() == (1,)
    again = night(bench)
    assert (again.changes, again.why) == ([], ["nothing was judged since the last decision"])

    settings = Settings.model_validate({"store": bench.root})
    assert take_back(settings, file, change.change_id[:10]).state == "taken back"
    assert tomllib.loads(file.read_text()) == tomllib.loads(FILE)
    assert {one.change_id: one.state for one in learned_settings.read(bench.root)}[change.change_id] == "taken back"
    with pytest.raises(QueryError, match="is taken back"):
        take_back(settings, file, change.change_id)
    judge(bench, NAMES[22:])
    assert all(one.what != change.what for one in night(bench).adopted)
    assert change.after not in file.read_text()


def test_too_few_judgements_change_nothing_and_say_how_many_more(bench: Workbench) -> None:
    judge(bench, NAMES[:5])
    found = night(bench)
    assert found.changes == []
    assert "weight: 5 judged questions, 8 are needed: 3 more" in found.why
    assert (bench.folder / "docmill.toml").read_text() == FILE


def test_what_the_gate_holds_back_is_undone(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "_is_held_back", lambda *_: True)
    judge(bench, NAMES[:22])
    assert [one.state for one in night(bench).changes if one.after] == ["held back"]
    assert (bench.folder / "docmill.toml").read_text() == FILE


def test_a_setting_that_a_person_has_changed_since_is_left_to_them() -> None:
    after = "[search]\nweight = 0.6\n"
    assert values_before("[search]\nweight = 0.4\n", after) == "[search]\nweight = 0.4\n"
    assert values_before("[chunk]\n", after) == ""
    text = "[chunk]\nfigures = true\n\n[search]\nweight = 0.6  # found\ncover = 1.0\n"
    assert tomllib.loads(reverted(text, "", after)) == {"chunk": {"figures": True}, "search": {"cover": 1.0}}
    assert tomllib.loads(reverted(text, "[search]\nweight = 0.4\n", after))["search"]["weight"] == 0.4
    with pytest.raises(QueryError, match=r"search.weight is 0.5 by now, and not the 0.6"):
        reverted("[search]\nweight = 0.5\n", "", after)
    with pytest.raises(QueryError, match="the route of code is another one"):
        reverted("", "", '[[routes]]\ntype = "code"\nstrategy = "code"\n')
