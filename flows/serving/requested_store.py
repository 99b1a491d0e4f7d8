"""Requested store: the snapshot that a request over HTTP names."""

from starlette.exceptions import HTTPException

from docmill.flows.serving.open_stores import OpenStores, ServedStore
from docmill.storage.errors import StoreError


def asked_store(stores: OpenStores, name: str | None, at: int | str | None) -> ServedStore:
    """Return the snapshot to answer from; raise an `HTTPException` with 404 if there is no such store or snapshot."""
    if name is not None and name not in stores.names:
        raise HTTPException(404, f"no store {name!r}; this server has {', '.join(stores.names)}")
    try:
        return stores.get(name, at)
    except StoreError as error:
        raise HTTPException(500 if at is None else 404, str(error)) from error
