"""The command `evaluate questions`: measure retrieval quality with questions whose answers are known."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docmill.flows.cli.commands.search_and_sql import Mode, Passages
from docmill.flows.cli.terminal.command import command, settings_of
from docmill.flows.cli.terminal.output import may_write, note, write_output
from docmill.storage.errors import ConfigError

if TYPE_CHECKING:
    from docmill.flows.measure.evaluation import EvaluationSubject, Measured
    from docmill.tasks.evaluate.questions import LeftOut, Question


class Dimension(StrEnum):
    """What questions can be grouped by."""

    document = "document"
    source = "source"
    type = "type"
    language = "language"


class Made(StrEnum):
    """What questions can be made from."""

    links = "links"
    captions = "captions"
    docstrings = "docstrings"
    subjects = "subjects"
    headings = "headings"
    words = "words"


QUESTIONS = typer.Option("--questions", metavar="PATH", help="CSV or Excel table, TREC topics, or a BEIR folder.")
FROM = typer.Option(
    "--from", help="Make questions from the documents instead: texts of links, captions ... May be repeated."
)
JUDGED = typer.Option("--judged", help="Ask the judged queries instead, if a passage was judged right.")
MOST = typer.Option("--most", min=1, metavar="N", help="Maximum number of questions to make.")
QRELS = typer.Option("--qrels", metavar="FILE", help="Relevance judgements in TREC or BEIR format.")
MODES = typer.Option("--mode", help="Search mode; may be repeated to compare. The default is all three.")
MEASURE = typer.Option(
    "--measure", metavar="NAME", help="Measure such as nDCG@10, R@5, RR, AP, Success@5; may be repeated."
)
RUN_FILE = typer.Option(
    "--run-file", callback=may_write, metavar="FILE", help="Write the first rankings as a TREC run file."
)
AT = typer.Option("--at", metavar="N|TAG", help="Snapshot or candidate; may be repeated to compare.")
WEIGHT = typer.Option("--weight", min=0, max=1, help="Weight of the vectors in a hybrid search; may be repeated.")
HTML = typer.Option(
    "--html", callback=may_write, metavar="OUT", help="Write an HTML chart of the means with confidence intervals."
)
VALUES = typer.Option("--values/--no-values", help="Save the value of each question, not just the mean.")
KEEP = typer.Option("--keep/--no-keep", help="Save the results as rows of `evaluations`.")
BY = typer.Option(
    "--by", help="Also measure groups of questions, by the document, source, content type or language of the answer."
)
_LEFT_OUT = 3
"""The exit status if some questions could not be measured: done in part."""


@command("store", "search")
def questions(
    context: typer.Context,
    file: Annotated[Path | None, QUESTIONS] = None,
    made_from: Annotated[list[Made] | None, FROM] = None,
    judged: Annotated[bool, JUDGED] = False,
    most: Annotated[int, MOST] = 500,
    qrels: Annotated[Path | None, QRELS] = None,
    at: Annotated[list[str] | None, AT] = None,
    mode: Annotated[list[Mode] | None, MODES] = None,
    weight: Annotated[list[float] | None, WEIGHT] = None,
    measure: Annotated[list[str] | None, MEASURE] = None,
    by: Annotated[list[Dimension] | None, BY] = None,
    depth: Annotated[int, typer.Option(min=1, help="Number of hits in a ranking.")] = 10,
    passages: Passages = None,
    run_file: Annotated[Path | None, RUN_FILE] = None,
    html: Annotated[Path | None, HTML] = None,
    keep: Annotated[bool, KEEP] = True,
    values: Annotated[bool, VALUES] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, each question's values included.")] = False,
) -> None:
    """Measure how well search answers questions with known answers."""
    settings = settings_of(context)
    # First, so that errors in the file are reported before models are loaded.
    asked, faults = _read(file, qrels, made_from, judged)
    from docmill.flows.cli.pages.question_report import QuestionReport
    from docmill.flows.measure import evaluation
    from docmill.flows.measure.breakdown import broken_down
    from docmill.tasks.evaluate.retrieval_measures import MEASURES

    asked = asked or _make(settings.store, at, made_from, most)
    ways = evaluation.ways_of(settings, [one.value for one in mode or list(Mode)], weight or [], passages)
    found = evaluation.evaluate(settings.store, at or [None], ways, asked, measure or MEASURES, depth)
    subject = partial(_subject, file, qrels, made_from, asked, depth)
    if keep:
        save_rows(lambda: evaluation.keep(settings.store, found, subject(), values))
    parts = broken_down(settings.store, found, asked, by or [])
    report = QuestionReport(asked, found, (*faults, *found[0].evaluation.left_out), parts)
    report.tell(settings.store, depth)
    report.print(as_json)
    _write_run(run_file, found, asked)
    title = f"{subject().name}: {len(asked)} questions"
    _write_page(html, title, f"The first {depth} hits; bars are 95 % intervals.", found)
    if report.left_out:
        raise typer.Exit(_LEFT_OUT)


def _read(
    file: Path | None, qrels: Path | None, made_from: list[Made] | None, judged: bool
) -> tuple[list["Question"], list["LeftOut"]]:
    """Return the valid and the invalid questions of the file; none if the questions come from the store."""
    from docmill.tasks.evaluate.questions import read_questions

    if [file is not None, bool(made_from), judged].count(True) != 1:
        named = "give questions with --questions FILE, or have them made with --from links"
        raise ConfigError(f"{named}, or ask what people have judged: --judged")
    return read_questions(file, qrels) if file else ([], [])


def _make(store: Path, at: list[str] | None, kinds: list[Made] | None, most: int) -> list["Question"]:
    from docmill.flows.measure import evaluation

    newest = at[0] if at else None
    return (
        evaluation.made_questions(store, newest, kinds, most) if kinds else evaluation.judged_questions(store, newest)
    )


def _subject(
    file: Path | None, qrels: Path | None, kinds: list[Made] | None, asked: Sequence["Question"], depth: int
) -> "EvaluationSubject":
    from docmill.flows.measure import evaluation

    settings = {"depth": depth}
    if file:
        return evaluation.subject_of(file, qrels, settings)
    return evaluation.made_subject(kinds, asked, settings) if kinds else evaluation.judged_subject(asked, settings)


def _write_run(path: Path | None, found: Sequence["Measured"], asked: Sequence["Question"]) -> None:
    """Write the first rankings if a path is given."""
    from docmill.tasks.evaluate.retrieval_measures import run_file

    if path is not None:
        write_output(path, run_file(asked, found[0].evaluation.rankings, "docmill").encode())


def _write_page(path: Path | None, title: str, caption: str, found: Sequence["Measured"]) -> None:
    """Write the page with a chart of the means if a path is given."""
    if path is None:
        return
    from docmill.flows.cli.pages.chart import Compared, chart

    drawn = [Compared(one.title, one.evaluation.values) for one in found]
    write_output(path, chart(title, caption, drawn).encode())
    note(f"wrote {path}")


def save_rows(save: Callable[[], None]) -> None:
    """Save the results. If the store is read-only, say so and continue."""
    try:
        save()
    except OSError as error:
        note(f"the results were not saved: {error}")
