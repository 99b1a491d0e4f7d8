"""Due runs: poll the Prefect API for due runs until a signal to stop, and leave nothing running."""

import asyncio
from contextlib import nullcontext, suppress
from multiprocessing import active_children
from threading import Timer
from typing import Any

from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
from prefect.runner import Runner
from prefect.schedules import Schedule
from prefect.types.entrypoint import EntrypointType

from docmill.flows.ingest import ingest
from docmill.flows.learn import learn
from docmill.flows.prefect.watched_runs import QUERY_S, WatchedRuns

_FLOWS: dict[str, Any] = {"ingest": ingest, "learn": learn}
STOP_S = 8.0
"""Seconds for a run to end after SIGTERM; less than the 10 after which `docker stop` kills the container."""


class Polling(Runner):
    """Prefect's runner, which on SIGTERM also waits for the end of the runs that it started.

    The original does not await them, so they would outlive it.
    """

    main: "asyncio.Task[Any] | None" = None
    stopped = False

    def handle_sigterm(self, *_: Any, **__: Any) -> None:
        self.stopped = True
        for run in active_children():
            run.terminate()
        patience = Timer(STOP_S, _kill)  # a run that is encoding does not react to SIGTERM
        patience.daemon = True
        patience.start()
        if self.main is not None:
            self.main.get_loop().call_soon_threadsafe(self.main.cancel)

    async def run(self) -> None:
        """Poll until stopped."""
        self.main = asyncio.current_task()
        try:
            await self.start()
        except asyncio.CancelledError:
            if not self.stopped:
                raise


def poll(
    name: str, schedule: Schedule, parameters: dict[str, Any], watched: WatchedRuns | None = None, kind: str = "ingest"
) -> None:
    """Serve the deployment `<kind>/<name>` until SIGTERM or Ctrl-C, then pause its schedule.

    With `watched`, runs also start after changes. Raises the error that ended the watch.
    """
    runner = Polling(name=name, pause_on_shutdown=True, query_seconds=QUERY_S if watched else None)
    runner.add_flow(
        _FLOWS[kind],
        name=name,
        schedule=schedule,
        parameters=parameters,
        concurrency_limit=ConcurrencyLimitConfig(limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW),
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    try:
        with suppress(KeyboardInterrupt), watched.beside(runner.handle_sigterm) if watched else nullcontext():
            asyncio.run(runner.run())
    finally:
        _kill()
    if watched and watched.error:
        raise watched.error


def _kill() -> None:
    """Kill the runs that have not ended, which leaves the store consistent."""
    for run in active_children():
        run.kill()
