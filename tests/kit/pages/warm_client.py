"""Warm client: ask the server for a fork that runs a command, hand on signals, and end as the command ends.

It runs without `site`, so that it starts in milliseconds: import nothing but what is built into Python.
"""

import _signal  # type: ignore[import-not-found]  # what `signal` is made of
import _socket
import marshal
import os
import select
import sys

KNOWN = ("-B", "-P", "-c", "-m")
"""What may come first after `python`. With other options, a fresh interpreter runs."""

HANDED_ON = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP)


def main() -> None:
    """Run the program whose name and arguments follow the socket's path."""
    path, name, *arguments = sys.argv[1:]
    if name == "python" and arguments[:1] not in [[one] for one in KNOWN]:
        os.execv(sys.executable, [sys.executable, *arguments])
    _signal.pthread_sigmask(_signal.SIG_BLOCK, HANDED_ON)  # until all is said: a signal's byte would be in its midst
    open_here = _open()
    folder = os.open(".", os.O_PATH)  # its name may lead nowhere, now or once the server reads it
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.connect(path)
    asked = {
        "name": name,
        "arguments": arguments,
        "environment": dict(os.environ),
        "open": open_here,
        "parent": os.getppid(),
    }
    data = marshal.dumps(asked)
    files = b"".join(number.to_bytes(4, sys.byteorder) for number in (folder, *open_here))
    connection.sendmsg([len(data).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
    connection.sendall(data)
    connection.setblocking(False)
    _signal.set_wakeup_fd(connection.fileno(), warn_on_full_buffer=False)  # a handler would wait for what we wait for
    for number in HANDED_ON:
        if _signal.getsignal(number) is not _signal.SIG_IGN:
            _signal.signal(number, lambda *_: None)
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, HANDED_ON)
    select.select([connection], [], [])
    _end(int(connection.recv(16) or b"-9"))


def _open() -> list[int]:
    """Return the numbers of the files that are open here."""
    found = []
    for number in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208
        try:
            os.fstat(number)
            found.append(number)
        except OSError:  # that of the list itself
            pass
    return found


def _end(status: int) -> None:
    if status < 0:
        if -status != _signal.SIGKILL:
            _signal.signal(-status, _signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    main()
