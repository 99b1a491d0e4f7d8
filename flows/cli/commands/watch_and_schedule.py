"""The commands that ingest again on each change, or on a schedule: watch, schedule."""

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from docmill.flows.cli.commands.ingest_and_plan import AllowDelete, RefreshContexts, Sources
from docmill.flows.cli.terminal.command import checked_settings_of, command, settings_file_of
from docmill.flows.cli.terminal.output import note, print_json, print_text
from docmill.flows.cli.terminal.progress import progress_shown
from docmill.flows.watching.watch_options import DEBOUNCE_S, EVERY_S, POLL_S, WatchOptions

if TYPE_CHECKING:
    from docmill.flows.config.settings import Settings
    from docmill.flows.runs.report import Report
    from docmill.flows.runs.run_options import RunOptions
    from docmill.flows.watching.watch import Observer

Debounce = Annotated[
    float,
    typer.Option("--debounce", metavar="SECONDS", help="Start a run after this time without a change."),
]
Poll = Annotated[
    float,
    typer.Option("--poll", metavar="SECONDS", help="Ask sources without change events, such as s3://, this often."),
]
Every = Annotated[
    float,
    typer.Option("--every", metavar="SECONDS", help="Run at least this often, in case an event was lost."),
]


@command("*")
def watch(
    context: typer.Context,
    sources: Sources = None,
    debounce: Debounce = DEBOUNCE_S,
    poll: Poll = POLL_S,
    every: Every = EVERY_S,
    allow_delete: AllowDelete = False,
    retry: Annotated[bool, typer.Option("--retry", help="Try rejected documents again, at the start.")] = False,
    refresh_contexts: RefreshContexts = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON for each commit.")] = False,
    parent: Annotated[int, typer.Option("--parent", hidden=True, help="End with the process of this number.")] = 0,
) -> None:
    """Ingest, then again after each change of the sources, until stopped."""
    if parent:
        from docmill.storage.process.child_process import die_with

        die_with(parent)
    settings = checked_settings_of(context)
    from docmill.flows.runs.run_options import RunOptions

    options = RunOptions(False, allow_delete, retry, refresh_contexts)
    _watch(settings, sources or (), options, WatchOptions(debounce, poll, every), as_json)


def _watch(
    settings: "Settings", sources: Iterable[str], first: "RunOptions", options: WatchOptions, as_json: bool
) -> None:
    """Watch until a signal ends the process."""
    from docmill.flows.cli.terminal.interruption import interruptible, kept_of
    from docmill.flows.prefect.run_on_engine import engine_of, ready_for_runs, sources_of, start_run
    from docmill.flows.watching.watch import Observer, WatchLoop
    from docmill.storage.process.shutdown import tidied
    from docmill.tasks.work.pool.pool import close_pools

    named = sources_of(settings, tuple(sources))
    if settings.engine == "auto":
        note(f"engine {engine_of(settings, first)}, chosen by --engine auto")
    told = _WatchLog(as_json)

    def run(how: "RunOptions") -> "Report":
        with progress_shown("discover", brief=told.runs > 0) as progress:
            return start_run(settings, named, how, progress, note)

    with interruptible(lambda: kept_of(settings.store)), tidied(close_pools), ready_for_runs(settings):
        WatchLoop(Observer(settings, named, options), run, told).work(first)


class _WatchLog:
    """Logs a watch: a line on standard output for each commit, everything else on standard error."""

    def __init__(self, as_json: bool) -> None:
        self.runs = 0
        self._as_json = as_json
        self._problems: frozenset[str] = frozenset()

    def started(self, observer: "Observer") -> None:
        """Report which sources are watched, and how."""
        for one in observer.watched:
            note(one.spelled(observer.options.poll_s))

    def done(self, report: "Report", seconds: float) -> None:
        """Report what a run has committed or held back, and the problems that are new since the last run."""
        from docmill.flows.runs.report import EARLIER

        self.runs += 1
        if report.snapshot or report.candidate or self.runs == 1:
            if self._as_json:
                print_json(report.as_json())
            else:
                print_text(f"{time.strftime('%H:%M:%S')}  {report.as_line()}; {seconds:.1f} s")
        problems = {one.removesuffix(EARLIER): None for one in report.problems}
        for problem in problems:
            if problem not in self._problems:
                note(problem)
        self._problems = frozenset(problems)

    def failed(self, message: str) -> None:
        """Report why a run failed and when it will be retried."""
        note(message)


@command("*")
def schedule(
    context: typer.Context,
    cron: Annotated[
        str, typer.Option("--cron", metavar="CRON", help='Schedule, such as "0 3 * * *" for 3 a.m. every day.')
    ],
    sources: Sources = None,
    watch: Annotated[bool, typer.Option("--watch", help="Also run at the start and after each change.")] = False,
    learn: Annotated[bool, typer.Option("--learn", help="Learn from judged queries instead of ingesting.")] = False,
) -> None:
    """Ingest on a schedule with Prefect, in this process."""
    if watch and learn:
        raise typer.BadParameter("give either --watch or --learn; learning runs at night, in a process of its own")
    from docmill.flows.prefect.run_on_engine import sources_of

    settings = checked_settings_of(context)
    named = sources_of(settings, sources or ())
    from docmill.flows.prefect.scheduled_runs import serve as serve_flow

    observer = _observer(settings, named) if watch else None
    serve_flow(settings, named, cron, observer, settings_file_of(context) if learn else None)


def _observer(settings: "Settings", sources: Sequence[str]) -> "Observer":
    """Return an observer of sources; raise `SourceError` if one does not exist.

    It pauses longer than in `docmill watch`, because each failed try is a failed run on Prefect's page.
    """
    from docmill.flows.watching.watch import Observer

    observer = Observer(settings, sources, WatchOptions(longest_pause_s=EVERY_S))
    observer.arm()
    return observer
