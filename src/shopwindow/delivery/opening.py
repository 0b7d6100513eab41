"""Opens the Bucket of a target: where the store is, and how patient requests are."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from obstore.store import AzureStore, GCSStore, S3Store

from shopwindow.delivery.bucket import Bucket, ObjectBucket
from shopwindow.delivery.folder import FolderBucket
from shopwindow.delivery.store_refusals import refused
from shopwindow.delivery.targets import DeliveryTarget
from shopwindow.problems import Failure

REQUEST_RETRIES = 8
"""How often a request is repeated. A store that is overloaded (503) recovers within the
20 s or so that this takes; a pipeline repeats the rest.
"""

BACKOFF = {
    "init_backoff": timedelta(seconds=0.2),
    "max_backoff": timedelta(seconds=5),
    "base": 4,
}
"""Each wait is by chance between 0.2 s and four times the one before, so that many
connections do not come back at once.
"""

RETRYING = timedelta(seconds=60)
"""After this a request is not repeated any more, however few attempts there were."""

HASTY_RETRIES = 3
"""How often a reading is repeated with which a command begins. Where nobody listens,
that takes 1 to 3 s: an address that is wrong stays so, and a follower comes back.
"""

HASTY_RETRYING = timedelta(seconds=4)
"""After this such a reading is not repeated. A connection that nobody answers is given
up after 5 s, which is the library's limit, and one attempt is enough to know.
"""

REQUEST_SECONDS = timedelta(seconds=120)
"""The longest that one request takes: a part of 5 MB at half a megabit a second."""


def opened(target: DeliveryTarget, environment: Mapping[str, str]) -> Bucket:
    """Return the Bucket of a target. Raises Failure where it cannot be meant.

    ``environment`` has the variables with addresses and credentials.
    """
    if target.scheme == "file":
        return FolderBucket(Path(target.prefix))
    return open_bucket(target, environment)


def open_bucket(target: DeliveryTarget, environment: Mapping[str, str]) -> ObjectBucket:
    """Return the bucket of a target; nothing is sent yet.

    Raises Failure where it cannot be meant: plain http beyond this machine.
    """
    options: dict[str, Any] = {"client_options": {"timeout": REQUEST_SECONDS}}
    if target.scheme == "s3":
        endpoint = environment.get("AWS_ENDPOINT_URL", "")
        if _is_plain(endpoint, "AWS_ALLOW_HTTP", environment):
            options["client_options"]["allow_http"] = True
        if not environment.get("AWS_REGION") and not environment.get(
            "AWS_DEFAULT_REGION"
        ):
            options["region"] = "us-east-1"  # what stores beside Amazon's expect
    elif target.scheme == "az":
        endpoint = environment.get("AZURE_STORAGE_ENDPOINT", "")
        if _is_plain(endpoint, "AZURE_ALLOW_HTTP", environment):
            options["client_options"]["allow_http"] = True

    def opened(retries: int, retrying: timedelta) -> Any:
        library = {"s3": S3Store, "az": AzureStore, "gs": GCSStore}[target.scheme]
        repeated = {
            "max_retries": retries,
            "retry_timeout": retrying,
            "backoff": BACKOFF,
        }
        return library(target.bucket, retry_config=repeated, **options)

    with refused(str(target), "open"):
        return ObjectBucket(
            opened(REQUEST_RETRIES, RETRYING),
            str(target),
            target.prefix,
            opened(HASTY_RETRIES, HASTY_RETRYING),
            _address(target, environment),
        )


def _address(target: DeliveryTarget, environment: Mapping[str, str]) -> str:
    """Return the address of a store that does not compare clocks itself, or nothing."""
    if target.scheme == "gs":
        return "https://storage.googleapis.com"
    if target.scheme != "az":
        return ""
    account = environment.get("AZURE_STORAGE_ACCOUNT_NAME", "")
    there = f"https://{account}.blob.core.windows.net" if account else ""
    return environment.get("AZURE_STORAGE_ENDPOINT", there)


def _is_plain(endpoint: str, variable: str, environment: Mapping[str, str]) -> bool:
    """Return whether an endpoint is without TLS.

    Raises Failure where that is unsafe, and ``variable`` does not allow it.
    """
    address = urlsplit(endpoint)
    if address.scheme != "http":
        return False
    host = address.hostname or ""
    is_here = host in ("localhost", "::1") or host.startswith("127.")
    allowed = environment.get(variable, "").lower() in ("true", "1")
    if not is_here and not allowed:
        raise Failure(
            f"{endpoint}: plain http lets everybody on the way read and change what is "
            f"sent; use https, or set {variable}=true for a network of your own"
        )
    return True
