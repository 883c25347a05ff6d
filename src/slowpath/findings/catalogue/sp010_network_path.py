# SPDX-License-Identifier: Apache-2.0
"""SP010: messages inside a node that take the network's path, and nodes whose own path is slower than it."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.evidence import witness
from slowpath.findings.evidence.by_contrast import Said, grouped, observation, setting_key
from slowpath.findings.evidence.compared import Compared
from slowpath.findings.evidence.differences import difference_law, number
from slowpath.findings.evidence.evidence import Evidence
from slowpath.findings.rule import Leg, Observation, Rule

NETWORK = "network_path"
FORCED, OWN = "network path", "path inside the node"


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Contrasts of environments, one of which is made to take the network's path inside a node."""
    found = [one for one in evidence.decided("environment", phase="steady") if _slow_side(evidence, one)]
    groups = grouped(found, lambda one: (_slow_side(evidence, one), *setting_key(one.slow, "environment")))
    return [_observation(evidence, group) for group in groups]


def _slow_side(evidence: Evidence, one: Compared) -> str | None:
    """Which path the slow side takes; None: the contrast is not about it."""
    slow, fast = (evidence.setting(cell) == NETWORK for cell in (one.slow, one.fast))
    if slow and evidence.as_found(one.fast):
        return FORCED
    return OWN if fast and evidence.as_found(one.slow) else None


def _observation(evidence: Evidence, group: Sequence[Compared]) -> Observation:
    forced = _slow_side(evidence, group[0]) == FORCED
    usual = evidence.users_own(group[0].slow)
    said = (
        Said("A message inside the node over the network's path", "over the library's own", FORCED, usual)
        if forced
        else Said("A message by the library's own path inside the node", "over the network's path", OWN, usual)
    )
    return observation(evidence, group, said, lambda g: difference_law(g, ("message_bytes",), evidence.minimum_effect))


def witnesses(evidence: Evidence, seen: Observation) -> Leg:
    """Bytes through sockets on one side alone, or calls of a single copy that differ."""
    slow, fast = evidence.cells[seen.slow_cells[0]], evidence.cells[seen.fast_cells[0]]
    network, own = (slow, fast) if seen.about == FORCED else (fast, slow)
    length = number(slow, "message_bytes") or 0.0
    sockets = [witness.socket_bytes(cell, seen.phase) for cell in (network, own)]
    if sockets[0] is None or sockets[1] is None:
        return Leg("missing", "calls were not counted; needs a launch with witness = true")
    line = f"{sockets[0]:.4g} bytes through sockets for a message of {length:.0f} bytes, {sockets[1]:.4g} otherwise"
    if sockets[0] >= length > 0 and sockets[1] < length / 2:
        return Leg("shown", "messages go through sockets on one side alone", (line,))
    calls = [witness.calls(cell, seen.phase, witness.SINGLE_COPY, "calls_per_op") or 0.0 for cell in (network, own)]
    more = f"{calls[0]:.4g} calls of a single copy for each message over the network's path, {calls[1]:.4g} otherwise"
    if max(calls) > 0 and max(calls) >= 2 * min(calls):
        return Leg("shown", "messages are copied by different calls on the two paths", (line, more))
    return Leg("missing", "neither sockets nor calls of a single copy tell the two paths apart", (line, more))


RULE = Rule(
    code="SP010",
    name="network path in a node",
    title="Messages inside a node and the network's path",
    what="Inside a node messages can take the library's shared memory or go through the network's module.",
    shows="Over TCP or a network card messages inside a node are slower at every length; where the node's own "
    "path is the slower one, it is so for long messages from some kinds of memory.",
    why="A variable (MPIR_CVAR_NO_LOCAL, OMPI_MCA_btl, I_MPI_FABRICS), a container, or a library that has no "
    "shared memory module sends messages through the network's stack.",
    needs="The same messages in the user's environment and on the network's path. Explained when counted bytes "
    "through sockets, or calls of a single copy, differ between the two.",
    remedy="Unset what forces the path; docs/reference/remedies.md has each library's variables.",
    false_alarms="MPICH's MPIR_CVAR_NO_LOCAL alone leaves UCX its own shared memory: then it hardly differs.",
    sources=("docs/reference/launching.md", "docs/reference/metrics.md"),
    observe=observe,
    cause="Messages take the network's stack on one side and the library's own path on the other.",
    witnesses=witnesses,
    hypotheses=("messages take another path in this environment", "the node's own path is slow from this memory"),
    out_of_reach="Network cards with RDMA; on one machine the network's path is TCP or UCX's own.",
    needs_law=False,
)
