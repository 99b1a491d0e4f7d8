"""Sleeping threads: let threads without work sleep, so that those of other programs find the cores free."""

import os


def let_threads_sleep() -> None:
    """Make the threads of PyTorch and numpy sleep while they wait for each other; both read this only while they load.

    By default they spin. On two cores, three ingests of 153 documents at once took 55 s and 36 s of CPU time each; with
    threads that sleep they took 32 s and 21 s. Alone, an ingest takes 14 to 15 s either way.

    Those of OpenBLAS, with which numpy comes, spin for 2^26 clock cycles at their start alone: 0.02 s of each command.

    docmill's own programs call this. An application that imports docmill decides for itself.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # 2^4 cycles: the shortest that it takes
