"""Which edges were configured from an output directory, and by which rules.

`edges.json` stands in the output directory once a configuration was printed. It says
for each edge the digest of the rules that it was printed from, as manifests have it, so
a build knows whether an edge must be configured again. It says so only of edges that
there are: whoever serves without one reads nothing of it.

The note never fails a command: where it cannot be written, the edge is not reminded of.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

from shopwindow.problems import Failure
from shopwindow.release import notes
from shopwindow.release.releases import Releases

EDGES = "edges.json"

EDGES_FORMAT = 1
"""The format of the note, which it states."""


@dataclass(frozen=True)
class ConfiguredEdge:
    """An edge that was configured.

    ``name``: that of its command, such as nginx. ``file``: the configuration, an
    absolute path; empty where it was printed. ``digest``: of the rules (edge.rules).
    """

    name: str
    file: str
    digest: str

    @property
    def again(self) -> str:
        """What its operator does once the rules are others."""
        option = f" --write {quote(self.file)}" if self.file else ""
        command = f"`shopwindow edge {self.name} …{option}`, with its options of then"
        configuration = f"{self.name}'s configuration is of another release"
        return f"{configuration}: write it again, {command}, and load it"


def record_edge(out: Path, name: str, file: Path | None) -> None:
    """Note that an edge was configured for the current release. Raises nothing.

    ``name``: nginx or worker. ``file``: where its configuration was written; None: it
    was printed. Builds and activations then say when it must be written again.
    """
    releases = Releases(out)
    with suppress(OSError, Failure):
        digest = releases.lines(releases.find("current")).edge
        written = str(file.absolute()) if file else ""
        edges = {**_noted(out), name: {"file": written, "digest": digest}}
        notes.write(out / EDGES, {"format": EDGES_FORMAT, "edges": edges})


def stale_edges(releases: Releases, id: str) -> tuple[ConfiguredEdge, ...]:
    """Return the edges whose configuration is of other rules than a release's."""
    edges = [
        ConfiguredEdge(name, str(edge["file"]), str(edge["digest"]))
        for name, edge in _noted(releases.out).items()
    ]
    if not edges:
        return ()
    digest = releases.lines(id).edge
    return tuple(edge for edge in edges if edge.digest != digest)


def _noted(out: Path) -> Mapping[str, Any]:
    """Return the note's edges by name; none where there is no note that can be read."""
    edges = notes.read(out / EDGES).get("edges")
    if not isinstance(edges, dict):
        return {}
    return {
        name: edge
        for name, edge in edges.items()
        if isinstance(edge, dict) and {"file", "digest"} <= set(edge)
    }
