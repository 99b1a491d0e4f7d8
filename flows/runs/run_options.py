"""Run options: what is asked of one run besides its settings."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What is asked of one run besides its settings; see `docmill.flows.runs.pipeline.ingest`."""

    dry_run: bool = False
    allow_delete: bool = False
    retry: bool = False
    refresh_contexts: bool = False
