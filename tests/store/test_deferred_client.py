"""LanceDB is imported without the client that it does not need, and whoever asks for that client gets it."""

import subprocess
import sys

_CODE = """
import sys
from docmill.storage.lance.deferred_client import defer_client, import_lancedb
assert import_lancedb() is sys.modules["lancedb"]
client = "lance_namespace_urllib3_client"
assert f"{client}.models" in sys.modules
assert f"{client}.api" not in sys.modules and f"{client}.api_client" not in sys.modules
before = sys.modules[client]
from lance_namespace_urllib3_client import TableApi
assert TableApi.__module__ == f"{client}.api.table_api"
assert sys.modules[client] is before and before.ApiClient and not hasattr(before, "no_such_name")
defer_client()
assert sys.modules[client].TableApi is TableApi
"""


def test_the_client_of_lancedb_is_imported_only_when_it_is_asked_for() -> None:
    subprocess.run([sys.executable, "-c", _CODE], check=True)
