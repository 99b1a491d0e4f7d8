"""The Prefect flow `learn`: change settings by judgements, at night and checked by the gate."""

from dataclasses import asdict, replace
from pathlib import Path

from prefect import flow, get_run_logger
from prefect.artifacts import create_table_artifact

from docmill.flows.config.configuration import FILE_NAME, chosen_file, load
from docmill.flows.measure.learn import learn as learn_once
from docmill.flows.measure.tune import TuneOptions
from docmill.flows.runs.report import artifact_key
from docmill.storage.snapshots.history.learned_settings import LearnedChange

NIGHTLY = 5_000
"""Texts that a night may embed for its trials: about ten minutes on two cores with the bundled model."""


@flow(
    name="learn",
    description="Try settings on the queries that people judged, and adopt what gains beyond chance.",
    persist_result=False,
)
def learn(
    sources: list[str] = [],  # noqa: B006  a form shows it; nothing changes it
    store: str = "",
    budget: int = NIGHTLY,
    measure: str = "nDCG@10",
    config: str = "",
) -> list[LearnedChange]:
    """Let the judgements of a store change docmill.toml; each decision is a row of `learned`.

    Args:
        sources: Folders, globs, files and s3://BUCKET/PREFIX to try. The default is `sources` in docmill.toml.
        store: The folder of the store. The default is `store` in docmill.toml.
        budget: How many new texts the trials may embed.
        measure: The measure that must gain.
        config: The docmill.toml to read and change. The default is the one in the working folder or above it.
    """
    file = Path(config) if config else chosen_file(None) or Path(FILE_NAME)
    settings = load({("store",): store} if store else {}, file if file.exists() else None)
    found = learn_once(settings, file, sources or settings.sources, TuneOptions(budget=budget, measure=measure))
    for line in found.why:
        get_run_logger().info(line)
    rows = [asdict(replace(one, evidence="")) for one in found.changes]
    create_table_artifact(rows, key=artifact_key("learn", settings.store), description=f"{found.judged} judged queries")
    return found.changes
