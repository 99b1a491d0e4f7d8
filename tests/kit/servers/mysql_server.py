"""A MariaDB server in a folder of its own, for tests: on loopback, with one user and one database."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

MISSING = "needs pymysql, and MariaDB: apt install mariadb-server"
PASSWORD = "sesame-sesame"
_START_S = 60.0
_GRANT = (
    "CREATE DATABASE desk CHARACTER SET utf8mb4",
    f"CREATE USER 'mill'@'localhost' IDENTIFIED BY '{PASSWORD}'",
    f"CREATE USER 'mill'@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'",
    "GRANT ALL ON desk.* TO 'mill'@'localhost'",
    "GRANT ALL ON desk.* TO 'mill'@'127.0.0.1'",
)


@contextmanager
def mysql_server() -> Iterator[str]:
    """Run a server, and return the address of its database; skip the test where there is none."""
    pytest.importorskip("pymysql", reason=MISSING)
    server, install = shutil.which("mariadbd") or "/usr/sbin/mariadbd", shutil.which("mariadb-install-db")
    if not install or not Path(server).exists():
        pytest.skip(MISSING)
    with tempfile.TemporaryDirectory(prefix="docmill-mysql-", dir="/tmp") as home:  # a socket's path is short
        user = _user(Path(home))
        data, port, path = f"{home}/data", _free_port(), f"{home}/socket"
        own = ["--no-defaults", f"--datadir={data}"]
        _run(user, install, *own, "--auth-root-authentication-method=normal", "--skip-test-db", f"--user={user}")
        command = [server, *own, f"--socket={path}", "--bind-address=127.0.0.1", f"--port={port}",
                   f"--pid-file={home}/pid", "--innodb-flush-log-at-trx-commit=0", f"--general-log-file={home}/log",
                   "--general-log=1", "--skip-name-resolve", f"--user={user}"]  # fmt: skip
        process = subprocess.Popen(command, user=user, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
        try:
            _prepare(path)
            yield f"mysql://mill@127.0.0.1:{port}/desk"
        finally:
            process.kill()
            process.wait()


def run(address: str, statement: str) -> None:
    """Run a statement in the database."""
    import pymysql  # type: ignore[import-untyped]

    port = int(address.rpartition(":")[2].partition("/")[0])
    told = {"host": "127.0.0.1", "port": port, "user": "mill", "password": PASSWORD, "database": "desk"}
    with pymysql.connect(**told, ssl_disabled=True) as connection:  # its certificates take 17 ms to read
        connection.cursor().execute(statement)
        connection.commit()


def _prepare(path: str) -> None:
    """Make the user and the database, once the server answers."""
    import pymysql

    end = time.monotonic() + _START_S
    while not Path(path).exists() and time.monotonic() < end:
        time.sleep(0.1)
    while time.monotonic() < end:
        with suppress(pymysql.err.OperationalError), pymysql.connect(unix_socket=path, user="root") as connection:
            for statement in _GRANT:
                connection.cursor().execute(statement)
            return
        time.sleep(0.1)
    raise TimeoutError("MariaDB does not start")


def _user(home: Path) -> str:
    """Return the user to run the server, who owns the folder: not root, whom MariaDB refuses."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid()).pw_name
    owner = pwd.getpwnam("nobody")
    os.chown(home, owner.pw_uid, owner.pw_gid)
    return owner.pw_name


def _free_port() -> int:
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        return int(own.getsockname()[1])


def _run(user: str, *command: str) -> None:
    subprocess.run(command, user=user, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
