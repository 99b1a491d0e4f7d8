"""The command `explain`: show what a file is, how its regions are routed, and its chunks."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docmill.flows.cli.terminal.command import command, settings_of
from docmill.flows.cli.terminal.output import may_write, note, print_json, write_output
from docmill.storage.errors import ConfigError

if TYPE_CHECKING:
    from docmill.flows.config.settings import Settings
    from docmill.tasks.chunking.route import Route


@command("sources", "discover", "parse", "embedding", "chunk", "routes", "split")
def explain(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="The file. It need not belong to a store or a source.")],
    strategy: Annotated[list[str] | None, typer.Option(help="Also split with this strategy; may be repeated.")] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="K=V", help="Option of --strategy, such as size=100 or recursive.size=100."),
    ] = None,
    limit: Annotated[
        int, typer.Option("-k", "-n", "--limit", min=0, metavar="N", help="Number of chunks to show; 0 shows all.")
    ] = 100,
    html: Annotated[
        Path | None, typer.Option(metavar="OUT", callback=may_write, help="Write an HTML page that shows the chunks.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
) -> None:
    """Show how a file is split.

    Lists the content type of each region, the rule that routes it, and the chunks.
    """
    settings = settings_of(context)
    from docmill.flows.explain import explain as find

    found = find(settings, file, _trials(settings, strategy or [], option or []))
    if html is not None:
        from docmill.flows.cli.pages.explain_chunks_html import page

        write_output(html, page(found).encode())
        note(f"wrote {html}")
    if as_json:
        print_json(found.as_json())
    elif html is None:
        from docmill.flows.cli.pages.explain_chunks_text import draw

        draw(found, limit)


def _trials(settings: "Settings", strategies: list[str], options: list[str]) -> dict[str, "Route"]:
    """Return the routes to try, by name."""
    from docmill.tasks.chunking.route import Route

    if options and not strategies:
        raise ConfigError("--option needs a --strategy to apply to")
    values: dict[str, dict[str, Any]] = {name: dict(settings.split.get(name, {})) for name in strategies}
    for one in options:
        key, separator, value = one.partition("=")
        owner, _, name = key.rpartition(".")
        if not separator or owner not in ("", *strategies):
            raise ConfigError(f"--option must be NAME=VALUE or STRATEGY.NAME=VALUE of a --strategy, got {one!r}")
        for strategy in [owner] if owner else strategies:
            values[strategy][name] = _value(value)
    return {_title(name, own): Route(name, own) for name, own in values.items()}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _title(strategy: str, values: dict[str, Any]) -> str:
    return " ".join([strategy, *(f"{name}={value}" for name, value in values.items())])
