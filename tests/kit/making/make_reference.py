"""Write the pages of docs/reference from the code: `python -m tests.kit.making.make_reference`."""

from collections.abc import Callable

from tests.kit.house import ROOT
from tests.kit.making.openapi.http_page import made as made_http
from tests.kit.making.printed_json.json_page import made as made_json
from tests.kit.making.printed_json.json_schema import made as made_json_schema
from tests.kit.making.reference.commands_page import made as made_commands
from tests.kit.making.reference.errors_page import made as made_errors
from tests.kit.making.reference.exit_statuses_page import made as made_exit_statuses
from tests.kit.making.reference.formats_page import made as made_formats
from tests.kit.making.reference.mcp_page import made as made_mcp
from tests.kit.making.reference.plugins_page import made as made_plugins
from tests.kit.making.reference.python_page import made as made_python
from tests.kit.making.reference.routes_page import made as made_routes
from tests.kit.making.reference.settings_page import made as made_settings
from tests.kit.making.reference.sources_page import made as made_sources
from tests.kit.making.reference.strategies_page import made as made_strategies
from tests.kit.making.reference.tables_page import made as made_tables

FOLDER = ROOT / "docs" / "reference"
JSON_SCHEMA = FOLDER / "json-schema.json"
PAGES: dict[str, Callable[[], str]] = {
    "commands": made_commands,
    "errors": made_errors,
    "exit-statuses": made_exit_statuses,
    "formats": made_formats,
    "http": made_http,
    "json": made_json,
    "mcp": made_mcp,
    "plugins": made_plugins,
    "python": made_python,
    "routes": made_routes,
    "settings": made_settings,
    "sources": made_sources,
    "strategies": made_strategies,
    "tables": made_tables,
}


def main() -> None:
    """Write every page anew."""
    for name, made in PAGES.items():
        (FOLDER / f"{name}.md").write_text(made(), encoding="utf-8")
    JSON_SCHEMA.write_text(made_json_schema(), encoding="utf-8")


if __name__ == "__main__":
    main()
