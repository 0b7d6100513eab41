"""Rules about groups: site.yaml's have members, and documents name groups that exist."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from shopwindow.content.documents import groups
from shopwindow.content.documents.finding import Finding, listed
from shopwindow.content.kinds import Kind, values_at
from shopwindow.content.rules.case import Case, RuleFindings
from shopwindow.content.rules.reference_rules import absent
from shopwindow.content.rules.resolving import grouped_by
from shopwindow.did_you_mean import nearest
from shopwindow.problems import Pointer


def site_groups(case: Case) -> RuleFindings:
    """Check that every group in site.yaml has a member, and every value in it a
    document.
    """
    for kind in case.kinds:
        for site in case.having("site") if kind.groups else ():
            entries = case.entries(site, (groups.grouping_of(kind).setting,))
            if entries and case.is_complete(kind.name, *grouped_by(kind)):
                values = [document.value for document in case.having(kind.name)]
                stated = cache(partial(_stated, values))
                for name, group in entries:
                    for finding in _of_group(kind, name, group, values, stated):
                        yield site, finding


def _stated(values: Sequence[Any], pointer: Pointer) -> dict[Any, str]:
    """Return what documents have at a place, each with its text."""
    return {
        stated: str(stated)
        for value in values
        for _, stated in values_at(value, pointer)
    }


def _of_group(
    kind: Kind,
    name: str,
    group: Mapping[str, Sequence[Any]],
    values: Sequence[Any],
    stated: Callable[[Pointer], Mapping[Any, str]],
) -> Iterator[Finding]:
    """Yield the values of a group that no document has; or that it is empty.

    ``values``: the documents; ``stated``: what they have at a place.
    """
    grouping = groups.grouping_of(kind)
    place: Pointer = (grouping.setting, name)
    all_there = True
    for property, pointer in grouping.properties:
        for index, value in enumerate(group.get(property, ())):
            there = stated(pointer)
            if value not in there:
                all_there = False
                finding = absent(
                    (*place, property, index), kind, property, value, there
                )
                if property not in kind.ids:  # nothing is named, and nothing is gone
                    choices = listed(sorted(there.values()))
                    finding = replace(
                        finding, rule="group.value", allowed=choices, absent=None
                    )
                yield finding

    members = {property: frozenset(values) for property, values in group.items()}
    if all_there and not any(
        groups.contains(grouping, members, value) for value in values
    ):
        found = f"no {kind.name} has one of these values of every property"
        allowed = f"values that one {kind.name} has together"
        yield Finding("group.empty", place, found, allowed)


def selections(case: Case) -> RuleFindings:
    """Check that documents name groups that site.yaml has, and `all` of what exists."""
    for kind in case.kinds:
        for selection in kind.selections:
            target = case.by_name.get(selection.kind)
            if target is None:
                continue
            setting = groups.grouping_of(target).setting
            sites = case.having("site")
            names = case.keys(sites[0], (setting,)) or () if sites else None
            is_none = not case.having(target.name) and target.name not in case.unknown
            for document in case.having(kind.name, selection.pointer):
                stated = case.at(document, selection.pointer)
                if stated == groups.ALL and is_none:
                    found = f"there is no {target.name} at all"
                    yield document, Finding("reference", selection.pointer, found)
                name = groups.name_of(stated)
                if name is not None and names is not None and name not in names:
                    pointer = (*selection.pointer, groups.GROUP)
                    yield document, _unknown_group(pointer, name, target, names)


def _unknown_group(
    pointer: Pointer, name: str, target: Kind, names: Collection[str]
) -> Finding:
    setting = groups.grouping_of(target).setting
    return Finding(
        "reference",
        pointer,
        f"site.yaml has no group {name!r} in {setting}",
        listed(names)
        or f"a group of {target.name}s, once site.yaml has one in {setting}",
        nearest=nearest(name, names),
    )
