"""How many processors a service may use: its affinity, and the quota of its cgroups."""

from collections.abc import Iterator
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
    quotas = list(_quotas(root))
    return max(1, min([affinity(), *(ceil(quota) for quota in quotas)]))


def _quotas(root: Path) -> Iterator[float]:
    """Yield the quota, in processors, of each cgroup around this process that has one.

    /proc/self/cgroup has a line `number:controllers:path` for each hierarchy; `0::path`
    is version 2 (cgroups(7)). A group's limit holds for the groups below it, so all of
    the path's folders are read. In a container the path may be the host's, while only
    the container's own group can be seen, at the top.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        return
    mounted = root / "sys/fs/cgroup"
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            tops, read = (mounted, mounted / "unified"), _version_2
        elif "cpu" in controllers.split(","):
            tops, read = (mounted / controllers, mounted / "cpu"), _version_1
        else:
            continue
        group = Path(path.lstrip("/"))
        for top in tops:
            for folder in (top / group, *(top / parent for parent in group.parents)):
                if (quota := read(folder)) is not None:
                    yield quota


def _version_2(folder: Path) -> float | None:
    """Read `cpu.max` of a group: `quota period`, or `max period` without a limit."""
    try:
        quota, period = (folder / "cpu.max").read_text(encoding="ascii").split()
        return int(quota) / int(period)
    except (OSError, ValueError):
        return None


def _version_1(folder: Path) -> float | None:
    """Read `cpu.cfs_quota_us` of a group, which is -1 without a limit."""
    try:
        quota = int((folder / "cpu.cfs_quota_us").read_text(encoding="ascii"))
        period = int((folder / "cpu.cfs_period_us").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    return quota / period if quota > 0 else None
