"""Schedulers: a cluster as the engine sees it, whether Dask or Ray hands its steps to workers."""
