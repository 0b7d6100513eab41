"""The collections of a release: stored in it with their schemas, so that it can be
served without a content folder.
"""

from pathlib import Path

from shopwindow.content.declared import collection
from shopwindow.interface.declaring.collections import with_collections
from shopwindow.interface.declaring.interface import Interface
from shopwindow.problems import Failure

COLLECTIONS_FILE = "collections.json"
"""A private file: the manifest lists it, and nobody can ask for it. A release without
collections has no such file.
"""


def interface_of(release: Path, interface: Interface) -> Interface:
    """Return an Interface with the collections of a release.

    ``interface``: its own collections are left out where the release has any. Raises
    Failure where the file cannot be read.
    """
    if not (release / COLLECTIONS_FILE).exists():
        return interface
    try:
        return decoded((release / COLLECTIONS_FILE).read_bytes(), interface)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Failure(
            f"{release}: {COLLECTIONS_FILE} cannot be read: {error}"
        ) from None


def decoded(data: bytes, interface: Interface) -> Interface:
    """Return an Interface with the collections of a release, as `interface_of` does.

    ``data``: the bytes of COLLECTIONS_FILE. Raises what decoding them raises.
    """
    return with_collections(interface, collection.decode(data))
