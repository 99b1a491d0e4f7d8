"""The commands that start what a cluster consists of: worker, cluster up."""

import subprocess
from typing import TYPE_CHECKING, Annotated

import typer

from docmill.flows.cli.terminal.command import settings_of, takes
from docmill.flows.cli.terminal.output import note

if TYPE_CHECKING:
    from docmill.flows.cluster.dask_processes import WorkerOptions
    from docmill.flows.config.settings import ClusterSettings

_STOP_S = 10.0
"""Seconds for a process to end once it is told to."""


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.command(cls=takes("cluster"))(worker)
    group = typer.Typer(help="Try a cluster on this machine.", rich_markup_mode=None, no_args_is_help=True)
    group.callback()(_group)
    group.command(cls=takes("cluster"))(up)
    app.add_typer(group, name="cluster")


def _group() -> None:
    """Try a cluster on this machine."""


def worker(
    context: typer.Context,
    address: Annotated[str, typer.Argument(help="Dask's scheduler. The default is cluster.address.")] = "",
    host: Annotated[str, typer.Option(help="Address to listen on; the default leads to the scheduler.")] = "",
    name: Annotated[str, typer.Option(help="Name in receipts; the default is host and process.")] = "",
    resources: Annotated[str, typer.Option(help="Dask resources, such as GPU=1.")] = "",
) -> None:
    """Parse and embed for runs with `engine = "dask"` until stopped.

    Listens on one address only, with TLS by [cluster], and takes one batch at a time with a process for each CPU.
    """
    from docmill.flows.cluster.dask_processes import WorkerOptions

    chosen = settings_of(context).cluster
    options = WorkerOptions(host, name, resources)
    raise typer.Exit(_joined(chosen.model_copy(update={"address": address or chosen.address}), options))


def _joined(chosen: "ClusterSettings", options: "WorkerOptions") -> int:
    from docmill.flows.cluster.dask_processes import worker_command, worker_environment

    process = subprocess.Popen(worker_command(chosen, options), env=worker_environment(options))
    return _waited([process])


def up(
    context: typer.Context,
    local: Annotated[int, typer.Option("--local", min=1, help="Number of workers on this machine.")] = 2,
    port: Annotated[int, typer.Option(min=1, help="Port of the scheduler.")] = 8786,
) -> None:
    """Run a scheduler and workers on this machine until stopped; only this machine reaches them."""
    from docmill.flows.cluster.dask_processes import scheduler, workers

    chosen = settings_of(context).cluster.model_copy(update={"address": f"tcp://127.0.0.1:{port}"})
    running = [scheduler(port), *workers(chosen, local)]
    note(f'{local} workers join {chosen.address}; ingest with --engine dask --set cluster.address="{chosen.address}"')
    raise typer.Exit(_waited(running))


def _waited(processes: "list[subprocess.Popen[bytes]]") -> int:
    """Wait for the first process, and end all with it."""
    try:
        return processes[0].wait()
    except KeyboardInterrupt:
        return 0
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
