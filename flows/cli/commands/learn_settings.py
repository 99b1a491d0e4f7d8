"""The command group `docmill learn`: let judgements change settings, list what they changed, take a change back."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docmill.flows.cli.commands.ingest_and_plan import Sources
from docmill.flows.cli.commands.tune_settings import BUDGET, MEASURE
from docmill.flows.cli.terminal.command import checked_settings_of, settings_of, takes
from docmill.flows.cli.terminal.help_pages import GroupedCommands
from docmill.flows.cli.terminal.output import note, print_found, print_json, print_text
from docmill.storage.errors import ConfigError

if TYPE_CHECKING:
    from docmill.flows.measure.tune import Trial
    from docmill.storage.history.learned import LearnedChange

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    """Add the group to `app`."""
    group = typer.Typer(
        cls=GroupedCommands,
        help="Let judged queries change docmill.toml, with a way back.",
        rich_markup_mode=None,
        no_args_is_help=True,
    )
    group.command(cls=takes("*"))(run)
    group.command("list", cls=takes("store"))(list_changes)
    group.command(cls=takes("store"))(undo)
    app.add_typer(group, name="learn")


def run(
    context: typer.Context,
    sources: Sources = None,
    budget: Annotated[int, BUDGET] = 5_000,
    measure: Annotated[str, MEASURE] = "nDCG@10",
    as_json: AsJson = False,
) -> None:
    """Try settings on the judged queries, and adopt what gains beyond chance.

    `docmill schedule --learn` does so each night.
    """
    settings = checked_settings_of(context)
    from docmill.flows.measure.learn import learn
    from docmill.flows.measure.tune import TuneOptions

    named = sources or settings.sources
    if not named:
        raise ConfigError("no source given; name a folder, or set `sources` in docmill.toml")
    options = TuneOptions(budget=budget, measure=measure)
    found = learn(settings, _file_of(context), named, options, _tell)
    for line in found.why:
        note(line)
    _print(found.changes, as_json, "Nothing was decided.")


def _tell(trial: "Trial") -> None:
    mean = f"{trial.mean.mean:.3f}" if trial.mean else "over the budget"
    note(f"{trial.content_type or 'all'}: {trial.what}: {mean}")


def list_changes(context: typer.Context, as_json: AsJson = False) -> None:
    """List what judgements decided, oldest first."""
    settings = settings_of(context)
    from docmill.storage.history import learned

    _print(learned.read(settings.store), as_json, "Nothing was learned yet.")


def undo(
    context: typer.Context,
    change: Annotated[str, typer.Argument(help="Id of a change, or its beginning, as `learn list` shows it.")],
    as_json: AsJson = False,
) -> None:
    """Take a learned change back; it is not learned again."""
    settings = settings_of(context)
    from docmill.flows.measure.learn import take_back

    back = take_back(settings, _file_of(context), change)
    if as_json:
        print_json(asdict(back))
        return
    print_text(f"{back.what} was taken back; before it: {back.before.strip() or 'the default'}")
    if back.content_type:
        note("the next ingest splits its documents as before")


def _file_of(context: typer.Context) -> Path:
    from docmill.flows.config.configuration import FILE_NAME, chosen_file

    return chosen_file(context.meta["config"]) or Path(FILE_NAME)


def _print(changes: "list[LearnedChange]", as_json: bool, nothing: str) -> None:
    print_found([asdict(one) for one in changes] if as_json else [_row(one) for one in changes], as_json, nothing)


def _row(one: "LearnedChange") -> dict[str, Any]:
    return {
        "id": one.change_id[:8],
        "when": one.created[:10],
        "type": one.content_type or "all",
        "preferred": one.what,
        "held back": one.questions,
        "gain": f"{one.gain:+.3f} [{one.low:+.3f}, {one.high:+.3f}]",
        "state": one.state,
        "wanted": one.wanted or "",
    }
