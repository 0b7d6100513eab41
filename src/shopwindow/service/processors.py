"""How many processors a service may use: those it may run on, and what its cgroup allows of
them.
"""

from collections.abc import Iterator
from math import ceil
from pathlib import Path

from shopwindow.content.processes import processors as affine

ROOT = Path("/")


def processors(root: Path = ROOT) -> int:
    """The processors that this process may run on, or its quota of processor time where that is
    less; at least one.

    A quota of one and a half is two: a worker less would leave the half unused. ``root`` holds
    `proc` and `sys`.
    """
    quotas = list(_quotas(root))
    return max(1, min([affine(), *(ceil(quota) for quota in quotas)]))


def _quotas(root: Path) -> Iterator[float]:
    """Processors' worth of time, of each cgroup with a limit that this process is in.

    /proc/self/cgroup has a line `number:controllers:path` for each hierarchy; `0::path` is
    version 2 (cgroups(7)). A limit of a group holds for those below it. In a container the path
    may be the host's, of which nothing but the container's own group is to be seen, at the top.
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
    """`cpu.max` is `quota period`, or `max period`."""
    try:
        quota, period = (folder / "cpu.max").read_text(encoding="ascii").split()
        return int(quota) / int(period)
    except (OSError, ValueError):
        return None


def _version_1(folder: Path) -> float | None:
    """`cpu.cfs_quota_us` is -1 without a limit."""
    try:
        quota = int((folder / "cpu.cfs_quota_us").read_text(encoding="ascii"))
        period = int((folder / "cpu.cfs_period_us").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    return quota / period if quota > 0 else None
