"""Documents that build on others by `extends` are merged with them.

A document names one base, which may name another. This chain of layers is merged by
RFC 7396, the deepest base first, so that what stands nearer to the document wins.

`assemble` follows every chain, merges it, and reports what is wrong with the way
documents build on each other: a missing base, a cycle, a base that nothing uses, a null
that removes nothing. The other way, from a finding in a merged document to the layer
that says the value, goes `locating.origin`. Nothing here reads a file.
"""

import posixpath
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from shopwindow.content.documents.documents import Document, Layer
from shopwindow.content.documents.finding import Finding, listed, shown
from shopwindow.content.reading.yaml import Json, at
from shopwindow.did_you_mean import nearest
from shopwindow.problems import Pointer


def merge(target: Json, patch: Json) -> Json:
    """Return ``target`` with ``patch`` merged into it (RFC 7396).

    Objects merge by key, anything else replaces, null removes. Neither argument is
    changed.
    """
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


@dataclass
class Assembly:
    """The merged documents of a kind, and what is wrong with how they build on others.

    ``documents``: those with a complete chain. ``partial``: those of which a base is
    missing or unreadable, merged from the rest. ``findings``: with the layer that each
    is about. ``users``: path of a base → the files that build on it, directly or not.
    ``unused``: the bases that nothing builds on. ``forgotten``: those of them that a
    document should build on and forgot to say so; what is wrong with them follows.

    ``bases``: pairs for checking a base by itself, since every document may replace
    what it says. The first value is the base without the nulls that remove something;
    the second is the same, with what it lacks filled in from a document that builds on
    it.
    """

    documents: list[Document] = field(default_factory=list)
    partial: list[Document] = field(default_factory=list)
    bases: list[tuple[Document, Json]] = field(default_factory=list)
    findings: list[tuple[Layer, Finding]] = field(default_factory=list)
    users: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    unused: list[Layer] = field(default_factory=list)
    forgotten: list[Layer] = field(default_factory=list)

    def note(self, layer: Layer, finding: Finding) -> None:
        """Add a finding, once: several documents may build on a layer at fault."""
        if (layer, finding) not in self.findings:
            self.findings.append((layer, finding))

    def united(self, document: Document, findings: list[Finding]) -> list[Finding]:
        """Return the findings in a document, or one where all that it lacks stands in a
        base that nothing builds on.
        """
        lacking = [one for one in findings if one.missing and not one.follows]
        if len(document.layers) > 1 or not lacking:
            return findings
        base = next((base for base in self.unused if _has(base, lacking)), None)
        if base is None:
            return findings
        self.forgotten.append(base)
        others = [one.following if one in lacking else one for one in findings]
        if any(one.nearest == "extends" for one in findings):  # it is misspelled
            return others
        named = posixpath.relpath(base.path, posixpath.dirname(document.layers[0].path))
        keys = f"{len(lacking)} keys are" if len(lacking) > 1 else "a key is"
        finding = Finding(
            "extends.forgotten",
            (),
            f"{keys} missing that {base.path} has, and nothing builds on that file",
            f"`extends: {named}`",
            on_key=True,
        )
        return [finding, *others]


def assemble(
    kind: str,
    layers: list[Layer],
    bases: Mapping[str, Layer],
    unreadable: frozenset[str],
) -> Assembly:
    """Merge documents of a kind with the bases that they build on.

    ``layers``: the documents' own layers. ``bases``: path → layer of a base.
    ``unreadable``: paths of files, bases or not, whose problem is reported already.
    """
    assembly = Assembly()
    for layer in layers:
        chain, complete = _chain(layer, bases, unreadable, assembly)
        value = _alone(chain[0])
        for upper in chain[1:]:
            if complete:  # else a missing base may hold what a null removes
                for finding in useless_nulls(upper.value, value):
                    assembly.note(upper, finding)
            value = merge(value, upper.value)
        documents = assembly.documents if complete else assembly.partial
        documents.append(Document(kind, value, tuple(chain)))

    for base in bases.values():
        users = (document for document in assembly.documents if base in document.layers)
        user = next((document.value for document in users), {})
        alone = _alone(base)
        assembly.bases.append((Document(kind, alone, (base,)), _filled_up(alone, user)))

    assembly.unused = [
        base for path, base in sorted(bases.items()) if path not in assembly.users
    ]
    if not assembly.partial and not unreadable:  # else one of those may use the base
        finding = Finding(
            "extends.unused",
            (),
            f"no {kind} builds on this file",
            "bases that are used, or no `_`",
        )
        assembly.findings += [(base, finding) for base in assembly.unused]
    return assembly


