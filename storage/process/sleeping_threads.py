"""Sleeping threads: let threads without work sleep, so that those of other programs find the cores free."""

import os


def let_threads_sleep() -> None:
    """Make the threads of PyTorch sleep while they wait for each other; OpenMP reads this only while it loads.

    By default they spin. On two cores, three ingests of 153 documents at once took 55 s and 36 s of CPU time each; with
    threads that sleep they took 32 s and 21 s. Alone, an ingest takes 14 to 15 s either way.

    docmill's own programs call this. An application that imports docmill decides for itself.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
