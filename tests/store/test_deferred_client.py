"""LanceDB is imported without the client and the models that it does not need, and whoever asks for them gets them."""

import subprocess
import sys

_CODE = """
import sys
from docmill.storage.lance.deferred_client import defer_client, importing_lancedb
from pydantic import BaseModel
import overrides
checked = sys.modules["overrides.overrides"]._overrides
with importing_lancedb():
    import lancedb
client = "lance_namespace_urllib3_client"
assert f"{client}.models" in sys.modules
assert f"{client}.api" not in sys.modules and f"{client}.api_client" not in sys.modules
before = sys.modules[client]
from lance_namespace_urllib3_client import TableApi
assert TableApi.__module__ == f"{client}.api.table_api"
assert sys.modules[client] is before and before.ApiClient and not hasattr(before, "no_such_name")
defer_client()
assert sys.modules[client].TableApi is TableApi

from lance_namespace import ListTablesRequest
assert not ListTablesRequest.__pydantic_complete__ and ListTablesRequest(id=["a"]).id == ["a"]
class Own(BaseModel):
    number: int
assert Own.__pydantic_complete__ and not BaseModel.model_config
assert sys.modules["overrides.overrides"]._overrides is checked
"""


def test_the_client_of_lancedb_is_imported_only_when_it_is_asked_for() -> None:
    subprocess.run([sys.executable, "-c", _CODE], check=True)
