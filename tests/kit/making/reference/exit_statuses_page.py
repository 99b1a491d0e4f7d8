"""The page on exit statuses: what the number with which a command ends says."""

from docmill.flows.cli.terminal.exit_statuses import STATUSES, STATUSES_OF
from tests.kit.making.reference.markdown import code, entries, page, prose

HEAD = """\
A script can continue after `docmill ingest docs && …`, and a scheduler can tell a run that needs attention (3, 4) from
one that failed (1). A reader that leaves early, as in `docmill list | head`, changes no status."""
MORE = "For some commands, a status has a more exact meaning:"
PYTHON = """\
In Python, `Report.exit_status` is the status of `docmill ingest`; an [exception](errors.md) takes the place of 1."""


def made() -> str:
    """Return the page."""
    rows = [
        (f"[{code(f'docmill {name}')}](commands.md#docmill-{name.replace(' ', '-')})", str(status), prose(said))
        for name, meanings in STATUSES_OF.items()
        for status, said in meanings.items()
    ]
    return page(
        "Exit statuses",
        HEAD,
        entries((str(status), prose(said)) for status, said in STATUSES.items()),
        MORE,
        entries(rows),
        PYTHON,
    )
