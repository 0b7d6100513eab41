"""Documents that build on others: `extends`, and merging by RFC 7396. Pure."""

import posixpath
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from vitrine.content.model import Document, Layer, at
from vitrine.content.schema import Finding, shown
from vitrine.content.yaml import Json
from vitrine.problems import Pointer, nearest


def merge(target: Json, patch: Json) -> Json:
    """RFC 7396: objects merge by key, anything else replaces, null removes. Neither argument is changed."""
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
    """The applications, put together; what is wrong with the way they build on each other.

    ``partial`` are those that build on what is not there or cannot be read: what the rest of them says.
    ``users`` names the files that build on a file, directly or not.
    """

    documents: list[Document] = field(default_factory=list)
    partial: list[Document] = field(default_factory=list)
    findings: list[tuple[Layer, Finding]] = field(default_factory=list)
    users: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


def assemble(layers: list[Layer], bases: Mapping[str, Layer], unreadable: frozenset[str]) -> Assembly:
    """Every layer that is no base with the bases that it builds on, merged.

    ``bases`` is keyed by path; ``unreadable`` are the files, bases or not, that have their problem already.
    """
    assembly = Assembly()
    for layer in layers:
        chain, whole = _chain(layer, bases, unreadable, assembly)
        value: Json = {}
        for part in chain:
            value = merge(value, part.value)
        (assembly.documents if whole else assembly.partial).append(Document("app", value, tuple(chain)))
    unused = set(bases) - set(assembly.users)
    for path in sorted(unused if not assembly.partial and not unreadable else ()):
        finding = Finding("extends.unused", (), "no application builds on this file", "bases that are used, or no `_`")
        assembly.findings.append((bases[path], finding))
    return assembly


def _chain(
    layer: Layer, bases: Mapping[str, Layer], unreadable: frozenset[str], assembly: Assembly
) -> tuple[list[Layer], bool]:
    """The layers that make a document, the deepest base first, and whether they are all there."""
    chain = [layer]
    while isinstance(chain[0].value, dict) and (named := chain[0].value.get("extends")) is not None:
        path, finding = "", None
        if not isinstance(named, str):
            if len(chain) > 1:  # the schema looks at what is merged, and sees only the last one's
                finding = Finding("extends.missing", ("extends",), f"{shown(named)} is no file's name", "a file's name")
        else:
            path = posixpath.normpath(posixpath.join(posixpath.dirname(chain[0].path), named))
            finding = _wrong_base(path, named, chain, bases, unreadable)
        if path:
            assembly.users[path].add(layer.path)
        if finding and (chain[0], finding) not in assembly.findings:
            assembly.findings.append((chain[0], finding))
        if finding or path not in bases:
            return chain, False
        chain.insert(0, bases[path])
    return chain, True


def _wrong_base(
    path: str, named: str, chain: list[Layer], bases: Mapping[str, Layer], unreadable: frozenset[str]
) -> Finding | None:
    """What is wrong with building on the file ``path`` next; nothing more is said of an unreadable one."""
    folder = posixpath.dirname(chain[0].path)
    if any(part.path == path for part in chain[:-1]):
        return Finding("extends.cycle", ("extends",), f"{named!r} builds on itself, by way of this file", "no cycle")
    if path in bases or path in unreadable:
        return None
    known = [posixpath.relpath(base, folder or ".") for base in (*bases, *unreadable) if _is_base(base)]
    allowed = ("one of " + ", ".join(sorted(known))) if known else "a file whose name begins with _"
    return Finding("extends.missing", ("extends",), f"there is no base {named!r}", allowed, "", nearest(named, known))


def _is_base(path: str) -> bool:
    return posixpath.basename(path).startswith("_")


def origin(document: Document, finding: Finding) -> tuple[Layer, Pointer]:
    """The layer of a document that a finding is about, and where in that layer.

    The last layer that says it; what is ``missing`` after merging is the matter of the `extends` line.
    """
    top, pointer = document.layers[-1], finding.pointer
    if finding.missing is not None and len(document.layers) > 1:
        return top, ("extends",)
    for layer in reversed(document.layers):
        try:
            at(layer.value, pointer)
        except (KeyError, IndexError, TypeError):
            continue
        return layer, pointer
    return top, pointer[:1] if pointer and isinstance(top.value, dict) and pointer[0] in top.value else ()
