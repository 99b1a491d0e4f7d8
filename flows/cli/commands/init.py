"""The command `init`: write a docmill.toml, generated from the settings model, or a whole project for Prefect."""

import json
import os
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docmill.flows.cli.terminal.command import command
from docmill.flows.cli.terminal.output import note, print_text
from docmill.storage.errors import ConfigError

if TYPE_CHECKING:
    from docmill.flows.config.configuration import Key

HEAD = """\
# The settings of docmill. A line such as #store = "store" shows a default: remove the # and change the value.
# Each key is also an environment variable (DOCMILL_CHUNK__CONTEXT_TOKENS) and a flag (--set chunk.context_tokens=60).
# Flags override the environment, and the environment overrides this file.
# Relative paths start at the folder of this file.
# `docmill settings` shows the value of each key, and where it comes from."""
NEXT = "next: set `sources` in {file}, then type: docmill plan"
NEXT_OF_PROJECT = "next: put documents into {folder}, then type the commands of {readme}"
FOLDER = typer.Argument(help="The folder for the docmill.toml.")
PREFECT = typer.Option("--prefect", help="Write a project that `prefect deploy --all` takes as it is.")
DOCKER = typer.Option("--docker", help="Write such a project with a Dockerfile and a compose file.")
SOURCE = typer.Option(
    "--source", metavar="KIND", help="Add the settings of a source: web, feed, git, sql, webdav, mail, export, loader."
)
K8S = typer.Option("--k8s", help="Write such a project with a Dockerfile and a work pool for Kubernetes.")


@command()
def init(
    folder: Annotated[Path, FOLDER] = Path(),
    prefect: Annotated[bool, PREFECT] = False,
    docker: Annotated[bool, DOCKER] = False,
    k8s: Annotated[bool, K8S] = False,
    source: Annotated[list[str] | None, SOURCE] = None,
) -> None:
    """Write a docmill.toml that lists every key with its default and description.

    With `--source`, it also lists the settings of a kind of source. They are added to a docmill.toml that exists.
    """
    from docmill.flows.config.configuration import FILE_NAME
    from docmill.flows.deploy.project_files import SECRETS, project_files

    blocks, is_project = "".join(map(source_block, source or ())), prefect or docker or k8s
    if blocks and (folder / FILE_NAME).exists() and not is_project:
        _append(folder / FILE_NAME, blocks)
        return
    files = {FILE_NAME: template() + blocks}
    if is_project:
        files = project_files(folder, files[FILE_NAME], docker=docker, kubernetes=k8s)
    _write_all(folder, files, SECRETS)
    more = NEXT_OF_PROJECT.format(folder=folder / "docs", readme=folder / "README.md")
    note(more if len(files) > 1 else NEXT.format(file=folder / FILE_NAME))


def _write_all(folder: Path, files: dict[str, str], secrets: str) -> None:
    """Write new files, none of which may exist. Only the owner may read the one with secrets."""
    for name in files:
        if (folder / name).exists():
            raise ConfigError(f"{folder / name} exists; remove it first")
    for name, text in files.items():
        _write(folder / name, text, 0o600 if name == secrets else 0o666)


def _append(target: Path, text: str) -> None:
    """Add lines to a file, and print its path."""
    with target.open("a", encoding="utf-8") as file:
        file.write(text)
    print_text(str(target))


def _write(target: Path, text: str, mode: int) -> None:
    """Write a new file, and print its path."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigError(f"{target} exists; remove it first") from None
    print_text(str(target))


def template() -> str:
    """Return the text of a docmill.toml with every key commented out."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    from docmill.flows.config.configuration import keys

    yield HEAD
    ordered = sorted(keys(), key=lambda key: len(key.path))
    for section, members in groupby(ordered, key=lambda key: key.path[:-1]):
        yield from _section(section, list(members))


def _section(section: tuple[str, ...], members: list["Key"]) -> Iterator[str]:
    from docmill.flows.config.settings import Settings

    if section:
        described = (Settings.model_fields[section[0]].annotation.__doc__ or "").strip().partition("\n")[0]
        yield f"\n# {described}\n[{'.'.join(section)}]"
    for key in members:
        yield f"{'' if section else chr(10)}# {key.field.description}"
        yield from (f"#   {line}" for example in key.field.examples or () for line in str(example).splitlines())
        yield f"#{key.path[-1]} = {toml_value(key.field.get_default())}"


def source_block(kind: str) -> str:
    """Return the settings of a kind of source, each commented out; raise `ConfigError` if there is no such kind."""
    from docmill.storage.plugins.registry import nearest
    from docmill.tasks.sources.connectors.own_connectors import CONNECTORS

    kinds = {one.kind: (scheme, one) for scheme, one in reversed(CONNECTORS.items())}
    if kind not in kinds:
        raise ConfigError(f"no source of the kind {kind!r} has settings; {nearest(kind, [*kinds])}")
    scheme, connector = kinds[kind]
    address = f"NAME={scheme}://…" if connector.takes else f"{scheme}://NAME"
    lines = [f'\n# Source: {connector.reads}. Name it: sources = ["{address}"]', "#[source.NAME]"]
    for name, field in connector.load().settings.model_fields.items():
        default = "" if field.is_required() else field.get_default()
        shown = '{ env = "VARIABLE" }' if default is None else toml_value(default)
        lines += [f"# {field.description}", f"#{name} = {shown}"] if name != connector.takes else []
    return "\n".join(lines) + "\n"


def toml_value(value: Any) -> str:
    """Return a value as TOML, which for all used types but tables looks like JSON."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(name)} = {toml_value(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("-", "_").isidentifier() else json.dumps(name, ensure_ascii=False)
