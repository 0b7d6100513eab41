"""The configuration of each application, as its phone would show it: a frame for each.

A page for the kind `app` of a retailer: its sections, features and messages (interface
5).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from shopwindow.content.documents.documents import Document
from shopwindow.preview.drawing import Sourced, sourced
from shopwindow.preview.visit import Page, Visit
from shopwindow.problems import Pointer

KIND = "app"

CONFIG_PROPERTY = "config"


@dataclass(frozen=True)
class Section:
    """A section of the phone's menu, with the features that it leads to."""

    name: str
    title: Sourced | None
    icon: Sourced | None
    features: Sequence[tuple[str, Sourced | None]]

    @property
    def values(self) -> list[Sourced]:
        """All values that a page shows of it."""
        leading = (landing for _, landing in self.features)
        return [value for value in (self.title, self.icon, *leading) if value]


@dataclass(frozen=True)
class Frame:
    """One application: ``order`` is where the order of its sections is set."""

    name: str
    order: Sourced | None
    sections: Sequence[Section]
    groups: Sequence[tuple[str, Sequence[tuple[str, Sourced | None]]]]


GROUPS = (
    ("Versions", "appVersionInfo"),
    ("Error messages", "errorMessages"),
    ("Poor network", "poorNetwork"),
    ("Endpoints", "serviceEndPoints"),
    ("Web addresses", "webServletEndPoints"),
    ("Logging", "loggingInfo"),
)
"""What stands below the phone's menu: a heading, and the part of the configuration."""


def page(visit: Visit) -> Page:
    """Return the page of all applications."""
    frames = [_frame(visit, each) for each in visit.documents.of(KIND)]
    return Page("applications.html", "Applications", {"frames": frames})


def _frame(visit: Visit, app: Document) -> Frame:
    name = str(app.value["name"])
    released = visit.baseline.document(KIND, name) if visit.baseline else None

    def value(*pointer: str | int) -> Sourced | None:
        return sourced(app, (CONFIG_PROPERTY, *pointer), visit.files, released)

    config = app.value[CONFIG_PROPERTY]
    sections = []
    for section in config["appLayout"]:
        named: Pointer = ("appConfig", section)
        features = [
            (feature, value("featureConfig", feature, "landingUrl"))
            for feature in config["appConfig"].get(section, {}).get("featureLayout", ())
        ]
        title, icon = value(*named, "appDisplayName"), value(*named, "appIcon")
        sections.append(Section(section, title, icon, features))
    groups = [
        (heading, [(name, value(part, name)) for name in config.get(part, ())])
        for heading, part in GROUPS
    ]
    return Frame(name, value("appLayout"), sections, groups)
