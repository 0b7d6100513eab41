"""How many processors a service may use: its affinity, and the quota of its cgroups."""

from collections.abc import Iterator
from contextlib import suppress
from math import ceil
from pathlib import Path

from shopwindow.content.reading.processes import processors as affinity

SYSTEM_ROOT = Path("/")
"""The folder that has `proc` and `sys`; tests have another one."""


def processors(root: Path = SYSTEM_ROOT) -> int:
    """Return the number of processors that this process may use, at least one.

    That is the smaller of those that it may run on and its quota of processor time. A
    quota of one and a half counts as two, because one worker would leave the half
    unused.
    """
    return min([affinity(), *map(ceil, _quotas(root))])


def _quotas(root: Path) -> Iterator[float]:
    """Yield the quota, in processors, of each cgroup around this process that has one
    (version 2, cgroups(7)).

    /proc/self/cgroup names the process's own group: `0::path`. A group's limit holds
    for the groups below it, so all of the path's folders are read. In a container the
    path may be the host's, while only the container's own group can be seen, at the
    top.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        return
    top = root / "sys/fs/cgroup"
    for line in lines:
        if not line.startswith("0::/"):
            continue
        group = Path(line.removeprefix("0::/"))
        for parent in (group, *group.parents):
            # `quota period`, or `max period` without a limit
            with suppress(OSError, ValueError):
                quota, period = (top / parent / "cpu.max").read_text().split()
                yield int(quota) / int(period)
