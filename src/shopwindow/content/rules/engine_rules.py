"""The rules that hold beside the schemas: which there are, and each of them carried out.

A rule states what no schema can. Those of the engine are about documents of any kind:
their windows (`window_rules`), identities (`unique`), groups (`group_rules`), references
(`reference_rules`), and here site.yaml and the names of files. What is particular to one
kind stands in that kind's ``rules``, beside everything else about it.

Each rule yields pairs of a document and a finding in it. A rule looks at sound parts
only: where the schema has found something, what would follow from it is not reported a
second time.
"""

from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from shopwindow.content.documents.expressions import RESERVED_WORDS
from shopwindow.content.documents.finding import Finding
from shopwindow.content.documents.site import RESERVED_NAMES
from shopwindow.content.rules.case import AcrossRule, Case, RuleFindings
from shopwindow.content.rules.group_rules import selections, site_groups
from shopwindow.content.rules.reference_rules import references
from shopwindow.content.rules.unique import unique
from shopwindow.content.rules.window_rules import past, unknown_zone, windows
from shopwindow.problems import nearest


def findings(case: Case, across: Iterable[AcrossRule] = ()) -> RuleFindings:
    """Yield what all rules find: the engine's, each kind's own, and those ``across``
    kinds.
    """
    for rule in (*_ENGINE, *across):
        yield from rule(case)
    for kind in case.kinds:
        for own in kind.rules:
            for document in case.having(kind.name):
                for finding in own(case, document):
                    yield document, finding


def warnings(case: Case, across: Iterable[AcrossRule] = ()) -> RuleFindings:
    """Yield what is probably a mistake, as of the case's moment: what the engine finds
    in documents of any kind, and the rules ``across`` kinds.
    """
    for rule in (past, *across):
        yield from rule(case)


def revised(case: Case, released: Mapping[str, Mapping[Any, Any]]) -> RuleFindings:
    """Yield what the kinds' revisions find between a release and this content.

    ``released``: the documents of the release, by kind and identity.
    """
    for kind in case.kinds:
        before, identity = released.get(kind.name, {}), str(kind.identity)
        for document in case.having(kind.name, (identity,)) if kind.revisions else ():
            value = before.get(document.value[identity])
            for rule in kind.revisions if value is not None else ():
                for finding in rule(case, document, value):
                    yield document, finding


def noticed(case: Case) -> RuleFindings:
    """Yield what the kinds' notices point at, which are no problems."""
    for kind in case.kinds:
        for rule in kind.notices:
            for document in case.documents.of(kind.name):
                for finding in rule(case, document):
                    yield document, finding


# -- site.yaml -------------------------------------------------------------------------


def _site(case: Case) -> RuleFindings:
    """Check that the site's time zone exists, and that its names are free to be used."""
    for site in case.having("site", ("time_zone",)):
        if unknown := unknown_zone(("time_zone",), site.value["time_zone"]):
            yield site, unknown
    taken = (*RESERVED_NAMES, *RESERVED_WORDS)
    for site in case.having("site"):
        for name in case.keys(site, ("names",)) or ():
            if name in taken:
                finding = Finding(
                    "site.name",
                    ("names", name),
                    f"the name {name!r} is taken",
                    "another name",
                    on_key=True,
                )
                yield site, finding


def lifetimes(case: Case, operations: Collection[str]) -> RuleFindings:
    """Yield the lifetimes in site.yaml of what is no operation.

    ``operations``: the names of those that may have one.
    """
    allowed = ("default", *operations)
    for site in case.having("site"):
        for name in case.keys(site, ("lifetimes",)) or ():
            if name not in allowed:
                finding = Finding(
                    "site.lifetime",
                    ("lifetimes", name),
                    f"{name!r} is no operation that caches keep responses of",
                    ", ".join(allowed),
                    nearest=nearest(name, allowed),
                    on_key=True,
                )
                yield site, finding


# -- names of files --------------------------------------------------------------------


def _file_names(case: Case) -> RuleFindings:
    """Check that each document of a kind that is named by its file has that name, and the
    file for itself.
    """
    for kind in case.kinds:
        identity = kind.identity
        if not kind.named_by_file or identity is None:
            continue
        for document in case.having(kind.name, (identity,)):
            layer, name = document.layers[-1], str(document.value[identity])
            file = PurePosixPath(layer.path)
            if layer.index is not None:
                found = f"{name!r} stands in a file with other documents"
            elif file.stem != name:
                found = f"{name!r} stands in the file {file.name}"
            else:
                continue
            allowed = f"a file of its own that is named {name}.yaml"
            yield document, Finding("file.name", (identity,), found, allowed)


_ENGINE: tuple[AcrossRule, ...] = (
    _site,
    windows,
    _file_names,
    unique,
    site_groups,
    selections,
    references,
)
"""The rules about documents of any kind."""
