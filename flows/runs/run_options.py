"""Run options: flags of a single run that are not settings."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Flags of a single run; see `docmill.flows.runs.pipeline.ingest`."""

    dry_run: bool = False
    allow_delete: bool = False
    retry: bool = False
    refresh_contexts: bool = False
