# SPDX-License-Identifier: Apache-2.0
"""Lists of processors in the kernel's format, `0-2,5` (cpuset(7), "List format"). Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from slowpath.core.limits import MOST_CPUS

_NUMBER = re.compile("[0-9]{1,9}")


def parse_cpu_list(text: str | None) -> frozenset[int]:
    """`0-2,5` -> {0, 1, 2, 5}; empty where nothing was recorded, or nothing that can be read."""
    found: set[int] = set()
    for part in (text or "").split(","):
        first, dash, last = part.strip().partition("-")
        if not (_NUMBER.fullmatch(first) and _NUMBER.fullmatch(last if dash else first)):
            return frozenset()
        if int(last or first) >= MOST_CPUS:
            return frozenset()
        found.update(range(int(first), int(last if dash else first) + 1))
    return frozenset(found)


def format_cpu_list(numbers: Sequence[int]) -> str:
    """[0, 1, 2, 5] -> `0-2,5`. numbers: ascending."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in parts)
