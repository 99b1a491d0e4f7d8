"""The command group `docmill evaluate`, whose default command is `questions`."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docmill.flows.cli.commands.search_and_sql import At, Mode, Passages
from docmill.flows.cli.terminal.command import settings_of, takes
from docmill.flows.cli.terminal.help_pages import GroupedCommands
from docmill.flows.cli.terminal.output import AsJson, may_write, note, print_json, print_rows, write_output
from docmill.storage.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from docmill.flows.measure.evaluation import EvaluationSubject, Measured
    from docmill.flows.measure.fact_recall import Facts
    from docmill.storage.snapshots.read.store import Store
    from docmill.tasks.evaluate.questions import LeftOut, Question
    from docmill.tasks.model.client import ModelClient


DEFAULT = "questions"


class Defaulting(GroupedCommands):
    """A command group with a default command, which gets arguments that name no command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments. If they name no command, the default command is put first."""
        named = args and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if named else [DEFAULT, *args])


group = typer.Typer(
    name="evaluate",
    cls=Defaulting,
    help="Measure search quality. Without a subcommand, runs `evaluate questions`.",
    rich_markup_mode=None,
)


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


@group.command(cls=takes("store", "search"))
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


@group.command(cls=takes("*"))
def chunks(
    context: typer.Context,
    at: At = None,
    documents: Annotated[int, typer.Option(min=1, help="Sample size of the slow measures, in documents.")] = 100,
    least: Annotated[int, typer.Option(min=0, help="Count chunks with fewer tokens as short.")] = 50,
    coherence: Annotated[bool, typer.Option(help="Measure the coherence of sentences (embeds them).")] = True,
    needles: Annotated[bool, typer.Option(help="Plant sentences in long texts and search for them.")] = True,
    as_json: AsJson = False,
) -> None:
    """Measure the chunks without questions: sizes, boundaries, overlap, coherence, duplicates, needle retrieval."""
    settings = settings_of(context)
    from docmill.flows.measure.chunk_quality import Looking, chunk_quality, keep
    from docmill.storage.snapshots.read.store import open_store

    store, looking = open_store(settings.store, at), Looking(documents, least, coherence, needles)
    found = chunk_quality(settings, store, looking)
    if not found:
        raise StoreError(f"{settings.store} holds no chunk to measure")
    if store.snapshot.pending:
        note(f"vectors {store.snapshot.spelled_vectors()}; near duplicates are measured among the chunks that have one")
    save_rows(lambda: keep(store, at or "", found, looking))
    _print_values(found, as_json)


@group.command(cls=takes("store", "search", "model"))
def context(
    context: typer.Context,
    file: Annotated[Path, QUESTIONS],
    qrels: Annotated[Path | None, QRELS] = None,
    at: At = None,
    k: Annotated[int, typer.Option("-k", "-n", "--limit", min=1, metavar="N", help="Number of hits to judge.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Have a language model judge the hits: context precision and relevance, as in RAGAS."""
    settings = settings_of(context)
    from docmill.flows.measure.chunk_quality import judge
    from docmill.flows.measure.evaluation import keep_values, subject_of
    from docmill.storage.snapshots.read.store import open_store
    from docmill.tasks.evaluate.questions import load_questions

    asked, store = load_questions(file, qrels), open_store(settings.store, at)
    found = judge(settings, store, asked, k)
    for name, values in found.items():
        if len(values) < len(asked):
            note(f"{name}: {len(asked) - len(values)} of {len(asked)} questions have no judgement and are left out")
    if not any(found.values()):
        raise ConfigError("no answer of the model could be read as a judgement; check [model]")
    found = {name: values for name, values in found.items() if values}
    subject = subject_of(file, qrels, {"k": k, "model": settings.model.model}, "context")
    save_rows(lambda: keep_values(store, at or "", subject, found))
    _print_values(found, as_json)


