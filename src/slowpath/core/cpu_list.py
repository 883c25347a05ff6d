# SPDX-License-Identifier: Apache-2.0
"""Lists of processors in the kernel's format, `0-2,5` (cpuset(7), "List format"). Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from slowpath.core.limits import MOST_CPUS

_NUMBER = re.compile("[0-9]{1,18}")  # a range of more is none that Python can count


def parse_cpu_list(text: str | None) -> frozenset[int]:
    """`0-2,5` -> {0, 1, 2, 5}; empty where nothing was recorded, or nothing that can be read."""
    ranges = _ranges(text)
    if any(cpus and cpus[-1] >= MOST_CPUS for cpus in ranges):
        return frozenset()
    return frozenset(itertools.chain.from_iterable(ranges))


def count_cpus(text: str | None) -> int | None:
    """`0-2,5` -> 4; None: nothing that can be read. Counted by the ends of its ranges, which may be of any length."""
    return sum(map(len, _ranges(text))) or None


def _ranges(text: str | None) -> list[range]:
    """Empty where a part can't be read."""
    found = []
    for part in (text or "").split(","):
        first, dash, last = part.strip().partition("-")
        if not (_NUMBER.fullmatch(first) and _NUMBER.fullmatch(last if dash else first)):
            return []
        found.append(range(int(first), int(last if dash else first) + 1))
    return found


def format_cpu_list(numbers: Sequence[int]) -> str:
    """[0, 1, 2, 5] -> `0-2,5`. numbers: ascending."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in parts)
