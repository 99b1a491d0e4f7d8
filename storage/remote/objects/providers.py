"""Providers: the providers of object storage by scheme of their addresses, and how obstore opens them."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from docmill.storage.errors import ConfigError
from docmill.storage.process.extras import extra

SCHEME_OF_STORES = "s3"
"""The scheme of buckets that may contain a store; conditional puts are tested only there."""


def _nothing() -> dict[str, Any]:
    return {}


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of object storage, and its client in `obstore.store`.

    Its credentials are in environment variables that begin with `variables`; the variable `endpoint` selects another
    server. `own` returns settings that the client does not find there itself.
    """

    scheme: str
    company: str
    client: str
    variables: str
    endpoint: str
    credentials: str
    own: Callable[[], Mapping[str, Any]] = _nothing

    def opened(self, bucket: str, prefix: str, client: dict[str, Any], **more: Any) -> Any:
        """Return the client for a prefix of a bucket; raise `ConfigError` if environment variables are missing."""
        with extra("s3", f"{self.scheme}://{bucket}"):
            import obstore.store
            from obstore.exceptions import BaseError
        if os.environ.get(self.endpoint, "").startswith("http://"):
            client["allow_http"] = True
        try:
            return getattr(obstore.store, self.client)(
                bucket, prefix=prefix, client_options=client, **{**self.own(), **more}
            )
        except BaseError as error:
            said = " ".join(str(error).split("\n", 1)[0].split())
            raise ConfigError(f"{self.scheme}://{bucket}: {said}; set {self.credentials}") from None


def _of_r2() -> dict[str, Any]:
    """Return the settings of R2, which uses S3's protocol, from its own variables, as both may be in use."""
    given = {name: os.environ.get(f"R2_{name}", "") for name in ("ENDPOINT_URL", "ACCOUNT_ID")}
    keys = {name: os.environ.get(f"R2_{name.upper()}", "") for name in ("access_key_id", "secret_access_key")}
    if not all(keys.values()) or not any(given.values()):
        raise ConfigError("r2:// needs R2_ACCOUNT_ID, R2_ACCESS_KEY_ID and R2_SECRET_ACCESS_KEY")
    if os.environ.get("AWS_SESSION_TOKEN"):  # the client would send it, too
        raise ConfigError("r2:// cannot be read while AWS_SESSION_TOKEN is set, which is another provider's")
    endpoint = given["ENDPOINT_URL"] or f"https://{given['ACCOUNT_ID']}.r2.cloudflarestorage.com"
    return {**keys, "endpoint": endpoint, "region": "auto", "skip_signature": False}


PROVIDERS = {
    one.scheme: one
    for one in (
        Provider(
            "s3", "Amazon S3", "S3Store", "AWS_", "AWS_ENDPOINT_URL",
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give this machine a role",
        ),
        Provider(
            "r2", "Cloudflare R2", "S3Store", "R2_", "R2_ENDPOINT_URL",
            "R2_ACCOUNT_ID, R2_ACCESS_KEY_ID and R2_SECRET_ACCESS_KEY", _of_r2,
        ),
        Provider(
            "gs", "Google Cloud Storage", "GCSStore", "GOOGLE_", "GOOGLE_BASE_URL",
            "GOOGLE_APPLICATION_CREDENTIALS, or run `gcloud auth application-default login`",
        ),
        Provider(
            "az", "Azure Blob Storage", "AzureStore", "AZURE_", "AZURE_STORAGE_ENDPOINT",
            "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_KEY",
        ),
    )
}  # fmt: skip
"""The providers by scheme."""