def _print_values(found: Mapping[str, Mapping[str, float]], as_json: bool) -> None:
    from docmill.tasks.evaluate.bootstrap import interval

    rows: list[dict[str, Any]] = []
    for name, values in found.items():
        mean = interval(values)
        several = len(values) > 1
        rows.append({"measure": name, "value": mean.mean, "low": mean.low, "high": mean.high, "of": len(values)})
        if not as_json:
            rows[-1] |= {"value": f"{mean.mean:.4g}", "low": "", "high": ""}
            rows[-1] |= {"low": f"{mean.low:.3f}", "high": f"{mean.high:.3f}"} if several else {}
    print_json(rows) if as_json else print_rows(rows)


TOP = typer.Option("--top", min=1, help="Number of chunks to read; may be repeated. The default is 3, 5 and 10.")
WINDOW = typer.Option("--window", min=0, help="Maximum tokens of a prompt, estimated. Longer ones fail. 0 is no limit.")
FACTS = typer.Option("--facts", metavar="FILE", help="Read the facts from this file; if it is new, write them there.")


@group.command(cls=takes("store", "search", "model"))
def facts(
    context: typer.Context,
    questions: Annotated[Path, QUESTIONS],
    qrels: Annotated[Path | None, QRELS] = None,
    at: At = None,
    mode: Annotated[list[Mode] | None, MODES] = None,
    top: Annotated[list[int] | None, TOP] = None,
    window: Annotated[int, WINDOW] = 0,
    kept: Annotated[Path | None, FACTS] = None,
    as_json: AsJson = False,
) -> None:
    """Have a language model list the facts of the right answers and check which of them the hits state."""
    settings = settings_of(context)
    from docmill.flows.config.from_settings import model_access_of, search_method_of
    from docmill.flows.measure import fact_recall as flow
    from docmill.flows.measure.evaluation import subject_of
    from docmill.flows.runs.report import reason_of
    from docmill.storage.snapshots.read.store import open_store
    from docmill.tasks.evaluate.questions import load_questions
    from docmill.tasks.model.client import ModelClient

    asked, asking, store = load_questions(questions, qrels), model_access_of(settings), open_store(settings.store, at)
    if asking is None:
        raise flow.without_model()
    terms = flow.JudgingTerms(
        [search_method_of(settings, one.value) for one in mode or list(Mode)], top or flow.TOPS, window
    )
    with ModelClient(asking) as model_client:
        known = _known(kept, store, asked, model_client)
        found = flow.judge(store, asked, known, terms, model_client)
        spent = model_client.spent
    subject = subject_of(questions, qrels, {"model": settings.model.model, "window": window}, "facts")
    save_rows(lambda: flow.keep_shares(store, at or "", subject, found))
    note(f"{sum(map(len, known.values()))} facts from {len(known)} of {len(asked)} questions")
    _print_facts([_fact_row(one) for one in found], as_json)
    if spent.left or any(one.failed for one in found) or len(known) < len(asked):
        why = "; ".join(filter(None, (f"{spent.left} exceeded --max-calls or --max-cost", reason_of(spent))))
        note(f"some prompts got no usable answer ({why})")
        raise typer.Exit(1)


def _known(kept: Path | None, store: "Store", asked: Sequence["Question"], model_client: "ModelClient") -> "Facts":
    """Return the facts in the file `kept`. If it does not exist, have the model list them and write the file."""
    from docmill.flows.measure import fact_recall as flow

    if kept and kept.exists():
        return flow.read_kept(kept)
    known = flow.facts_of(store, asked, model_client)
    if kept:
        flow.keep(kept, known)
    return known


def _print_facts(rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json(rows)
    else:
        print_rows([{**row, "accuracy": f"{row['accuracy']:.3f}"} for row in rows])


def _fact_row(one: Any) -> dict[str, Any]:
    counts = {name: getattr(one, name) for name in ("accuracy", "true", "false", "too_long", "failed")}
    return {"mode": one.way.spelled(), "top": one.top, **counts}
