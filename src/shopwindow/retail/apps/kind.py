"""What editors write about a mobile application: keys and configuration (interface 2.1,
5).

`layout` and `versions` look at one application, `keys_once` at all of them.
`version_raised` compares with the released document, and `to_be_done` notes what is
allowed and not yet finished.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from shopwindow.content.documents.documents import Document
from shopwindow.content.documents.finding import Finding
from shopwindow.content.kinds import Kind, Rule
from shopwindow.content.rules.case import Case, RuleFindings
from shopwindow.content.rules.unique import once
from shopwindow.did_you_mean import nearest
from shopwindow.problems import Level, Pointer

LAYOUT: Pointer = ("config", "appLayout")
SECTIONS: Pointer = ("config", "appConfig")
FEATURE_CONFIG: Pointer = ("config", "featureConfig")
CURRENT_VERSION: Pointer = ("config", "appVersionInfo", "appVersionNumber")
SUPPORTED_VERSIONS: Pointer = ("config", "appVersionInfo", "supportedVersions")


def layout(case: Case, app: Document) -> Iterator[Finding]:
    """appLayout names sections of appConfig, and each featureLayout features of
    featureConfig.
    """
    sections = case.keys(app, SECTIONS)
    features = case.keys(app, FEATURE_CONFIG)
    if sections is None:
        return
    yield from _not_keys(case, app, LAYOUT, sections, "appConfig")
    if features is None:
        return
    for section in sections:
        pointer = (*SECTIONS, section, "featureLayout")
        yield from _not_keys(case, app, pointer, features, "featureConfig")


def _not_keys(
    case: Case, app: Document, pointer: Pointer, names: list[str], where: str
) -> Iterator[Finding]:
    """Yield a Finding for each entry of a list that is not among ``names``, the keys of
    a map.
    """
    for index, name in case.entries(app, pointer):
        if name not in names:
            yield Finding(
                "app.layout",
                (*pointer, index),
                f"{name!r} is not a key of {where}",
                ", ".join(names),
                nearest=nearest(name, names),
            )


def versions(case: Case, app: Document) -> Iterator[Finding]:
    """The version that the store offers is one that the service supports."""
    if not (case.sound(app, SUPPORTED_VERSIONS) and case.sound(app, CURRENT_VERSION)):
        return
    current, supported = case.at(app, CURRENT_VERSION), case.at(app, SUPPORTED_VERSIONS)
    if current is not None and supported is not None and current not in supported:
        found = f"the appVersionNumber {current!r} is not among the supported versions"
        yield Finding(
            "app.version",
            SUPPORTED_VERSIONS,
            found,
            "a list that holds appVersionNumber",
        )


def version_raised(case: Case, app: Document) -> Iterator[Finding]:
    """A configuration that differs from the released one has a configVersion of its
    own: apps may take the version for a sign that nothing changed.

    They are compared as applications get them, so another order of keys is a
    difference.
    """
    if not (case.sound(app, ("name",)) and case.sound(app, ("config",))):
        return
    released = case.released.get(APP.name, {}).get(app.value["name"])
    if released is None:
        return
    old, new = released["config"], app.value["config"]
    same_version = old.get("configVersion") == new["configVersion"]
    if same_version and orjson.dumps(old) != orjson.dumps(new):
        found = f"the configuration changed, and configVersion is still {new['configVersion']!r}"
        yield Finding(
            "app.configVersion",
            ("config", "configVersion"),
            found,
            "a version not released before",
        )


def to_be_done(case: Case, app: Document) -> Iterator[Finding]:
    """Yield each value that still says TBD, which means not yet set (interface 2.1)."""

    def walk(value: Any, pointer: Pointer) -> Iterator[Pointer]:
        if value == "TBD":
            yield pointer
        elif isinstance(value, dict):
            for key, item in value.items():
                yield from walk(item, (*pointer, key))

    config = app.value["config"] if case.sound(app, ()) else None
    for pointer in walk(config, ("config",)):
        yield Finding("app.TBD", pointer, "")


APP = Kind(
    name="app",
    folder="apps",
    schema="app.json",
    ids=("name",),
    title=("name",),
    scheduled=False,
    layered=True,
    rules=(
        Rule(("app.layout",), layout),
        Rule(("app.version",), versions),
        Rule(("app.configVersion",), version_raised, Level.WARNING),
        Rule(("app.TBD",), to_be_done, level=None),
    ),
)


def keys_once(case: Case) -> RuleFindings:
    """No two applications have the same API key: it says which application calls
    (interface 5.3).
    """
    digests = [
        (app, ("apiKeys", index), digest)
        for app in case.having(APP.name)
        for index, digest in case.entries(app, ("apiKeys",))
    ]
    yield from once(case, APP, "API key digest", digests)


def supported_versions(app: Mapping[str, Any]) -> Sequence[str]:
    """Return the versions of an application that still work (interface 2.1)."""
    versions: Sequence[str] = app["config"]["appVersionInfo"]["supportedVersions"]
    return versions


RULES = (Rule(("unique",), keys_once),)
"""The rules that look at all applications together."""
