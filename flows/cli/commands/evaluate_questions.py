"""The command `evaluate questions`: measure retrieval quality by questions with known answers."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docmill.flows.cli.commands.search_and_sql import Mode
from docmill.flows.cli.terminal.command import settings_of, takes
from docmill.flows.cli.terminal.output import note, print_json, print_rows

if TYPE_CHECKING:
    from docmill.flows.measure.evaluation import Measured
    from docmill.tasks.evaluate.questions import Question

QUESTIONS = typer.Option("--questions", metavar="PATH", help="CSV, TREC topics, or a BEIR folder.")
QRELS = typer.Option("--qrels", metavar="FILE", help="Relevance judgements in TREC or BEIR format.")
MODES = typer.Option("--mode", help="Search mode; may be repeated to compare. The default is all three.")
MEASURE = typer.Option(
    "--measure", metavar="NAME", help="Measure such as nDCG@10, R@5, RR, AP, Success@5; may be repeated."
)
RUN_FILE = typer.Option("--run-file", metavar="FILE", help="Write the first rankings as a TREC run file.")
AT = typer.Option("--at", metavar="N|TAG", help="Snapshot or candidate; may be repeated to compare.")
WEIGHT = typer.Option("--weight", min=0, max=1, help="Weight of the vectors in a hybrid search; may be repeated.")
HTML = typer.Option("--html", metavar="OUT", help="Write an HTML chart of the means with confidence intervals.")
VALUES = typer.Option("--values/--no-values", help="Save the value of each question, not just the mean.")
KEEP = typer.Option("--keep/--no-keep", help="Save the results as rows of `evaluations`.")
_NAMED = 3
"""Unknown documents to name. The note stays on one line, and a few names show what is wrong with the rest."""


def register(app: typer.Typer) -> None:
    """Add the command to the group `app`."""
    app.command(cls=takes("store", "search"))(questions)


def questions(
    context: typer.Context,
    file: Annotated[Path, QUESTIONS],
    qrels: Annotated[Path | None, QRELS] = None,
    at: Annotated[list[str] | None, AT] = None,
    mode: Annotated[list[Mode] | None, MODES] = None,
    weight: Annotated[list[float] | None, WEIGHT] = None,
    measure: Annotated[list[str] | None, MEASURE] = None,
    depth: Annotated[int, typer.Option(min=1, help="Number of hits in a ranking.")] = 10,
    run_file: Annotated[Path | None, RUN_FILE] = None,
    html: Annotated[Path | None, HTML] = None,
    keep: Annotated[bool, KEEP] = True,
    values: Annotated[bool, VALUES] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, each question's values included.")] = False,
) -> None:
    """Measure how well search answers questions with known answers."""
    settings = settings_of(context)
    from docmill.flows.measure import evaluation
    from docmill.tasks.evaluate.questions import load_questions
    from docmill.tasks.evaluate.ranking import MEASURES
    from docmill.tasks.evaluate.ranking import run_file as as_run

    asked = load_questions(file, qrels)
    ways = evaluation.ways_of(settings, [one.value for one in mode or list(Mode)], weight or [])
    found = evaluation.evaluate(settings.store, at or [None], ways, asked, measure or MEASURES, depth)
    if keep:
        subject = partial(evaluation.subject_of, file, qrels, {"depth": depth})
        save_rows(lambda: evaluation.keep(settings.store, found, subject(), values))
    _note_strangers(settings.store, found, asked)
    note(f"{len(asked)} questions with {sum(len(one.targets) for one in asked)} answers, ranking depth {depth}")
    _print(found, as_json)
    if run_file is not None:
        run_file.write_text(as_run(asked, found[0].evaluation.rankings, "docmill"), encoding="utf-8")
    if html is not None:
        title = f"{file.name}: {len(asked)} questions"
        _write_page(html, title, f"The first {depth} hits; bars are 95 % intervals.", found)


def _note_strangers(store: Path, found: Sequence["Measured"], asked: Sequence["Question"]) -> None:
    """Warn about documents that the questions name and the snapshot lacks: no search can find them."""
    from docmill.storage.reader.store import open_store
    from docmill.tasks.evaluate.asking import strangers

    for at in dict.fromkeys(one.of for one in found):
        opened = open_store(store, at)
        if opened.snapshot.pending:
            note(f"snapshot {at}: vectors {opened.snapshot.spelled_vectors()}; measure again when all are there")
        if missing := strangers(opened, asked):
            more = ", ..." if len(missing) > _NAMED else ""
            named = ", ".join(missing[:_NAMED]) + more
            note(f"the questions name {len(missing)} documents that snapshot {at} lacks: {named}")


def _print(found: Sequence["Measured"], as_json: bool) -> None:
    from docmill.flows.measure import evaluation

    if as_json:
        print_json([_as_json(one, found[0]) for one in found])
    else:
        print_rows(evaluation.compared(found))


def _write_page(path: Path, title: str, caption: str, found: Sequence["Measured"]) -> None:
    """Write the page that draws the means."""
    from docmill.flows.cli.pages.chart import Compared, chart

    drawn = [Compared(one.title, one.evaluation.values) for one in found]
    path.write_text(chart(title, caption, drawn), encoding="utf-8")
    note(f"wrote {path}")


def save_rows(save: Callable[[], None]) -> None:
    """Save the results. If the store is read-only, say so and continue."""
    try:
        save()
    except OSError as error:
        note(f"the results were not saved: {error}")


def _as_json(one: "Measured", first: "Measured") -> dict[str, Any]:
    means = {name: asdict(value) for name, value in one.evaluation.means().items()}
    found = {"snapshot": one.of, **one.evaluation.way.options, "measures": means, "questions": one.evaluation.values}
    if one is first:
        return found
    changes = one.evaluation.against(first.evaluation)
    return {**found, "against": {name: {**asdict(v), "verdict": v.verdict} for name, v in changes.items()}}
