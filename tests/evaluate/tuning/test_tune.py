"""Tuning: trials on the user's own documents that cost nothing twice, and what wins goes into docmill.toml gently."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.flows.config.settings import RouteRule, Settings
from docmill.flows.measure.trials import SkippedTrial, TuneDecision, Tuning, held_back
from docmill.flows.measure.tune import TuneOptions, tune
from docmill.flows.measure.tuned_settings import as_toml, merged
from docmill.storage.errors import ConfigError, QueryError
from docmill.storage.schema import Element, Parsed
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import snapshots
from docmill.tasks.evaluate.bootstrap import FEWEST, Interval
from docmill.tasks.evaluate.proxy_questions import QuestionSource, proxies
from docmill.tasks.evaluate.questions import load_questions
from tests.kit.workbench import Workbench

NAMES = ("anvil", "bellows", "chisel", "drill", "easel", "file", "gimlet", "hammer", "jig", "kiln", "lathe", "mallet")
TRIED = TuneOptions(
    characters=60, strategies=("structure", "sentence"), sizes=(20,), contexts=("structural",), weights=(0.0, 0.5)
)


@pytest.fixture
def bench(tmp_path: Path, fake_model: str) -> Workbench:
    """Return a store of one long paragraph in large chunks, and questions that each ask for one sentence of it."""
    assert fake_model
    made = Workbench(tmp_path)
    facts = {name: f"The {name} hangs on hook number {number} by the door." for number, name in enumerate(NAMES, 10)}
    made.write({"tools.md": "# Tools\n\n" + " ".join(facts.values()) + "\n"})
    rows = "".join(f"where hangs the {name},tools.md,hook number {n}\n" for n, name in enumerate(NAMES, 10))
    (tmp_path / "q.csv").write_text("question,uri,phrase\n" + rows)
    made.ingest()
    return made


def settings_of(bench: Workbench) -> Settings:
    return Settings.model_validate({"store": bench.root, "embedding": {"model": "token-counts"}})


def test_what_answers_better_wins_and_nothing_is_done_twice(bench: Workbench) -> None:
    before = bench.files("chunks")
    questions = load_questions(bench.folder / "q.csv")
    found = tune(settings_of(bench), [str(bench.docs)], questions, TRIED)
    assert found.trials[0].what.endswith("(in use)")
    assert found.trials[0].embedded == 0, "the user's own vectors are taken"
    (rule,) = found.routes
    assert rule.options == {"size": 20}
    won = max(found.trials, key=lambda trial: trial.mean.mean if trial.mean else 0)
    assert won.change is not None
    assert won.change.low > 0
    assert tomllib.loads(as_toml(found))["routes"][0]["options"] == {"size": 20}
    assert bench.files("chunks") == before
    assert snapshots.numbers(bench.root) == [1]
    assert verify(bench.root, deep=True) == []
    again = tune(settings_of(bench), [str(bench.docs)], questions, TRIED)
    assert again.embedded == 0
    assert [replace(trial, embedded=0) for trial in again.trials] == [
        replace(trial, embedded=0) for trial in found.trials
    ]


def judge_all(bench: Workbench, names: tuple[str, ...] = NAMES) -> None:
    with bench.store as store:
        for number, name in enumerate(NAMES, 10):
            if name in names:
                store.judge(f"where hangs the {name}", uri="tools.md", quotation=f"hook number {number}", by="Ada")


def test_judged_questions_come_first_and_half_of_them_decide_what_the_others_chose(bench: Workbench) -> None:
    judge_all(bench)
    found = tune(settings_of(bench), [str(bench.docs)], [], TRIED)
    assert found.judged == 12
    decision = next(one for one in found.decisions if one.content_type)
    assert decision.questions == 6
    assert (decision.what, decision.change.mean > 0, decision.loses) == ("structure, size 20", True, False)
    enough = decision.questions >= FEWEST and decision.change.low > 0
    assert decision.adopted == enough == bool(found.routes)
    assert (decision.wanted is None) == decision.adopted


@pytest.mark.parametrize("count", [1, 2, 3, 8, 11, 30])
def test_halves_are_even_in_each_type_and_in_all(count: int) -> None:
    by_type = {kind: [f"{kind} {number}" for number in range(count + more)] for more, kind in enumerate("abc")}
    held = held_back(by_type)
    asked = sum(map(len, by_type.values()))
    assert len(held) == asked // 2
    assert all(0 <= len(own) - 2 * len(held & {*own}) + 1 <= 2 for own in by_type.values())
    assert held == held_back({kind: own[::-1] for kind, own in reversed(by_type.items())}), "in whatever order"


def test_one_more_question_moves_two_others_at_most() -> None:
    by_type = {kind: [f"{kind} {number}" for number in range(count)] for kind, count in (("a", 5), ("b", 8), ("c", 3))}
    for number in range(60):
        before, own = held_back(by_type), by_type["abc"[number % 3]]
        own.append(f"one more {number}")
        assert len((held_back(by_type) ^ before) - {own[-1]}) <= 2


def test_too_few_judged_questions_leave_the_made_ones_in_charge(bench: Workbench) -> None:
    judge_all(bench, NAMES[:3])
    found = tune(settings_of(bench), [str(bench.docs)], [], replace(TRIED, questions=20))
    assert (found.judged, found.made, found.decisions) == (3, True, [])
    (few,) = (one for one in found.skipped if one.made_by == "judges")
    assert few == SkippedTrial(few.content_type, few.content_type, 3, "judges", 8)
    assert str(few).endswith(": 3 judged questions, 8 are needed: 5 more")
    made = tune(settings_of(bench), [str(bench.docs)], [], replace(TRIED, questions=20, made_from=("words",)))
    assert made.judged == 0


@pytest.mark.parametrize(
    ("change", "loses", "adopted", "wanted"),
    [
        (Interval(0.1, 0.02, 0.18), False, True, None),
        (Interval(0.1, 0.02, 0.18), True, False, None),
        (Interval(0.1, -0.1, 0.3), False, False, 60),  # twice as wide as its mean: four times as many, in both halves
        (Interval(-0.1, -0.3, 0.1), False, False, None),
        (Interval(-0.1, -0.15, -0.05), False, False, None),
    ],
)
def test_a_decision_says_how_many_more_questions_would_tell(
    change: Interval, loses: bool, adopted: bool, wanted: int | None
) -> None:
    decision = TuneDecision("faq", "sentence", 10, change, loses)
    assert (decision.adopted, decision.wanted) == (adopted, wanted)


def test_the_size_in_use_is_no_trial(bench: Workbench) -> None:
    tried = replace(TRIED, strategies=(), sizes=(200, 20), weights=())
    found = tune(settings_of(bench), [str(bench.docs)], load_questions(bench.folder / "q.csv"), tried)
    assert [trial.what for trial in found.trials if "size" in trial.what] == ["structure, size 20"]


def test_the_budget_is_kept(bench: Workbench) -> None:
    questions = load_questions(bench.folder / "q.csv")
    found = tune(settings_of(bench), [str(bench.docs)], questions, replace(TRIED, budget=3))
    assert found.embedded <= 3
    assert [trial.what for trial in found.trials if trial.mean is None] != []
    bench.write({"more.md": "# More\n\nText.\n"})
    with pytest.raises(QueryError, match="raise it"):
        tune(
            settings_of(bench).model_copy(update={"store": bench.folder / "other"}),
            [str(bench.docs)],
            questions,
            replace(TRIED, budget=1),
        )


def test_trials_that_were_partly_removed_are_made_again(bench: Workbench) -> None:
    left = bench.root / "cache" / "tune" / "tables"
    left.mkdir(parents=True)
    (left / "part.parquet").write_bytes(b"a part")
    found = tune(settings_of(bench), [str(bench.docs)], load_questions(bench.folder / "q.csv"), TRIED)
    assert found.routes
    assert not (left / "part.parquet").exists()


def test_too_few_questions_leave_a_type_as_it_is(bench: Workbench) -> None:
    questions = load_questions(bench.folder / "q.csv")[:3]
    found = tune(settings_of(bench), [str(bench.docs)], questions, replace(TRIED, least=4))
    assert found.routes == []
    assert str(found.skipped[0]).endswith(": 3 questions, 4 are needed: 1 more")


def test_the_command_writes_what_won_and_the_next_ingest_embeds_nothing(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(bench.folder)
    mine = '# My own words.\nstore = "store"   # here\nsources = ["docs"]\nengine = "local"\n\n'
    mine += '[embedding]\nmodel = "token-counts"\n'
    (bench.folder / "docmill.toml").write_text(mine)
    tried = (
        "--characters",
        "60",
        "--strategy",
        "sentence",
        "--size",
        "20",
        "--context",
        "structural",
        "--weight",
        "0.5",
    )
    done = CliRunner().invoke(app, ["tune", "--questions", "q.csv", *tried, "--write"])
    assert done.exit_code == 0, done.output
    assert "[[routes]]" in done.stdout
    assert "better" in done.stdout
    text = (bench.folder / "docmill.toml").read_text()
    assert text.startswith(mine.rstrip())
    ingested = json.loads(CliRunner().invoke(app, ["ingest", "--json"]).stdout)
    assert ingested["documents"]["unchanged"] == 0
    assert (ingested["parsed"], ingested["embedded"]) == (0, 0)
    assert verify(bench.root, deep=True) == []


def test_without_questions_it_makes_some_and_says_so(bench: Workbench) -> None:
    arguments = ["tune", str(bench.docs), "--store", str(bench.root), "--embedding-model", "token-counts"]
    tried = ["--strategy", "sentence", "--size", "40", "--context", "none", "--weight", "0.5"]
    done = CliRunner().invoke(app, [*arguments, *tried, "--output", str(bench.folder / "tuned.toml"), "--json"])
    assert done.exit_code == 0, done.output
    assert "made from words of the documents" in done.stderr
    assert "weight: 0 made questions taken from a place other than their answer, 8 are needed" in done.stderr
    found = json.loads(done.stdout)
    assert found["proxies"] is True
    assert "all" not in {trial["content_type"] or "all" for trial in found["trials"]}, "no weight was tried"
    assert (bench.folder / "tuned.toml").exists() == bool(found["toml"])
    (bench.folder / "tuned.toml").write_text("mine")
    done = CliRunner().invoke(app, [*arguments, *tried, "--output", str(bench.folder / "tuned.toml")])
    assert done.exit_code == 1
    assert (bench.folder / "tuned.toml").read_text() == "mine"


def test_questions_are_made_of_titles_headings_faqs_and_rare_words() -> None:
    text = "# Boots\n\nWear them outdoors.\n\nHow long do boots last?\n\nThree winters.\n\n"
    rare = "The cordwainer in Vladivostok resoles mountaineering footwear every second February.\n"
    places = {kind: text.index(said) for kind, said in (("title", "# B"), ("p", "Wear"), ("q", "How"), ("a", "Three"))}
    elements = (
        Element("title", 0, 7, 1),
        Element("paragraph", places["p"], places["p"] + 19),
        Element("question", places["q"], places["q"] + 23),
        Element("answer", places["a"], places["a"] + 14),
        Element("paragraph", len(text), len(text + rare) - 1),
    )
    sources = [QuestionSource("boots.md", Parsed(text + rare, elements, "All about boots"))]
    found = proxies(sources, 100)
    asked = {question.text: question.targets[0].quotation for question in found}
    assert asked["All about boots"] == ""
    assert asked["Boots"] == "Wear them outdoors."
    assert asked["How long do boots last?"] == "Three winters."
    assert rare.strip() in asked.values()
    assert proxies(sources, 2) == found[:2]


def test_a_title_that_is_a_heading_too_asks_once_and_what_is_no_query_does_not() -> None:
    parts = ["# Boots\n\n", "Wear them.\n\n", "## 🎉\n\n", "Well done.\n\n", f"## {'long ' * 50}\n\n", "Too long."]
    starts = [sum(map(len, parts[:i])) for i in range(len(parts))]
    kinds = ("title", "paragraph") * 3
    elements = tuple(
        Element(kind, at, at + len(part.rstrip())) for kind, at, part in zip(kinds, starts, parts, strict=True)
    )
    (found,) = proxies([QuestionSource("boots.md", Parsed("".join(parts), elements, "Boots"))], 100)
    assert (found.text, found.targets[0].document, found.targets[0].quotation) == ("Boots", "boots.md", "")


def test_a_context_is_found_for_a_type(bench: Workbench) -> None:
    questions = load_questions(bench.folder / "q.csv")
    found = tune(settings_of(bench), [str(bench.docs)], questions, replace(TRIED, contexts=("none", "window")))
    tried = [trial.what for trial in found.trials if trial.content_type]
    assert [what.partition(", ")[2] for what in tried[-2:]] == ["context none", "context window"]
    route = RouteRule(type="faq", strategy="qa", contextualizer="none")
    toml = as_toml(Tuning(Settings(), routes=[route]))
    assert tomllib.loads(toml)["routes"] == [{"type": "faq", "strategy": "qa", "contextualizer": "none"}]


TUNED = Tuning(Settings(), routes=[RouteRule(type="faq", strategy="qa", options={"size": 80})], weight=0.4)


@pytest.mark.parametrize(
    "text",
    [
        "",
        '# a comment\n[search]\n# the weight\n#weight = 0.5\nfusion = "rrf" # mine\n',
        "[search]\nweight = 0.7   # tried once\n[chunk]\ncontext_tokens = 20\n",
        '[chunk]\ncontext_tokens = 20\n\n[[routes]]\ntype = "faq"\nstrategy = "structure"\n',
    ],
)
def test_a_file_keeps_its_comments_and_all_else(text: str) -> None:
    made = merged(text, TUNED)
    values = tomllib.loads(made)
    assert values["search"]["weight"] == 0.4
    assert values["routes"][-1] == {"type": "faq", "strategy": "qa", "options": {"size": 80}}
    for line in text.splitlines():
        assert "weight" in line or line in made.splitlines()
    assert made.count("# tried once") == text.count("# tried once")
    other = replace(TUNED, routes=[RouteRule(type="chat", strategy="chat")], weight=0.3)
    again = merged(merged(made, TUNED), other)
    assert [rule["type"] for rule in tomllib.loads(again)["routes"]][-2:] == ["faq", "chat"]
    assert again.count("Found by docmill tune") == 1


def test_a_file_that_says_it_in_another_way_is_left_alone() -> None:
    with pytest.raises(ConfigError, match="by hand"):
        merged("search = { weight = 0.5 }\n", TUNED)


def test_what_cannot_be_tried_is_refused_before_the_first_trial() -> None:
    for wrong in ({"sizes": (3,)}, {"contexts": ("nope",)}, {"strategies": ("nope",)}, {"measure": "nDCG@0"}):
        with pytest.raises(ConfigError):
            TuneOptions(**wrong)
    with pytest.raises(QueryError, match="weight"):
        TuneOptions(weights=(1.5,))


def test_questions_of_no_document_are_no_content_type(bench: Workbench) -> None:
    rows = "".join(f"where hangs the {name},hook number 99\n" for name in NAMES)
    (bench.folder / "p.csv").write_text(f"question,phrase\n{rows}where is number ten,hook number 10\n")
    found = tune(settings_of(bench), [str(bench.docs)], load_questions(bench.folder / "p.csv"), TRIED)
    assert "no content type: 12 questions whose answer no document holds" in map(str, found.skipped)
    assert {trial.content_type for trial in found.trials} == {""}


def test_questions_that_name_no_document_have_the_type_of_their_passage(bench: Workbench) -> None:
    rows = "".join(f"where hangs the {name},hook number {n}\n" for n, name in enumerate(NAMES, 10))
    (bench.folder / "p.csv").write_text("question,phrase\n" + rows)
    found = tune(settings_of(bench), [str(bench.docs)], load_questions(bench.folder / "p.csv"), TRIED)
    assert {trial.content_type for trial in found.trials} > {""}


def test_a_size_that_does_not_go_with_other_options_is_left_out(bench: Workbench) -> None:
    settings = settings_of(bench)
    rule = RouteRule(type="narrative", strategy="hierarchical", options={"paragraph": 60})
    settings = settings.model_copy(update={"routes": (rule,)})
    tried = replace(TRIED, strategies=("hierarchical",), sizes=(20,), contexts=(), weights=())
    found = tune(settings, [str(bench.docs)], load_questions(bench.folder / "q.csv"), tried)
    assert any("size 20: hierarchical: paragraph must be" in str(one) for one in found.skipped), found.skipped
