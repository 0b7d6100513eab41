"""Opens the Bucket of a target."""

from collections.abc import Mapping
from pathlib import Path

from shopwindow.delivery.bucket import Bucket, open_bucket
from shopwindow.delivery.folder import FolderBucket
from shopwindow.delivery.targets import DeliveryTarget


def opened(target: DeliveryTarget, environment: Mapping[str, str]) -> Bucket:
    """Return the Bucket of a target. Raises Failure where it cannot be meant.

    ``environment`` has the variables with addresses and credentials.
    """
    if target.scheme == "file":
        return FolderBucket(Path(target.prefix))
    return open_bucket(target, environment)
