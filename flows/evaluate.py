"""The Prefect flow `evaluate`: `docmill evaluate` as a form or on a schedule."""

from pathlib import Path

from prefect import flow
from prefect.artifacts import create_table_artifact

from docmill.flows.config.configuration import load
from docmill.flows.measure import evaluation
from docmill.flows.measure.evaluation import Measured
from docmill.flows.runs.report import artifact_key
from docmill.storage.search.rank.candidates.search_options import Mode
from docmill.tasks.evaluate.questions import load_questions
from docmill.tasks.evaluate.retrieval_measures import MEASURES


@flow(
    name="evaluate",
    description="Measure how well a store answers questions whose answers are known.",
    persist_result=False,
)
def evaluate(
    questions: str,
    store: str = "",
    qrels: str = "",
    at: list[str] = [],  # noqa: B006  a form shows it; nothing changes it
    modes: list[Mode] = ["hybrid", "vector", "keyword"],  # noqa: B006
    weights: list[float] = [],  # noqa: B006
    measures: list[str] = list(MEASURES),  # noqa: B006
    depth: int = 10,
    keep: bool = True,
    config: str = "",
) -> list[Measured]:
    """Measure search on snapshots by questions, and keep the results as rows of `evaluations`.

    Args:
        questions: A CSV or Excel table, TREC topics, or a BEIR folder.
        store: The folder of the store. The default is `store` in docmill.toml.
        qrels: The right answers, in TREC or BEIR format, if the questions do not name them.
        at: Kept snapshots and candidates, by number or tag. The default is the newest.
        modes: Search modes; each is compared to the first.
        weights: Weights of the vectors in hybrid search. The default is `search.weight` in docmill.toml.
        measures: Measures such as nDCG@10, R@5, RR, AP, Success@5, recall@5, half@5, IoU@500tokens.
        depth: Length of a ranking.
        keep: Save the results, with the value of each question.
        config: A docmill.toml. The default is the one in the working folder or in the nearest folder above it.
    """
    settings = load({("store",): store} if store else {}, Path(config) if config else None)
    judged = Path(qrels) if qrels else None
    asked = load_questions(Path(questions), judged)
    ways = evaluation.ways_of(settings, modes, weights)
    found = evaluation.evaluate(settings.store, at or [None], ways, asked, measures, depth)
    if keep:
        evaluation.keep(settings.store, found, evaluation.subject_of(Path(questions), judged, {"depth": depth}))
    left_out = "".join(f"; left out: {one.spelled()}" for one in found[0].evaluation.left_out)
    create_table_artifact(
        evaluation.compared(found),
        key=artifact_key("evaluate", settings.store),
        description=f"{Path(questions).name}: {len(asked)} questions, the first {depth} hits{left_out}",
    )
    return found
