"""The command that measures a store's search by questions whose answers are known."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.answers import Mode
from flows.cli.command import settings_of, takes
from flows.cli.output import note, print_json, print_rows

if TYPE_CHECKING:
    from tasks.evaluate.asking import Evaluation

QUESTIONS = typer.Option("--questions", metavar="PATH", help="CSV, TREC topics, or a BEIR folder.")
QRELS = typer.Option("--qrels", metavar="FILE", help="What answers the questions, in TREC's or BEIR's form.")
MODES = typer.Option("--mode", help="A way to search; give it again to compare. All three where none is given.")
MEASURE = typer.Option("--measure", metavar="NAME", help="Such as nDCG@10, R@5, RR, AP, Success@5; may be repeated.")
RUN_FILE = typer.Option("--run-file", metavar="FILE", help="Write the first way's rankings as a TREC run.")


def register(app: typer.Typer) -> None:
    """Add the command to the group `app`."""
    app.command(cls=takes("store", "search"))(questions)


def questions(
    context: typer.Context,
    file: Annotated[Path, QUESTIONS],
    qrels: Annotated[Path | None, QRELS] = None,
    mode: Annotated[list[Mode] | None, MODES] = None,
    measure: Annotated[list[str] | None, MEASURE] = None,
    depth: Annotated[int, typer.Option(min=1, help="How long a ranking is.")] = 10,
    run_file: Annotated[Path | None, RUN_FILE] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, each question's values included.")] = False,
) -> None:
    """Measure how well the store answers questions whose answers are known."""
    settings = settings_of(context)
    from storage.store import open_store
    from tasks.evaluate.asking import Way
    from tasks.evaluate.asking import evaluate as run
    from tasks.evaluate.questions import load_questions
    from tasks.evaluate.ranking import MEASURES
    from tasks.evaluate.ranking import run_file as as_run

    asked = load_questions(file, qrels)
    ways = [Way(one.value, settings.search.weight, settings.search.fusion) for one in mode or list(Mode)]
    found = run(open_store(settings.store), asked, ways, measure or MEASURES, depth)
    if run_file is not None:
        run_file.write_text(as_run(found[0].rankings, "docmill"), encoding="utf-8")
    if as_json:
        print_json([_as_json(one) for one in found])
    else:
        note(f"{len(asked)} questions with {sum(len(one.targets) for one in asked)} answers, the first {depth} hits")
        print_rows(_rows(found))


def _as_json(one: "Evaluation") -> dict[str, Any]:
    means = {name: asdict(value) for name, value in one.means().items()}
    return {**asdict(one.way), "measures": means, "questions": one.values}


def _rows(found: Sequence["Evaluation"]) -> list[dict[str, Any]]:
    """Return one row a way: means, and for all but the first what became of the first measure."""
    rows = []
    for one in found:
        row: dict[str, Any] = {"mode": one.way.mode}
        row |= {name: f"{value.mean:.3f}" for name, value in one.means().items()}
        if one is not found[0]:
            name, change = next(iter(one.against(found[0]).items()))
            interval = f"{change.mean:+.3f} [{change.low:+.3f}, {change.high:+.3f}]"
            row[f"{name} against {found[0].way.mode}"] = f"{interval} {change.verdict}"
        rows.append(row)
    return [dict.fromkeys(rows[-1], "") | row for row in rows]
