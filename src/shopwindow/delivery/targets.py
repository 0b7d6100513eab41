"""Where releases are published: an address, or a name that site.yaml has for one.

A DeliveryTarget says where and never with which secret. Credentials come from the variables
that every client of these stores reads (docs/operate/delivery.md).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shopwindow.content import site, yaml
from shopwindow.problems import Failure, Misuse, nearest

SCHEMES = {
    "s3": "an S3 bucket",
    "az": "an Azure container",
    "gs": "a Google Cloud Storage bucket",
    "file": "a directory",
}
"""Scheme → what the part after it names."""

TARGET_FORMS = (
    "s3://BUCKET/PREFIX, az://CONTAINER/PREFIX, gs://BUCKET/PREFIX or file:///PATH"
)

_OBJECT_STORE = re.compile(r"(s3|az|gs)://([A-Za-z0-9][A-Za-z0-9._-]*)(?:/(.*))?")
_TARGET_PREFIX = re.compile(r"[A-Za-z0-9._=-]+(?:/[A-Za-z0-9._=-]+)*")


@dataclass(frozen=True)
class DeliveryTarget:
    """A place for releases.

    ``scheme`` is a key of SCHEMES. ``bucket`` is empty for a directory, whose absolute
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


def target_of(text: str, content: Path) -> DeliveryTarget:
    """Return the target that an argument means: an address, or a name in site.yaml.

    ``content`` is the content folder, which is read only for a name. Raises Misuse
    where the argument is neither.
    """
    if "://" in text:
        return parse(text)
    named = _named(content)
    if text not in named:
        close = nearest(text, named)
        suggestion = f"; did you mean {close}?" if close else ""
        listed = f"names are {', '.join(named)}" if named else "there is none"
        raise Misuse(
            "",
            f"{text!r} is no address ({TARGET_FORMS}) and no name of "
            f"`targets` in {content / 'site.yaml'}: {listed}{suggestion}",
        )
    return parse(named[text])


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
        raise Misuse("", f"{text}: a target is {TARGET_FORMS}")
    prefix = (address[3] or "").strip("/")
    if prefix and not _TARGET_PREFIX.fullmatch(prefix):
        raise Misuse("", f"{text}: a prefix has letters, digits and . _ = - / only")
    return DeliveryTarget(address[1], address[2], prefix)


def _named(content: Path) -> Mapping[str, str]:
    """Return the names that site.yaml has for targets.

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
    return {str(name): str(address) for name, address in named.items()}