def _has(base: Layer, lacking: list[Finding]) -> bool:
    for finding in lacking:
        try:
            at(base.value, (*finding.pointer, str(finding.missing)))
        except (KeyError, IndexError):
            return False
    return True


def _alone(layer: Layer) -> Json:
    """Return what a layer says by itself.

    Where it builds on another, its nulls are left out: they only remove something
    there.
    """
    has_base = isinstance(layer.value, dict) and layer.value.get("extends") is not None
    return merge({}, layer.value) if has_base else layer.value


def _filled_up(value: Json, more: Json) -> Json:
    """Return a value with the keys that only ``more`` has, at every level."""
    if not (isinstance(more, dict) and isinstance(value, dict)):
        return value
    own = {key: _filled_up(item, more.get(key)) for key, item in value.items()}
    return {**more, **own}


def useless_nulls(
    patch: Json, target: Json, pointer: Pointer = ()
) -> Iterator[Finding]:
    """Yield a finding for every null of a patch that removes nothing."""
    below = target if isinstance(target, dict) else {}
    for key, value in patch.items() if isinstance(patch, dict) else ():
        if value is not None:
            yield from useless_nulls(value, below.get(key), (*pointer, key))
        elif key not in below:
            message = f"null removes nothing: what this file builds on has no {shown(key)} here"
            allowed = listed(below) or "no null"
            yield Finding(
                "extends.null",
                (*pointer, key),
                message,
                allowed,
                "",
                nearest(key, below),
                on_key=True,
            )


def _chain(
    layer: Layer,
    bases: Mapping[str, Layer],
    unreadable: frozenset[str],
    assembly: Assembly,
) -> tuple[list[Layer], bool]:
    """Return a document's layers, the deepest base first, and whether all are there.

    A base that is missing, or that would close a cycle, ends the chain and is reported.
    """
    chain = [layer]
    while (
        isinstance(chain[0].value, dict)
        and (named := chain[0].value.get("extends")) is not None
    ):
        path, finding = "", None
        if not isinstance(named, str):
            # In the document's own layer the schema reports this. It cannot in a base:
            # the merged document has only the last `extends` of all.
            if len(chain) > 1:
                found = f"{shown(named)} is no file's name"
                finding = Finding(
                    "extends.missing", ("extends",), found, "a file's name"
                )
        else:
            path = posixpath.normpath(
                posixpath.join(posixpath.dirname(chain[0].path), named)
            )
            finding = _wrong_base(path, named, chain, bases, unreadable)
        if path:
            assembly.users[path].add(layer.path)
        if finding:
            assembly.note(chain[0], finding)
        if finding or path not in bases:
            return chain, False
        chain.insert(0, bases[path])
    return chain, True


def _wrong_base(
    path: str,
    named: str,
    chain: list[Layer],
    bases: Mapping[str, Layer],
    unreadable: frozenset[str],
) -> Finding | None:
    """Return what is wrong with building on the file ``path`` next, or None.

    ``named``: what `extends` says, relative to the file that says it. An unreadable
    file has its problem already.
    """
    folder = posixpath.dirname(chain[0].path)
    if any(part.path == path for part in chain[:-1]):
        return Finding(
            "extends.cycle",
            ("extends",),
            f"{shown(named)} builds on itself, by way of this file",
            "no cycle",
        )
    if path in bases or path in unreadable:
        return None
    beside = [
        posixpath.basename(base)
        for base in (*bases, *unreadable)
        if posixpath.dirname(base) == folder
    ]
    names = sorted(name for name in beside if name.startswith("_"))
    allowed = "a file in the same folder whose name begins with _"
    if names:
        allowed = "one of " + ", ".join(names)
    message = f"there is no base {shown(named)}"
    return Finding(
        "extends.missing",
        ("extends",),
        message,
        allowed,
        nearest=nearest(named, names),
        absent=("base", "", path),
    )
