# SPDX-License-Identifier: Apache-2.0
"""SP063: ranks of one host are in different user namespaces, so that none may copy from another's memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from slowpath.findings.program_pattern import NONE, ProgramCalls, ProgramSlowPath, SeenPattern

LONG_BYTES = 16 * 1024  # from which on libraries copy once where they may
S_PER_BYTE = (1e-10, 0.0, 4e-10)  # what the second copy takes: value, low, high


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """All hosts with more than one namespace."""
    spaces: dict[str, set[int]] = defaultdict(set)
    own: dict[int, tuple[str, int]] = {}
    for share in calls.resources.ranks if calls.resources is not None else ():
        if share.namespace is not None:
            spaces[share.host].add(share.namespace)
            own[share.rank] = (share.host, share.namespace)
    hosts = [host for host, found in spaces.items() if len(found) > 1]
    if not hosts:
        return ()
    long_bytes = _long_bytes(calls, own)
    value, low, high = (long_bytes * each / max(calls.ranks, 1) for each in S_PER_BYTE)
    more = f" (and of {len(hosts) - 1} more hosts)" if len(hosts) > 1 else ""
    return [
        SeenPattern(
            sites=(),
            count=len(own),
            text=f"the ranks of {hosts[0]}{more} are in {len(spaces[hosts[0]])} user namespaces: none may copy from "
            "another's memory, so messages take two copies through shared memory",
            change="start all ranks of a host in one user namespace: unshare or the container in front of the "
            "launcher, or a container without its own",
            basis="0.1 ns (0 to 0.4 ns) for the second copy of each byte of messages from 16 KiB on between them",
            more_s=(value, low, high),
            reported=True,
        )
    ]


def _long_bytes(calls: ProgramCalls, own: dict[int, tuple[str, int]]) -> float:
    """Of long messages between ranks of one host in different namespaces."""
    messages, hosts = calls.messages, sorted({host for host, _ in own.values()})
    host, space = np.full(calls.ranks, NONE), np.full(calls.ranks, NONE)
    for rank, (name, number) in own.items():
        if rank < calls.ranks:
            host[rank], space[rank] = hosts.index(name), number
    inside = (messages.source >= 0) & (messages.destination >= 0) & (messages.sent != NONE)
    inside &= (messages.source < calls.ranks) & (messages.destination < calls.ranks)
    rows = np.flatnonzero(inside & (messages.bytes >= LONG_BYTES))
    source, destination = messages.source[rows], messages.destination[rows]
    apart = (host[source] == host[destination]) & (host[source] != NONE) & (space[source] != space[destination])
    return float((messages.bytes[rows] * calls.weight[messages.sent[rows]])[apart].sum())


SLOW_PATH: ProgramSlowPath = ProgramSlowPath(
    code="SP063",
    name="ranks in different user namespaces",
    title="Ranks of one host are in different user namespaces",
    what="Each rank runs in a user namespace of its own, so the kernel refuses process_vm_readv between them, and "
    "libraries copy twice through shared memory.",
    needs="A watched program whose records say which user namespace each rank is in.",
    remedy="All ranks of a host in one user namespace: start the container, or unshare, in front of the launcher.",
    cause="The kernel refuses copies across user namespaces.",
    needs_law=False,
    kind="fault",
    pattern=see,
)
