# SPDX-License-Identifier: Apache-2.0
"""verdict.json of `slowpath nodes`: what is slow, and how much of the allocation was compared."""

from __future__ import annotations

import msgspec

from slowpath.studies.nodes.infer import SlowLink, SlowNode

VERDICT_SCHEMA = 1


class NodesVerdict(msgspec.Struct, frozen=True):
    """What is slow.

    silent         node -> why no job starts on it
    loaded_*       slow only while all nodes communicate, and not alone
    confirmed      whether suspicious pairs were measured again in launches of their own
    compared, pairs, launches   nodes, different pairs, and launches that gave values
    reasons        node -> why a measure of it is missing
    why            why nothing was compared; None: something was
    """

    schema: int = VERDICT_SCHEMA
    nodes: tuple[SlowNode, ...] = ()
    links: tuple[SlowLink, ...] = ()
    silent: dict[str, str] = {}
    loaded_nodes: tuple[SlowNode, ...] = ()
    loaded_links: tuple[SlowLink, ...] = ()
    confirmed: bool = False
    compared: int = 0
    pairs: int = 0
    launches: int = 0
    wall_s: float = 0.0
    reasons: dict[str, str] = {}
    notes: tuple[str, ...] = ()
    why: str | None = None
