"""A PostgreSQL server with pgvector in a folder of its own, for tests: on a Unix socket, by a user without rights."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

MISSING = "needs psycopg, and PostgreSQL with pgvector: pip install pgserver, or apt install postgresql-17-pgvector"
_USER = "owner"
_SPARING = "-c fsync=off -c max_connections=8 -c shared_buffers=8MB -c autovacuum=off"


def programs() -> Path | None:
    """Return the folder of the programs of a PostgreSQL that has pgvector: the system's, or that of a package."""
    found = [Path(path).resolve().parent for path in [shutil.which("initdb")] if path]
    package = find_spec("pgserver")  # it is not imported: it would start servers that outlive the tests
    found += [Path(package.origin).parent / "pginstall" / "bin"] if package and package.origin else []
    for folder in [*found, *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]:
        config = folder / "pg_config"
        if config.exists():
            shared = subprocess.run([config, "--sharedir"], capture_output=True, text=True, check=True).stdout.strip()
            if Path(shared, "extension", "vector.control").exists():
                return folder
    return None


@contextmanager
def postgres_server() -> Iterator[str]:
    """Run a server, and return the address of its database; skip the test where there is none."""
    pytest.importorskip("psycopg", reason=MISSING)
    pytest.importorskip("pgvector", reason=MISSING)
    folder = programs()
    if folder is None:
        pytest.skip(MISSING)
    with tempfile.TemporaryDirectory(prefix="docmill-postgres-", dir="/tmp") as home:  # a socket's path is short
        user = _user(Path(home))
        data = f"{home}/data"
        _run(user, folder / "initdb", "-D", data, "-U", _USER, "-A", "trust", "-N", "-E", "UTF8", "--locale=C")
        options = f"-k {home} -c listen_addresses='' {_SPARING}"
        _run(user, folder / "pg_ctl", "-D", data, "-w", "-l", f"{home}/log", "-o", options, "start")
        try:
            yield f"postgresql:///postgres?host={home}&user={_USER}"
        finally:
            _run(user, folder / "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")


def _user(home: Path) -> str | None:
    """Return the user to run the server, who owns the folder: not root, whom PostgreSQL refuses."""
    if os.geteuid() != 0:
        return None
    owner = pwd.getpwnam("nobody")
    os.chown(home, owner.pw_uid, owner.pw_gid)
    return owner.pw_name


def _run(user: str | None, *command: str | Path) -> None:
    # The server would keep a pipe open for as long as it lives.
    subprocess.run(command, user=user, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
