"""Which documents an answer reads: those of its content, and those of its indexes.

How this works: a view runs on a `Recorded` content, and each Read that it leaves there
is looked up again. Views are handed the very documents of the content,
which stay alive meanwhile. So a document that a Read returns is recognized by its
Python id. Documents of an index are not among those; the index itself reports each one
that it hands out.
"""

from collections.abc import Sequence
from typing import Any

from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.release.order import OpenIndexes
from shopwindow.release.reads import Read, Recorded, returned

SITE_DOCUMENT = ("site", "site.yaml")

Named = tuple[str, str]
"""A document: its kind's name and its identity, as text."""


def by_identity(content: Content, kind: str) -> dict[Any, Json]:
    """Return the live documents of a kind by what identifies them."""
    return dict(zip(content.identities(kind), content.documents(kind), strict=True))


class DocumentsRead:
    """Finds out which documents of one content an answer reads.

    ``opened`` opens the indexes of the content. Ask of ``recorded``, which answers from
    them, too.
    """

    def __init__(self, content: Content, opened: OpenIndexes) -> None:
        self._from_indexes: set[Named] = set()
        self._content = content.with_indexes(opened(self._note))
        self.recorded = Recorded(self._content)
        self._named: dict[int, Named] = {}
        for kind in content.kinds.values():
            if not kind.streamed:
                for identity, document in by_identity(content, kind.name).items():
                    self._named[id(document)] = kind.name, str(identity)

    def _note(self, kind: str, identity: str) -> None:
        """Note a document that an index hands out: an `interface.declaring.index.HandedOut`."""
        self._from_indexes.add((kind, identity))

    def take(self) -> set[Named]:
        """Return the documents that were read since the last time, and forget them.

        site.yaml is always among them, for its base_url is in every URL.
        """
        named = {SITE_DOCUMENT} | self._from_indexes
        for read in self.recorded.seen:
            named |= self._of_read(read)
        self.recorded.seen, self._from_indexes = set(), set()
        return named

    def _of_read(self, read: Read) -> set[Named]:
        """Return the documents that a Read returned."""
        verb, *arguments = read
        if verb in ("documents", "document"):
            return self._among(returned(self._content, read))
        if verb in ("derived", "has"):
            return self._among(returned(self._content, ("derived", *arguments)))
        if verb == "table":
            return {
                named
                for value in returned(self._content, read).values()
                for named in self._among(value)
            }
        return set()

    def _among(self, value: Any) -> set[Named]:
        """Return the documents that a value is, or is a list of."""
        values: Sequence[Any] = value if isinstance(value, list | tuple) else [value]
        return {self._named[id(each)] for each in values if id(each) in self._named}
