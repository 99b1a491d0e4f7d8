"""The commands that try settings on the user's own documents: `tune`, and the group `learn`, which changes settings."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docmill.flows.cli.commands.evaluate.evaluate_group import Made
from docmill.flows.cli.commands.ingest_and_plan import Sources
from docmill.flows.cli.terminal.command import (
    checked_settings_of,
    command,
    command_group,
    settings_file_of,
    settings_of,
    takes,
)
from docmill.flows.cli.terminal.output import AsJson, may_write, note, print_found, print_json, print_rows, print_text
from docmill.flows.runs.phases import counted
from docmill.storage.errors import ConfigError

if TYPE_CHECKING:
    from docmill.flows.measure.trials import Trial, TuneDecision, Tuning
    from docmill.storage.snapshots.history.learned_settings import LearnedChange

QUESTIONS = typer.Option(
    "--questions",
    metavar="PATH",
    help="CSV or Excel table, TREC topics, or a BEIR folder. By default, what people have judged; else made ones.",
)
QRELS = typer.Option("--qrels", metavar="FILE", help="Relevance judgements in TREC or BEIR format.")
FROM = typer.Option("--from", help="Make the questions from these only: links, captions ... May be repeated.")
BUDGET = typer.Option("--budget", min=1, metavar="N", help="Maximum number of new texts to embed.")
MEASURE = typer.Option("--measure", metavar="NAME", help="Measure to maximise: nDCG@10, R@5, RR, recall@5, IoU@5 ...")
CHARACTERS = typer.Option("--characters", min=1, metavar="N", help="Judge the first N characters of each ranking.")
STRATEGY = typer.Option("--strategy", metavar="NAME", help="Try this strategy; may be repeated.")
SIZE = typer.Option("--size", metavar="N", help="Try this size in tokens; may be repeated.")
CONTEXT = typer.Option("--context", metavar="NAME", help="Try this contextualizer; may be repeated.")
WEIGHT = typer.Option("--weight", min=0, max=1, metavar="X", help="Try this weight of the vectors; may be repeated.")
WRITE = typer.Option("--write", help="Merge the result into docmill.toml, keeping comments; create it if needed.")
OUTPUT = typer.Option("--output", callback=may_write, metavar="FILE", help="Write the result to a separate file.")


group = command_group("learn", "Let judged queries change docmill.toml, with a way back.")


@command("*")
def tune(
    context: typer.Context,
    sources: Sources = None,
    questions: Annotated[Path | None, QUESTIONS] = None,
    qrels: Annotated[Path | None, QRELS] = None,
    made_from: Annotated[list[Made] | None, FROM] = None,
    budget: Annotated[int, BUDGET] = 20_000,
    measure: Annotated[str, MEASURE] = "nDCG@10",
    characters: Annotated[int, CHARACTERS] = 4_000,
    strategy: Annotated[list[str] | None, STRATEGY] = None,
    size: Annotated[list[int] | None, SIZE] = None,
    contexts: Annotated[list[str] | None, CONTEXT] = None,
    weight: Annotated[list[float] | None, WEIGHT] = None,
    write: Annotated[bool, WRITE] = False,
    output: Annotated[Path | None, OUTPUT] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Find settings that answer questions on your documents better.

    Tries strategies, sizes, contexts and vector weights.
    """
    settings = checked_settings_of(context)
    from docmill.flows.measure.tune import TuneOptions
    from docmill.flows.measure.tune import tune as search_settings
    from docmill.tasks.evaluate.questions import load_questions

    if not (sources or settings.sources):
        raise ConfigError("no source given; name a folder, or set `sources` in docmill.toml")
    if output is not None and output.exists():
        raise ConfigError(f"{output} exists; name another file, or --write into docmill.toml")
    asked = load_questions(questions, qrels) if questions else []
    given = {"made_from": made_from, "strategies": strategy, "sizes": size, "contexts": contexts, "weights": weight}
    chosen = {name: tuple(values) for name, values in given.items() if values}
    options = TuneOptions(budget=budget, measure=measure, characters=characters, **chosen)  # type: ignore[arg-type]
    if not (asked or made_from):
        note(f"content types with {options.least} judged queries are tuned by these, the others by made questions")
    note(f"each trial splits a copy of the documents and embeds its new texts, {budget:,} at most in all (--budget)")
    found = search_settings(settings, sources or (), asked, options, _tell)
    _report(found, as_json)
    _save(found, write, output, context.meta["config"])


def _tell(trial: "Trial") -> None:
    mean = f"{trial.mean.mean:.3f}" if trial.mean else "over the budget"
    note(f"{trial.content_type or 'all'}: {trial.what}: {mean}")


def _report(found: "Tuning", as_json: bool) -> None:
    from docmill.flows.measure.tuned_settings import as_toml

    toml = as_toml(found)
    _note_questions(found)
    if as_json:
        trials = [asdict(trial) for trial in found.trials]
        print_json({"proxies": found.made, "questions": found.questions, "embedded": found.embedded,
                    "judged": found.judged, "decisions": [_decided(one) for one in found.decisions],
                    "trials": trials, "skipped": [*map(str, found.skipped)], "toml": toml})  # fmt: skip
        return
    print_rows([_row(trial) for trial in found.trials])
    for one in found.decisions:
        print_text(f"\n{_told(one)}")
    print_text(f"\n{toml}" if toml else "\nNo setting is significantly better than those in use.")


