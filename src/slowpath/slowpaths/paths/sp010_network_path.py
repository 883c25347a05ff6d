# SPDX-License-Identifier: Apache-2.0
"""SP010: messages inside a node that take the network's path, and nodes whose own path is slower than it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from slowpath.core.finding_results import Rival
from slowpath.findings.facts import Facts, Slowdown, number
from slowpath.findings.laws import difference_law
from slowpath.findings.observed import Wording, grouped, place_key, slowdown_observed
from slowpath.findings.slow_path import ALONE, Observation, SlowPath, Support, leaving
from slowpath.findings.witness import NOT_COUNTED, SINGLE_COPY, calls, sides, socket_bytes

_STATE = "network_path"
FORCED = "network path"
OWN = "path inside the node"


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts of environments, one of which is made to take the network's path inside a node."""
    found = [slowdown for slowdown in facts.slowdowns("environment", phase="steady") if _slow_side(facts, slowdown)]
    groups = grouped(found, lambda one: (_slow_side(facts, one), *place_key(one.slow, "environment")))
    return [_observation(facts, group) for group in groups]


def _slow_side(facts: Facts, one: Slowdown) -> str | None:
    """Which path the slow side takes; None: the contrast is not about it."""
    slow, fast = (facts.setting(cell) == _STATE for cell in (one.slow, one.fast))
    if slow and facts.as_found(one.fast):
        return FORCED
    return OWN if fast and facts.as_found(one.slow) else None


def _observation(facts: Facts, group: Sequence[Slowdown]) -> Observation:
    default = facts.is_default(group[0].slow)
    wording = (
        Wording("{size}messages inside the node through the network path", "over the library's own", FORCED, default)
        if _slow_side(facts, group[0]) == FORCED
        else Wording(
            "{size}messages through the library's own path inside the node", "over the network's", OWN, default
        )
    )
    return slowdown_observed(facts, group, wording, partial(difference_law, minimum_effect=facts.minimum_effect))


def witnesses(facts: Facts, seen: Observation) -> Support:
    """Bytes through sockets on one side alone, or calls of a single copy that differ."""
    slow, fast = sides(facts, seen)
    network, own = (slow, fast) if seen.about == FORCED else (fast, slow)
    length = number(slow, "message_bytes") or 0.0
    sockets = [socket_bytes(cell, seen.phase) for cell in (network, own)]
    if sockets[0] is None or sockets[1] is None:
        return Support("missing", NOT_COUNTED)
    line = f"{sockets[0]:.4g} bytes through sockets for a message of {length:.0f} bytes, {sockets[1]:.4g} otherwise"
    if sockets[0] >= length > 0 and sockets[1] < length / 2:
        return Support("shown", "only one side sends messages through sockets", (line,))
    copies = [calls(cell, seen.phase, SINGLE_COPY, "calls_per_op") or 0.0 for cell in (network, own)]
    more = f"{copies[0]:.4g} single-copy calls per message on the network path, {copies[1]:.4g} otherwise"
    if max(copies) > 0 and max(copies) >= 2 * min(copies):
        return Support("shown", "the two paths copy messages with different calls", (line, more))
    return Support("missing", "neither sockets nor single-copy calls distinguish the two paths", (line, more))


_OTHER_CHANGES = Rival(
    name="another change of the variable",
    cause="The variable also changes something else, such as the protocol or the collective algorithm.",
)

LEAVE_NETWORK_PATH = leaving("network_path", "let messages inside a node use the library's shared memory", ALONE)

SLOW_PATH: SlowPath = SlowPath(
    code="SP010",
    name="network path in a node",
    title="Messages inside a node take the slower of two paths: shared memory or network",
    what="Inside a node messages take the library's shared memory, or the network's module: by a variable, in a "
    "container, or where the library has no shared memory.",
    needs="The same messages in the user's environment and on the network's path. Explained when counted bytes "
    "through sockets, or calls of a single copy, differ.",
    remedy="Unset what forces the path (docs/reference/remedies.md).",
    observe=observe,
    cause="Messages take the network's stack on one side and the library's own path on the other.",
    witnesses=witnesses,
    hypotheses=("messages take another path in this environment", "the node's own path is slow from this memory"),
    needs_law=False,
    kind="fault",
    rivals=(_OTHER_CHANGES,),
    probes=("paths", "short messages"),
    remedies=(*LEAVE_NETWORK_PATH,),
    forced_state="network_path",
)
