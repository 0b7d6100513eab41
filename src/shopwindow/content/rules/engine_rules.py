"""The rules that hold beside the schemas: which there are, and each of them carried out.

A rule states what no schema can. Those of the engine are about documents of any kind:
their windows (`window_rules`), identities (`unique`), groups (`group_rules`), references
(`reference_rules`), and here site.yaml and the names of files. What is particular to one
kind stands in that kind's ``rules``, beside everything else about it.

Each rule yields pairs of a document and a finding in it. A rule looks at sound parts
only: where the schema has found something, what would follow from it is not reported a
second time.
"""

from collections.abc import Collection, Iterable
from pathlib import PurePosixPath

from shopwindow.content.documents.documents import Document
from shopwindow.content.documents.expressions import RESERVED_WORDS
from shopwindow.content.documents.finding import Finding
from shopwindow.content.documents.site import RESERVED_NAMES
from shopwindow.content.kinds import Rule
from shopwindow.content.rules.case import Case, RuleFindings
from shopwindow.content.rules.group_rules import selections, site_groups
from shopwindow.content.rules.reference_rules import references
from shopwindow.content.rules.unique import unique
from shopwindow.content.rules.window_rules import past, unknown_zone, windows
from shopwindow.did_you_mean import nearest
from shopwindow.problems import Level


def findings(
    case: Case, across: Iterable[Rule] = (), level: Level | None = Level.ERROR
) -> RuleFindings:
    """Yield what the rules of a level find: the engine's, those ``across`` kinds, and
    each kind's own.

    What a warning says holds as of the case's moment.
    """
    for rule in (*ENGINE_RULES, *across):
        if rule.level is level:
            yield from _named(rule, rule.find(case))
    for kind in case.kinds:
        for rule in kind.rules:
            for document in case.having(kind.name) if rule.level is level else ():
                found = ((document, finding) for finding in rule.find(case, document))
                yield from _named(rule, found)


def _named(rule: Rule, found: Iterable[tuple[Document, Finding]]) -> RuleFindings:
    """Yield what a rule has found. A name that its value lacks is a programmer's fault:
    nobody could look it up.
    """
    for document, finding in found:
        if finding.rule not in rule.names:
            raise ValueError(f"{finding.rule} is none of {', '.join(rule.names)}")
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


def lifetimes(operations: Collection[str]) -> Rule:
    """Return the rule that lifetimes in site.yaml are those of operations.

    ``operations``: the names of those that may have one.
    """
    allowed = ("default", *operations)

    def unknown(case: Case) -> RuleFindings:
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

    return Rule(("site.lifetime",), unknown)


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
            layer, name = document.own, str(document.value[identity])
            file = PurePosixPath(layer.path)
            if layer.index is not None:
                found = f"{name!r} stands in a file with other documents"
            elif file.stem != name:
                found = f"{name!r} stands in the file {file.name}"
            else:
                continue
            allowed = f"a file of its own that is named {name}.yaml"
            yield document, Finding("file.name", (identity,), found, allowed)


ENGINE_RULES = (
    Rule(("site.name", "time.zone"), _site),
    Rule(("time.exists", "time.zone", "window.order"), windows),
    Rule(("file.name",), _file_names),
    Rule(("unique",), unique),
    Rule(("group.empty", "group.value", "reference"), site_groups),
    Rule(("reference",), selections),
    Rule(("reference", "reference.live"), references),
    Rule(("window.past",), past, Level.WARNING),
)
"""The rules about documents of any kind."""
