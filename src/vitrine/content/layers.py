"""Documents that build on others: `extends`, and merging by RFC 7396. Pure."""

import posixpath
from collections import defaultdict
from collections.abc import Iterator, Mapping
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
    ``bases`` are the bases alone, without the nulls that remove something: what each says, all may have replaced; and
    each with what it lacks of an application, from one that builds on it.
    ``users`` names the files that build on a file, directly or not.
    """

    documents: list[Document] = field(default_factory=list)
    partial: list[Document] = field(default_factory=list)
    bases: list[tuple[Document, Json]] = field(default_factory=list)
    findings: list[tuple[Layer, Finding]] = field(default_factory=list)
    users: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def note(self, layer: Layer, finding: Finding) -> None:
        """Something is wrong with a layer, by whichever way it was come to."""
        if (layer, finding) not in self.findings:
            self.findings.append((layer, finding))


def assemble(layers: list[Layer], bases: Mapping[str, Layer], unreadable: frozenset[str]) -> Assembly:
    """Every layer that is no base with the bases that it builds on, merged.

    ``bases`` is keyed by path; ``unreadable`` are the files, bases or not, that have their problem already.
    """
    assembly = Assembly()
    for layer in layers:
        chain, whole = _chain(layer, bases, unreadable, assembly)
        value = _alone(chain[0])
        for part in chain[1:]:
            for finding in _vain(part.value, value, ()) if whole else ():
                assembly.note(part, finding)
            value = merge(value, part.value)
        (assembly.documents if whole else assembly.partial).append(Document("app", value, tuple(chain)))
    for base in bases.values():
        user = next((document.value for document in assembly.documents if base in document.layers), {})
        alone = _alone(base)
        assembly.bases.append((Document("app", alone, (base,)), _laid_over(user, alone)))
    unused = set(bases) - set(assembly.users)
    for path in sorted(unused if not assembly.partial and not unreadable else ()):
        finding = Finding("extends.unused", (), "no application builds on this file", "bases that are used, or no `_`")
        assembly.findings.append((bases[path], finding))
    return assembly


def _alone(layer: Layer) -> Json:
    """What a layer says by itself: null removes something where it builds on another, and is a value elsewhere."""
    builds = isinstance(layer.value, dict) and layer.value.get("extends") is not None
    return merge({}, layer.value) if builds else layer.value


def _laid_over(below: Json, value: Json) -> Json:
    """A value, and what another one has besides."""
    if not (isinstance(below, dict) and isinstance(value, dict)):
        return value
    return {**below, **{key: _laid_over(below.get(key), item) for key, item in value.items()}}


def _vain(patch: Json, target: Json, pointer: Pointer) -> Iterator[Finding]:
    """The nulls of a patch that remove nothing."""
    known = target if isinstance(target, dict) else {}
    for key, value in patch.items() if isinstance(patch, dict) else ():
        if value is not None:
            yield from _vain(value, known.get(key), (*pointer, key))
        elif key not in known:
            found = f"null removes nothing: what this file builds on has no {shown(key)} here"
            allowed = ", ".join(list(known)[:40]) or "no null"
            yield Finding("extends.null", (*pointer, key), found, allowed, "", nearest(key, known), on_key=True)


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
        if finding:
            assembly.note(chain[0], finding)
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
        return Finding(
            "extends.cycle", ("extends",), f"{shown(named)} builds on itself, by way of this file", "no cycle"
        )
    if path in bases or path in unreadable:
        return None
    there = [posixpath.basename(base) for base in (*bases, *unreadable) if posixpath.dirname(base) == folder]
    known = sorted(name for name in there if name.startswith("_"))
    allowed = ("one of " + ", ".join(known)) if known else "a file in the same folder whose name begins with _"
    found = f"there is no base {shown(named)}"
    return Finding("extends.missing", ("extends",), found, allowed, "", nearest(named, known))


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
