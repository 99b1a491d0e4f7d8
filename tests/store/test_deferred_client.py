"""LanceDB is imported without the client that it does not need, and whoever asks for that client gets it."""

import os
import subprocess
import sys
from pathlib import Path

_CODE = """
import sys
from docmill.storage.search.vectors.deferred_client import defer_client, import_lancedb
assert import_lancedb() is sys.modules["lancedb"]
client = "lance_namespace_urllib3_client"
assert f"{client}.models" in sys.modules
assert f"{client}.api" not in sys.modules and f"{client}.api_client" not in sys.modules
assert f"{client}.models.list_tables_response" not in sys.modules
before = sys.modules[client]
from lance_namespace_urllib3_client import TableApi
assert TableApi.__module__ == f"{client}.api.table_api"
assert sys.modules[client] is before and before.ApiClient and not hasattr(before, "no_such_name")
defer_client()
assert sys.modules[client].TableApi is TableApi
"""

_STAND_INS = """
import sys, tempfile
from docmill.storage.search.vectors.deferred_client import import_lancedb
lancedb = import_lancedb()
from lancedb.db import ListTablesResponse as stand_in
from lancedb.remote.db import ListTablesResponse as same
assert stand_in is same and stand_in.__name__ == "ListTablesResponse"
found = lancedb.connect(tempfile.mkdtemp()).list_tables()
from lance_namespace import LanceNamespace, ListTablesResponse, NamespaceNotFoundError
import lance_namespace
import lance_namespace_urllib3_client.models as models
from lancedb.namespace import JsonArrowField, NamespaceNotFoundError as theirs
assert type(found) is ListTablesResponse is models.ListTablesResponse is not stand_in
assert isinstance(found, stand_in) and stand_in.model_fields.keys() == ListTablesResponse.model_fields.keys()
assert type(stand_in(tables=["one"])) is ListTablesResponse
assert theirs is NamespaceNotFoundError is lance_namespace.errors.NamespaceNotFoundError
assert JsonArrowField is models.JsonArrowField and models.json_arrow_field.JsonArrowField is JsonArrowField
class Own(LanceNamespace): pass
"""


_ANOTHER = """
from docmill.storage.search.vectors.deferred_client import import_lancedb
lancedb = import_lancedb()
from lance_namespace import LanceNamespace
assert issubclass(lancedb.Catalog, LanceNamespace)
"""


def test_a_lancedb_that_derives_classes_from_those_of_a_catalog_is_imported_with_them(tmp_path: Path) -> None:
    package = tmp_path / "lancedb"
    package.mkdir()
    (package / "__init__.py").write_text("from lancedb.catalog import Catalog\n")
    (package / "catalog.py").write_text(
        "from lance_namespace import LanceNamespace\nclass Catalog(LanceNamespace): pass\n"
    )
    paths = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    subprocess.run([sys.executable, "-c", _ANOTHER], check=True, env={**os.environ, "PYTHONPATH": paths})


def test_what_stands_in_for_names_of_a_catalog_does_what_they_do() -> None:
    subprocess.run([sys.executable, "-c", _STAND_INS], check=True)


def test_the_client_of_lancedb_is_imported_only_when_it_is_asked_for() -> None:
    subprocess.run([sys.executable, "-c", _CODE], check=True)
