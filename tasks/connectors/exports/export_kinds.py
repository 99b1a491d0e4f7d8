"""Export kinds: the kinds of exports that are known, how their files show it, and what reads each."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from docmill.tasks.connectors.exports.confluence_pages import is_confluence_pages, read_confluence_pages
from docmill.tasks.connectors.exports.confluence_space import is_confluence_space, read_confluence_space
from docmill.tasks.connectors.exports.export_document import ExportDocument
from docmill.tasks.connectors.exports.export_files import ExportFiles
from docmill.tasks.connectors.exports.notion import is_notion, read_notion
from docmill.tasks.connectors.exports.slack import is_slack_export, read_slack
from docmill.tasks.connectors.exports.takeout import is_takeout, read_takeout
from docmill.tasks.connectors.exports.teams import is_teams, read_teams


@dataclass(frozen=True, slots=True)
class ExportKind:
    """A kind of exports: whether files of some names are one, and its documents, given the address of its pages."""

    fits: Callable[[Iterable[str]], bool]
    read: Callable[[ExportFiles, str], Iterator[ExportDocument]]


EXPORT_KINDS = {
    "slack": ExportKind(is_slack_export, read_slack),
    "confluence-xml": ExportKind(is_confluence_space, read_confluence_space),
    "confluence": ExportKind(is_confluence_pages, read_confluence_pages),
    "takeout": ExportKind(is_takeout, read_takeout),
    "notion": ExportKind(is_notion, read_notion),
    "teams": ExportKind(is_teams, read_teams),
}
"""The kinds by name, the surest signs first."""
