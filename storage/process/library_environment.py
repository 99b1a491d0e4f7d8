"""Library environment: variables for libraries of numbers, which they read while they load; a user's own stay."""

import os


def set_library_environment() -> None:
    """Let threads without work sleep, so that those of other programs find the cores free, and bound a cache.

    By default threads of PyTorch and numpy spin while they wait for each other. On two cores, three ingests of 153
    documents at once took 55 s and 36 s of CPU time each; with threads that sleep they took 32 s and 21 s. Alone, an
    ingest takes 14 to 15 s either way.

    Those of OpenBLAS, with which numpy comes, spin for 2^26 clock cycles at their start alone: 0.02 s of each command.

    oneDNN keeps what it has compiled for 1,024 shapes of a batch, with memory for each, though batches seldom have the
    same one. Of 1,500 texts in bfloat16 the peak is 740 MB with 32 of them instead of 1,000, for 2 % more CPU time;
    with 8, fewer than a batch takes, it takes 70 % more.

    docmill's own programs call this. An application that imports docmill decides for itself.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # 2^4 cycles: the shortest that it takes
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32")
