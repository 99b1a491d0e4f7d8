"""The command `evaluate facts`: have a language model check whether the hits state the facts of the right answers."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docmill.flows.cli.commands.evaluate.evaluate_questions import save_rows
from docmill.flows.cli.commands.search_and_sql import At, Mode
from docmill.flows.cli.terminal.command import command, settings_of
from docmill.flows.cli.terminal.output import AsJson, note, print_json, print_rows

if TYPE_CHECKING:
    from docmill.flows.measure.fact_recall import Facts
    from docmill.storage.snapshots.read.store import Store
    from docmill.tasks.evaluate.questions import Question
    from docmill.tasks.model.client import ModelClient

QUESTIONS = typer.Option("--questions", metavar="PATH", help="CSV or Excel table, TREC topics, or a BEIR folder.")
QRELS = typer.Option("--qrels", metavar="FILE", help="Relevance judgements in TREC or BEIR format.")
MODES = typer.Option("--mode", help="Search mode; may be repeated to compare. The default is all three.")
TOP = typer.Option("--top", min=1, help="Number of chunks to read; may be repeated. The default is 3, 5 and 10.")
WINDOW = typer.Option("--window", min=0, help="Maximum tokens of a prompt, estimated. Longer ones fail. 0 is no limit.")
FACTS = typer.Option("--facts", metavar="FILE", help="Read the facts from this file; if it is new, write them there.")


@command("store", "search", "model")
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
    _print([_row(one) for one in found], as_json)
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


def _print(rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json(rows)
    else:
        print_rows([{**row, "accuracy": f"{row['accuracy']:.3f}"} for row in rows])


def _row(one: Any) -> dict[str, Any]:
    counts = {name: getattr(one, name) for name in ("accuracy", "true", "false", "too_long", "failed")}
    return {"mode": one.way.spelled(), "top": one.top, **counts}
