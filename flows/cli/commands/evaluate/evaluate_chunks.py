"""The commands `evaluate chunks` and `evaluate context`: chunk statistics, and judgements by a language model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from docmill.flows.cli.commands.evaluate.evaluate_questions import QRELS, QUESTIONS, save_rows
from docmill.flows.cli.commands.search_and_sql import At
from docmill.flows.cli.terminal.command import command, settings_of
from docmill.flows.cli.terminal.output import AsJson, note, print_json, print_rows
from docmill.storage.errors import ConfigError, StoreError


@command("*")
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
    _print(found, as_json)


@command("store", "search", "model")
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
    _print(found, as_json)


def _print(found: Mapping[str, Mapping[str, float]], as_json: bool) -> None:
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
