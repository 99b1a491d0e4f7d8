"""Sleeping threads: let threads without work sleep, so that those of other programs find the cores free."""

import os


def let_threads_sleep() -> None:
    """Make the threads of PyTorch sleep while they wait for each other; OpenMP reads this only while it loads.

    By default they spin. On two cores, three ingests of 153 documents at once took 61 s and 40 s of CPU time each; with
    threads that sleep they took 33 s and 22 s. Alone, an ingest takes 14.7 in place of 14.2 s.

    docmill's own programs call this. An application that imports docmill decides for itself.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
