# SPDX-License-Identifier: Apache-2.0
"""Whether ranks have a processor each, by the lists that the engine recorded. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slowpath.core.cpu_list import parse_cpu_list


def shared(ranks: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the ranks of a node have fewer processors than there are of them."""
    by_host: dict[str, list[frozenset[int]]] = {}
    for one in ranks:
        by_host.setdefault(one["host"], []).append(parse_cpu_list(one.get("cpus_allowed")))
    return any(all(sets) and len(frozenset().union(*sets)) < len(sets) for sets in by_host.values())


def wide(ranks: Sequence[Mapping[str, Any]]) -> bool:
    """Whether some rank may run on more than one processor."""
    return any(len(parse_cpu_list(one.get("cpus_allowed"))) > 1 for one in ranks)
