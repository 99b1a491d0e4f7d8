"""Schedulers: a cluster as the engine sees it, as the scheduler of Dask that hands its steps to workers."""
