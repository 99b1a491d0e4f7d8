"""No network: refuse sockets to this process, its threads and its children.

On Linux the kernel refuses them with a seccomp filter, which native code cannot bypass and which needs no privileges.
An audit hook of Python refuses them, too. On other systems there is only the hook, which native code bypasses.
"""

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_HARMLESS = frozenset({"socket.__new__", "socket.gethostname", "socket.getservbyname", "socket.getservbyport"})
_PR_SET_NO_NEW_PRIVS = 38  # of linux/prctl.h
_SET_MODE_FILTER, _TSYNC = 1, 1  # of linux/seccomp.h; the latter means all threads
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EACCES
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06  # instructions, from linux/bpf_common.h
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in `struct seccomp_data`, little-endian
_AF_UNIX = 1
_FOREIGN = 0x40000000
"""The lowest number of system calls of x32, which has its own numbers for all calls; no other system uses these."""


@dataclass(frozen=True, slots=True)
class _System:
    """The numbers of an architecture: its own, those of `seccomp` and `socket`, and those of refused calls.

    `io_uring` can create sockets without the call `socket`; the others can take a socket of another process.
    """

    audit: int
    seccomp: int
    socket: int
    refused: tuple[int, ...]


_SYSTEMS = {  # refused: io_uring_setup, pidfd_getfd, ptrace, process_vm_writev
    "x86_64": _System(0xC000003E, 317, 41, (425, 438, 101, 311)),
    "aarch64": _System(0xC00000B7, 277, 198, (425, 438, 117, 271)),
}


def refuse_network() -> bool:
    """Refuse network sockets from now on; return whether the kernel does this. Local (Unix) sockets stay allowed."""
    sys.addaudithook(_refuse)
    return _refuse_by_kernel()


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event.startswith("socket.") and event not in _HARMLESS:
        raise PermissionError(f"no network in this process ({event} {arguments[1:]!r:.80})")


def _refuse_by_kernel() -> bool:
    system = _SYSTEMS.get(os.uname().machine) if sys.platform == "linux" and sys.maxsize > 1 << 32 else None
    if system is None:
        return False
    steps = b"".join(_filter(system))
    kept = ctypes.create_string_buffer(steps, len(steps))
    program = struct.pack("HxxxxxxP", len(steps) // 8, ctypes.addressof(kept))
    libc = ctypes.CDLL(None)
    # The kernel accepts a filter only from a process whose children cannot gain privileges.
    libc.prctl(_PR_SET_NO_NEW_PRIVS, *map(ctypes.c_ulong, (1, 0, 0, 0)))
    done = libc.syscall(*map(ctypes.c_long, (system.seccomp, _SET_MODE_FILTER, _TSYNC)), program)
    return bool(done == 0)


def _filter(system: _System) -> Iterator[bytes]:
    """Yield the instructions that refuse non-local sockets and calls of other architectures."""
    yield _step(_LOAD, _ARCHITECTURE)
    yield _step(_IF_EQUAL, system.audit, missed=len(system.refused) + 5)
    yield _step(_LOAD, _NUMBER)
    yield _step(_IF_AT_LEAST, _FOREIGN, met=len(system.refused) + 3)
    for left, number in zip(range(len(system.refused), 0, -1), system.refused, strict=True):
        yield _step(_IF_EQUAL, number, met=left + 2)
    yield _step(_IF_EQUAL, system.socket, missed=3)
    yield _step(_LOAD, _FIRST_ARGUMENT)
    yield _step(_IF_EQUAL, _AF_UNIX, met=1)
    yield _step(_RETURN, _REFUSE)
    yield _step(_RETURN, _ALLOW)


def _step(code: int, value: int, met: int = 0, missed: int = 0) -> bytes:
    """Return an instruction; `met` and `missed` are the numbers of following ones to skip."""
    return struct.pack("=HBBI", code, met, missed, value)
