# SPDX-License-Identifier: Apache-2.0
"""Lists of processors as the engine records them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def processors(text: str | None) -> frozenset[int]:
    """ "0-2,5" -> {0, 1, 2, 5}; empty where nothing, or nothing that can be read, was recorded."""
    found: set[int] = set()
    for part in filter(None, (text or "").split(",")):
        first, _, last = part.strip().partition("-")
        if not first.isdecimal() or (last and not last.isdecimal()):
            return frozenset()
        found |= set(range(int(first), int(last or first) + 1))
    return frozenset(found)


def shared(ranks: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the ranks of a node have fewer processors than there are of them."""
    by_host: dict[str, list[frozenset[int]]] = {}
    for one in ranks:
        by_host.setdefault(one["host"], []).append(processors(one.get("cpus_allowed")))
    return any(all(sets) and len(frozenset().union(*sets)) < len(sets) for sets in by_host.values())


def wide(ranks: Sequence[Mapping[str, Any]]) -> bool:
    """Whether some rank may run on more than one processor."""
    return any(len(processors(one.get("cpus_allowed"))) > 1 for one in ranks)