def _note_questions(found: "Tuning") -> None:
    """Note which questions were used, and which content types had too few."""
    if found.made:
        note(
            f"the {found.questions} questions were made from words of the documents, which makes them easier than real"
            " questions; give your own with --questions FILE"
        )
    if found.judged:
        note(f"{counted(found.judged, 'questions')} were judged; half of them choose, and the others decide")
    tried = {trial.content_type for trial in found.trials} - {""}
    for one in found.skipped:
        by_made = one.made_by == "judges" and one.content_type in tried
        note(f"{'tuned by made questions' if by_made else 'not tried'}, {one}")


def _decided(one: "TuneDecision") -> dict[str, Any]:
    return {**asdict(one), "adopted": one.adopted, "wanted": one.wanted}


def _told(one: "TuneDecision") -> str:
    """Return the result on the held-back questions as sentences for the user."""
    change = f"{one.change.mean:+.3f} [{one.change.low:+.3f}, {one.change.high:+.3f}] {one.change.verdict}"
    said = f"{one.content_type or 'all'}: {one.what} over the {counted(one.questions, 'questions')} held back: {change}"
    if one.loses:
        return f"{said}; not adopted, because a content type loses"
    more = f"; about {one.wanted:,} more judged questions would show it" if one.wanted else ""
    return f"{said}; {'adopted' if one.adopted else f'not adopted{more}'}"


def _row(trial: "Trial") -> dict[str, Any]:
    change = trial.change
    return {
        "type": trial.content_type or "all",
        "tried": trial.what,
        "questions": trial.questions,
        "mean": f"{trial.mean.mean:.3f}" if trial.mean else "over the budget",
        "difference": f"{change.mean:+.3f} [{change.low:+.3f}, {change.high:+.3f}]" if change else "",
        "": change.verdict if change else "",
        "embedded": max(0, trial.embedded),
    }


def _save(found: "Tuning", write: bool, output: Path | None, config: Path | None) -> None:
    from docmill.flows.config.configuration import FILE_NAME, chosen_file
    from docmill.flows.measure.tune import hand_over
    from docmill.flows.measure.tuned_settings import as_toml, merged
    from docmill.storage.files import write_whole

    toml = as_toml(found)
    if not toml or not (write or output):
        return
    if output is not None:
        with output.open("x", encoding="utf-8") as file:
            file.write(toml)
        note(f"wrote {output}")
    if write:
        target = chosen_file(config) or Path(FILE_NAME)
        text = target.read_text(encoding="utf-8") if target.exists() else ""
        write_whole(target.absolute(), merged(text, found).encode(), closed=True)
        note(f"wrote {target}")
    hand_over(found)


@group.command(cls=takes("*"))
def run(
    context: typer.Context,
    sources: Sources = None,
    budget: Annotated[int, BUDGET] = 5_000,
    measure: Annotated[str, MEASURE] = "nDCG@10",
    as_json: AsJson = False,
) -> None:
    """Try settings on the judged queries, and adopt what gains beyond chance.

    `docmill schedule --learn` does so each night.
    """
    settings = checked_settings_of(context)
    from docmill.flows.measure.learn import learn
    from docmill.flows.measure.tune import TuneOptions

    named = sources or settings.sources
    if not named:
        raise ConfigError("no source given; name a folder, or set `sources` in docmill.toml")
    options = TuneOptions(budget=budget, measure=measure)
    found = learn(settings, settings_file_of(context), named, options, _tell)
    for line in found.why:
        note(line)
    _print_learned(found.changes, as_json, "Nothing was decided.")


@group.command("list", cls=takes("store"))
def list_changes(context: typer.Context, as_json: AsJson = False) -> None:
    """List what judgements decided, oldest first."""
    settings = settings_of(context)
    from docmill.storage.snapshots.history import learned_settings

    _print_learned(learned_settings.read(settings.store), as_json, "Nothing was learned yet.")


@group.command(cls=takes("store"))
def undo(
    context: typer.Context,
    change: Annotated[str, typer.Argument(help="Id of a change, or its beginning, as `learn list` shows it.")],
    as_json: AsJson = False,
) -> None:
    """Take a learned change back; it is not learned again."""
    settings = settings_of(context)
    from docmill.flows.measure.learn import take_back

    back = take_back(settings, settings_file_of(context), change)
    if as_json:
        print_json(asdict(back))
        return
    print_text(f"{back.what} was taken back; before it: {back.before.strip() or 'the default'}")
    if back.content_type:
        note("the next ingest splits its documents as before")


def _print_learned(changes: "list[LearnedChange]", as_json: bool, nothing: str) -> None:
    print_found(
        [asdict(one) for one in changes] if as_json else [_learned_row(one) for one in changes], as_json, nothing
    )


def _learned_row(one: "LearnedChange") -> dict[str, Any]:
    return {
        "id": one.change_id[:8],
        "when": one.created[:10],
        "type": one.content_type or "all",
        "preferred": one.what,
        "held back": one.questions,
        "gain": f"{one.gain:+.3f} [{one.low:+.3f}, {one.high:+.3f}]",
        "state": one.state,
        "wanted": one.wanted or "",
    }
