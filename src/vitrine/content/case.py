"""What the rules look at: the documents, or those of their parts that are sound, and when each is live."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from zoneinfo import ZoneInfo

from vitrine.content import model
from vitrine.content.listing import KINDS
from vitrine.content.model import ALWAYS, Document, Documents, Window
from vitrine.content.schema import Finding
from vitrine.problems import Pointer


@dataclass
class Case:
    """The valid documents, each one's window, and what is known to be missing from them.

    ``broken`` are documents that their schema refuses, and what it finds: a rule looks at those of their parts that
    the schema has nothing to say about. ``unknown`` names the kinds of which some file could not be read: nothing is
    said of references to them.
    """

    documents: Documents
    broken: list[tuple[Document, list[Finding]]] = field(default_factory=list)
    unknown: frozenset[str] = frozenset()
    zone: ZoneInfo | None = field(init=False)
    windows: dict[int, Window | None] = field(init=False)

    def __post_init__(self) -> None:
        self.findings = {id(document): found for document, found in self.broken}
        (site,) = self.having("site", ("time_zone",)) or [Document("site", {}, ())]
        try:
            self.zone = model.zone(site.value["time_zone"])
        except (ValueError, KeyError):
            self.zone = None
        self.windows = {}
        for kind in KINDS:
            for document in self.having(kind.name):
                if not self.sound(document, ("publish",)):
                    self.windows[id(document)] = None
                elif "publish" in document.value:
                    self.windows[id(document)] = self._window(document)

    def _window(self, document: Document) -> Window | None:
        try:
            window = model.window(document, self.zone) if self.zone else None
        except ValueError:
            return None
        return window if window and window.start < window.end else None

    def window(self, document: Document) -> Window | None:
        """When a document is live; None where that is at fault, or the time zone is: nothing follows from it then."""
        return self.windows.get(id(document), ALWAYS)

    def having(self, kind: str, *parts: Pointer) -> list[Document]:
        """The documents of a kind in which these parts are sound."""
        valid: list[Document] = [self.documents.site] if kind == "site" else getattr(self.documents, kind)
        others = [document for document, _ in self.broken if document.kind == kind]
        if kind == "site" and (others or not self.documents.site.value):
            valid = []
        sound = [other for other in others if all(self.sound(other, part) for part in parts)]
        return sorted(valid + sound, key=_position) if sound else valid

    def sound(self, document: Document, part: Pointer, *, keys: bool = False) -> bool:
        """Whether the schema has nothing to say about this part, what is in it, or what it is in.

        With ``keys`` nothing about which keys stand in it.
        """
        found = self.findings.get(id(document))
        return not found or sound(found, part, keys=keys)

    def entries(self, document: Document, part: Pointer) -> list[tuple[Any, Any]]:
        """The sound ones of a list's items by place, or of an object's values by key; none where there is neither."""
        value = _at(document, part)
        found = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        if id(document) not in self.findings:
            return list(found)
        return [(name, entry) for name, entry in found if self.sound(document, (*part, name))]

    def keys(self, document: Document, part: Pointer) -> list[str] | None:
        """The keys of an object that the schema knows, those that are missing among them; None if it is no object."""
        value = _at(document, part)
        if not isinstance(value, dict):
            return None
        findings = self.findings.get(id(document), ())
        missing = [finding.missing for finding in findings if finding.missing and finding.pointer == part]
        unknown = {finding.pointer for finding in findings if finding.on_key and not finding.missing}
        return [key for key in value if (*part, key) not in unknown] + missing


def _at(document: Document, part: Pointer) -> Any:
    """A part of a document; None where there is none."""
    try:
        return model.at(document.value, part)
    except (KeyError, IndexError):
        return None


def sound(findings: Iterable[Finding], part: Pointer, *, keys: bool = False) -> bool:
    """Whether none of a document's findings is about this part, as `Case.sound` has it."""
    for finding in findings:
        place = finding.pointer if finding.missing is None else (*finding.pointer, finding.missing)
        if place == part[: len(place)]:
            return False
        of_key = finding.missing is not None or finding.on_key
        if part == place[: len(part)] and (not keys or (of_key and len(place) == len(part) + 1)):
            return False
    return True


def _position(document: Document) -> tuple[str, int]:
    layer = document.layers[-1]
    return layer.path, layer.index or 0
