"""Where releases are published: an address, or a name that site.yaml has for one; and
how that is opened.

A DeliveryTarget says where and never with which secret. Credentials come from the variables
that every client of these stores reads (docs/operate/delivery.md).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from obstore.store import AzureStore, GCSStore, S3Store

from shopwindow.content.documents import site
from shopwindow.content.reading import yaml
from shopwindow.delivery.bucket import Bucket, FolderBucket, refused
from shopwindow.did_you_mean import suggestion
from shopwindow.problems import Failure, Misuse

TARGET_FORMS = (
    "s3://BUCKET/PREFIX, az://CONTAINER/PREFIX, gs://BUCKET/PREFIX or file:///PATH"
)

_OBJECT_STORE = re.compile(
    r"(s3|az|gs)://([A-Za-z0-9][A-Za-z0-9._-]*)(?:/+([A-Za-z0-9._=-]+(?:/[A-Za-z0-9._=-]+)*))?/*"
)


@dataclass(frozen=True)
class DeliveryTarget:
    """A place for releases.

    ``scheme`` is s3, az, gs or file. ``bucket`` is empty for a directory, whose absolute
    path is ``prefix``. Of a bucket, ``prefix`` has no slash at either end, and may be
    empty.
    """

    scheme: str
    bucket: str
    prefix: str

    def __str__(self) -> str:
        if self.scheme == "file":
            return f"file://{self.prefix}"
        return f"{self.scheme}://{self.bucket}" + f"/{self.prefix}" * bool(self.prefix)


EVERY_SECONDS = 30.0
"""How often a host looks that pulls, unless somebody says otherwise. It is half a minute
behind at most, and a hundred hosts cost 300 requests a minute, which stores answer for a
cent an hour.
"""


@dataclass(frozen=True)
class ConfiguredTarget:
    """A target, and what commands are to know of it.

    ``keys``: the folder of the keys that sign there; empty: nobody signs. ``purge``:
    how caches in front are purged, as `purging.purger_of` takes it. ``follow``: how
    often hosts look that pull from it, in seconds; 0: none does. ``hosts``: their
    addresses, as `purging.purge` takes them.
    """

    place: DeliveryTarget
    keys: str = ""
    purge: tuple[str, ...] = ()
    follow: float = EVERY_SECONDS
    hosts: tuple[str, ...] = ()


def configured(text: str, content: Path) -> ConfiguredTarget:
    """Return the target that an argument means: an address, or a name in site.yaml.

    ``content`` is the content folder, which is read only for a name. The folder of keys
    is relative to the one that it lies in. Raises Misuse where the argument is neither,
    and Failure where site.yaml cannot be read.
    """
    if "://" in text:
        return ConfiguredTarget(parse(text))
    named = _named(content)
    if text not in named:
        listed = f"names are {', '.join(named)}" if named else "there is none"
        raise Misuse(
            "",
            f"{text!r} is no address ({TARGET_FORMS}) and no name of "
            f"`targets` in {content / 'site.yaml'}: {listed}{suggestion(text, named)}",
        )
    value = named[text]
    stated = {"to": value} if isinstance(value, str) else value
    try:
        keys, purge = stated.get("keys"), stated.get("purge", ())
        return ConfiguredTarget(
            parse(stated["to"]),
            str(content.parent / keys) if keys else "",
            (purge,) if isinstance(purge, str) else tuple(purge),
            float(stated.get("follow", f"{EVERY_SECONDS}s").removesuffix("s")),
            tuple(stated.get("hosts", ())),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise Failure(
            f"{content / 'site.yaml'}: target {text} is not as it has to be; `shopwindow "
            "check` says what is wrong"
        ) from None


def parse(text: str) -> DeliveryTarget:
    """Return the target at an address. Raises Misuse."""
    if "@" in text or "?" in text:
        raise Misuse(
            "", "a target's address holds no secret: credentials come from variables"
        )
    if text.startswith("file://"):
        path = text.removeprefix("file://")
        if not path.startswith("/"):
            raise Misuse("", f"{text}: a directory's address is file:///PATH")
        return DeliveryTarget("file", "", str(Path(path)))
    address = _OBJECT_STORE.fullmatch(text)
    if address is None:
        raise Misuse(
            "",
            f"{text}: a target is {TARGET_FORMS}; PREFIX has letters, digits and . _ = - / only",
        )
    return DeliveryTarget(address[1], address[2], address[3] or "")


def _named(content: Path) -> Mapping[str, Any]:
    """Return what site.yaml says of targets, by their names.

    Only what is asked here is read of it: a mistake elsewhere in the content is no
    reason to refuse a rollback.
    """
    path = content / "site.yaml"
    try:
        value: Any = yaml.load(yaml.decode(path.read_bytes()))
    except FileNotFoundError:
        return {}
    except yaml.Malformed as fault:
        raise Failure(
            f"{path}: {fault}; `shopwindow check` reports the place"
        ) from None
    rendered, _, _ = site.render(value, frozenset())
    named = rendered.get("targets") if isinstance(rendered, dict) else None
    if not isinstance(named, dict):
        return {}
    return {str(name): value for name, value in named.items()}


# -- opening ---------------------------------------------------------------------------

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


ENDPOINTS = {
    "s3": ("AWS_ENDPOINT_URL", "AWS_ALLOW_HTTP"),
    "az": ("AZURE_STORAGE_ENDPOINT", "AZURE_ALLOW_HTTP"),
}
"""Scheme → the variable with its endpoint, and that which allows plain http there."""


def opened(target: DeliveryTarget, environment: Mapping[str, str]) -> Bucket:
    """Return the Bucket of a target; nothing is sent yet.

    ``environment`` has the variables with addresses and credentials. Raises Failure
    where the library cannot use them.
    """
    if target.scheme == "file":
        return FolderBucket(Path(target.prefix))
    allowed = _allows_http(target.scheme, environment)
    client = {"timeout": REQUEST_SECONDS, "allow_http": allowed}
    options: dict[str, Any] = {"client_options": client}
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    if target.scheme == "s3" and not region:
        options["region"] = "us-east-1"  # what stores beside Amazon's expect

    def store(retries: int, retrying: timedelta) -> Any:
        library = {"s3": S3Store, "az": AzureStore, "gs": GCSStore}[target.scheme]
        repeated = {
            "max_retries": retries,
            "retry_timeout": retrying,
            "backoff": BACKOFF,
        }
        return library(target.bucket, retry_config=repeated, **options)

    with refused(str(target), "open"):
        return Bucket(
            store(REQUEST_RETRIES, RETRYING),
            str(target),
            target.prefix,
            store(HASTY_RETRIES, HASTY_RETRYING),
        )


def _allows_http(scheme: str, environment: Mapping[str, str]) -> bool:
    """Return whether an endpoint may be without TLS: on this machine, or where a variable
    says so. Any other is refused with the first request.
    """
    endpoint, variable = ENDPOINTS.get(scheme, ("", ""))
    host = urlsplit(environment.get(endpoint, "")).hostname or ""
    is_here = host in ("localhost", "::1") or host.startswith("127.")
    return is_here or environment.get(variable, "").lower() in ("true", "1")
