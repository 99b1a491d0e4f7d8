"""The command that measures a store's search by questions whose answers are known."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docmill.flows.cli.commands.search_sql import Mode
from docmill.flows.cli.terminal.command import settings_of, takes
from docmill.flows.cli.terminal.output import note, print_json, print_rows

if TYPE_CHECKING:
    from docmill.flows.measure.evaluation import Measured

QUESTIONS = typer.Option("--questions", metavar="PATH", help="CSV, TREC topics, or a BEIR folder.")
QRELS = typer.Option("--qrels", metavar="FILE", help="What answers the questions, in TREC's or BEIR's form.")
MODES = typer.Option("--mode", help="A way to search; give it again to compare. All three where none is given.")
MEASURE = typer.Option("--measure", metavar="NAME", help="Such as nDCG@10, R@5, RR, AP, Success@5; may be repeated.")
RUN_FILE = typer.Option("--run-file", metavar="FILE", help="Write the first way's rankings as a TREC run.")
AT = typer.Option("--at", metavar="N|TAG", help="A kept snapshot or a candidate; give it again to compare.")
WEIGHT = typer.Option("--weight", min=0, max=1, help="Weight of the vectors in a hybrid search; may be repeated.")
HTML = typer.Option("--html", metavar="OUT", help="Write a page that draws the means with their intervals.")
VALUES = typer.Option("--values/--no-values", help="Keep the value of each question, not just the mean.")
KEEP = typer.Option("--keep/--no-keep", help="Keep the results as rows of `evaluations`.")


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
    depth: Annotated[int, typer.Option(min=1, help="How long a ranking is.")] = 10,
    run_file: Annotated[Path | None, RUN_FILE] = None,
    html: Annotated[Path | None, HTML] = None,
    keep: Annotated[bool, KEEP] = True,
    values: Annotated[bool, VALUES] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, each question's values included.")] = False,
) -> None:
    """Measure how well the store answers questions whose answers are known."""
    settings = settings_of(context)
    from docmill.flows.measure import evaluation
    from docmill.storage.reader.store import open_store
    from docmill.tasks.evaluate.asking import strangers
    from docmill.tasks.evaluate.questions import load_questions
    from docmill.tasks.evaluate.ranking import MEASURES
    from docmill.tasks.evaluate.ranking import run_file as as_run

    asked = load_questions(file, qrels)
    ways = evaluation.ways_of(settings, [one.value for one in mode or list(Mode)], weight or [])
    found = evaluation.evaluate(settings.store, at or [None], ways, asked, measure or MEASURES, depth)
    if keep:
        save_rows(
            lambda: evaluation.keep(settings.store, found, evaluation.subject_of(file, qrels, {"depth": depth}), values)
        )
    for at_one in dict.fromkeys(one.of for one in found):
        if missing := strangers(open_store(settings.store, at_one), asked):
            named = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
            note(f"questions ask for {len(missing)} documents that snapshot {at_one} does not hold: {named}")
    note(f"{len(asked)} questions with {sum(len(one.targets) for one in asked)} answers, the first {depth} hits")
    if as_json:
        print_json([_as_json(one, found[0]) for one in found])
    else:
        print_rows(evaluation.compared(found))
    if run_file is not None:
        run_file.write_text(as_run(asked, found[0].evaluation.rankings, "docmill"), encoding="utf-8")
    if html is not None:
        from docmill.flows.cli.terminal.chart import Compared, chart

        html.write_text(
            chart(
                f"{file.name}: {len(asked)} questions",
                f"The first {depth} hits; bars are 95 % intervals.",
                [Compared(one.title, one.evaluation.values) for one in found],
            ),
            encoding="utf-8",
        )
        note(f"wrote {html}")


def save_rows(save: Callable[[], None]) -> None:
    """Keep results; where the store cannot be written, say so and go on."""
    try:
        save()
    except OSError as error:
        note(f"the results are not kept: {error}")


def _as_json(one: "Measured", first: "Measured") -> dict[str, Any]:
    means = {name: asdict(value) for name, value in one.evaluation.means().items()}
    found = {"snapshot": one.of, **one.evaluation.way.options, "measures": means, "questions": one.evaluation.values}
    if one is first:
        return found
    changes = one.evaluation.against(first.evaluation)
    return {**found, "against": {name: {**asdict(v), "verdict": v.verdict} for name, v in changes.items()}}
