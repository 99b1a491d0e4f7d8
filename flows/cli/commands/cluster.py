"""The commands that start parts of a cluster: worker, cluster up, cluster scheduler."""

import signal
import subprocess
import time
from typing import TYPE_CHECKING, Annotated

import typer

from docmill.flows.cli.terminal.command import command, command_group, settings_of, takes
from docmill.flows.cli.terminal.output import note

if TYPE_CHECKING:
    from docmill.flows.cluster.dask_cluster import WorkerOptions
    from docmill.flows.config.settings import ClusterSettings

_STOP_S = 10.0
"""Seconds for a process to end after the signal to end."""
_ENDED = 0  # the exit status of a worker whose scheduler has ended
_AGAIN_S = 1.0
"""Seconds before a worker without a scheduler tries again, so that one that ends at once does not restart in a loop."""


group = command_group("cluster", "Try a cluster on this machine, or start its scheduler.")


@command("cluster")
def worker(
    context: typer.Context,
    address: Annotated[str, typer.Argument(help="Dask's scheduler. The default is cluster.address.")] = "",
    host: Annotated[
        str, typer.Option(help="Address to listen on. The default is the one that reaches the scheduler.")
    ] = "",
    name: Annotated[str, typer.Option(help="Name of this worker. The default is host and process.")] = "",
    resources: Annotated[str, typer.Option(help="Dask resources, such as GPU=1.")] = "",
) -> None:
    """Parse and embed for runs with `engine = "dask"` until stopped.

    Listens on one address, with the TLS settings of [cluster], and works on one batch at a time with one process for
    each CPU. It waits until the scheduler is up, and rejoins one that was restarted.
    """
    from docmill.flows.cluster.dask_cluster import WorkerOptions

    chosen = settings_of(context).cluster
    options = WorkerOptions(host, name, resources)
    raise typer.Exit(_joined(chosen.model_copy(update={"address": address or chosen.address}), options))


def _joined(chosen: "ClusterSettings", options: "WorkerOptions") -> int:
    """Run a worker until it is stopped or cannot start. Dask's worker ends with its scheduler, so it is restarted."""
    from docmill.flows.cluster.dask_cluster import worker_command, worker_environment

    command, environment = worker_command(chosen, options), worker_environment(options)
    while (status := _waited([subprocess.Popen(command, env=environment)])) == _ENDED:
        note(f"the scheduler at {chosen.address} is gone; waiting for it")
        time.sleep(_AGAIN_S)
    return 0 if status is None else status


@group.command(cls=takes("cluster"))
def up(
    context: typer.Context,
    local: Annotated[int, typer.Option("--local", min=1, help="Number of workers on this machine.")] = 2,
    port: Annotated[int, typer.Option(min=1, help="Port of the scheduler.")] = 8786,
) -> None:
    """Run a scheduler and workers on this machine until stopped; only you on this machine reach them."""
    from docmill.flows.cluster.dask_cluster import scheduler, workers

    chosen = settings_of(context).cluster.model_copy(update={"address": f"tls://127.0.0.1:{port}"})
    running = [scheduler(chosen), *workers(chosen, local)]
    note(f'{local} workers join {chosen.address}; ingest with --engine dask --set cluster.address="{chosen.address}"')
    raise typer.Exit(_waited(running) or 0)


@group.command("scheduler", cls=takes("cluster"))
def start_scheduler(
    context: typer.Context,
    address: Annotated[str, typer.Argument(help="Where it listens. The default is cluster.address.")] = "",
) -> None:
    """Run the scheduler for workers on several machines until stopped.

    Listens with TLS by [cluster], and refuses plain tcp:// unless cluster.insecure is set.
    """
    from docmill.flows.cluster.dask_cluster import scheduler

    chosen = settings_of(context).cluster
    raise typer.Exit(_waited([scheduler(chosen.model_copy(update={"address": address or chosen.address}))]) or 0)


def _waited(processes: "list[subprocess.Popen[bytes]]") -> int | None:
    """Wait for the first process, then end all. Return its exit status, or None if a signal stopped this process."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that SIGTERM, too, ends all processes
    try:
        return processes[0].wait()
    except KeyboardInterrupt:
        return None
    finally:
        _end(processes)
        signal.signal(signal.SIGTERM, before)


def _end(processes: "list[subprocess.Popen[bytes]]") -> None:
    for process in reversed(processes):
        process.terminate()
    for process in processes:
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
