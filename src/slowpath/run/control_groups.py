# SPDX-License-Identifier: Apache-2.0
"""What the control groups of this process (cgroup v1 and v2) leave it: processor time and memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_NO_LIMIT = 2**60  # bytes or us: version 1 states a number of pages that no machine has


@dataclass(frozen=True)
class GroupLimits:
    """Of this process' groups and those above the one that leaves least; None: no limit, or it can't be read.

    processor_quota: processors' worth of time.  stat: file that counts how often it was used up.
    """

    processor_quota: float | None = None
    stat: Path | None = None
    memory_limit_bytes: int | None = None
    memory_used_bytes: int | None = None


def group_limits(own: Path = OWN, root: Path = ROOT) -> GroupLimits:
    """Read them. Args: own: as /proc/self/cgroup.  root: as /sys/fs/cgroup."""
    groups = _groups(own)
    quotas = sorted(_quotas(groups, root), key=lambda one: one[0])
    limits = sorted(_memory(groups, root), key=lambda one: one[0] - (one[1] or 0))
    quota, stat = quotas[0] if quotas else (None, None)
    limit, used = limits[0] if limits else (None, None)
    return GroupLimits(quota, stat, limit, used)


def still_s(stat: Path | None) -> float | None:
    """For how long processors of the group were stopped so far because its quota was used up, added up; None: unknown.

    Version 2 counts us, version 1 ns.
    """
    try:
        counts = dict(line.split(maxsplit=1) for line in (stat.read_text() if stat else "").splitlines())
        if "throttled_usec" in counts:
            return int(counts["throttled_usec"]) * 1e-6
        return int(counts["throttled_time"]) * 1e-9 if "throttled_time" in counts else None
    except (OSError, ValueError):
        return None


def _groups(own: Path) -> dict[str, str]:
    """Controller -> path of the group; "": that of version 2."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return {}
    rows = [line.split(":", 2) for line in lines if line.count(":") >= 2]
    return {controller: path for _, controllers, path in rows for controller in controllers.split(",")}


def _folders(hierarchy: Path, path: str | None) -> Iterator[Path]:
    """Of a group and of all above it. In a container the path may be another one's, and only the last is there."""
    if path is None:
        return
    words = [word for word in path.split("/") if word and word != ".."]
    for count in range(len(words), -1, -1):
        yield hierarchy.joinpath(*words[:count])


def _quotas(groups: dict[str, str], root: Path) -> Iterator[tuple[float, Path]]:
    for folder in _folders(root, groups.get("")):
        quota, *period = (_text(folder / "cpu.max") or "max").split()
        if quota.isdecimal() and period and period[0].isdecimal() and int(period[0]) > 0:
            yield int(quota) / int(period[0]), folder / "cpu.stat"
    for folder in _folders(root / "cpu", groups.get("cpu")):
        quota_us, period_us = (_number(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period"))
        if quota_us and period_us:
            yield quota_us / period_us, folder / "cpu.stat"


def _memory(groups: dict[str, str], root: Path) -> Iterator[tuple[int, int | None]]:
    files = (
        (root, "", "memory.max", "memory.current"),
        (root / "memory", "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    )
    for hierarchy, controller, limit_file, used_file in files:
        for folder in _folders(hierarchy, groups.get(controller)):
            limit = _number(folder / limit_file)
            if limit is not None:
                yield limit, _number(folder / used_file)


def _number(path: Path) -> int | None:
    """None: there is none, or it stands for no limit."""
    text = _text(path)
    return int(text) if text and text.isdecimal() and int(text) < _NO_LIMIT else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return None
