"""One PyTorch thread: compute in the calling thread alone, so that several threads can compute side by side.

Threads of OpenMP wait for each other after each product, and spin while they wait. On two cores that other processes
use as well, an encoder of two such threads took four times the CPU time of two threads that each compute a batch.
"""

from functools import cache
from typing import Any


@cache
def _openmp() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="openmp")


def one_torch_thread() -> None:
    """Let PyTorch compute in this thread what this thread asks for; other threads keep their settings."""
    import torch

    torch.get_num_threads()  # PyTorch sets the number of a thread when it is first used there, over ours
    _openmp().limit(limits=1)
