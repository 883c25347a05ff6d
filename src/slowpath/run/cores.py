# SPDX-License-Identifier: Apache-2.0
"""Cores and nodes that this job may use, and what a launcher is asked for to place ranks on them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from slowpath.core.plan import Placement
from slowpath.mpi.allocation import NodeAllocation
from slowpath.mpi.batch_systems import find_allocation
from slowpath.mpi.launcher import Launcher, RankPlacement
from slowpath.mpi.launchers import unavailable_binding, unavailable_place
from slowpath.mpi.topology import Groups, processor_groups
from slowpath.plan.places import Nodes


def allowed_cores(system: Path = Path("/sys/devices/system/cpu")) -> int:
    """Physical cores among the processors that this process may run on; processors where no cores are reported.

    Launchers count cores, not hardware threads, when they decide that there are more ranks than places.
    """
    cores = set()
    for cpu in os.sched_getaffinity(0):
        try:
            siblings = (system / f"cpu{cpu}/topology/thread_siblings_list").read_text().strip()
        except OSError:
            siblings = str(cpu)
        cores.add(siblings)
    return len(cores)


def allocated_nodes(environ: Mapping[str, str]) -> int:
    """Nodes of the batch system's allocation; 1 without one.  Raises: as find_allocation."""
    found = find_allocation(environ)
    return found.nodes if found else 1


# From a plan's placement to what a launcher is asked for.


def nodes_of(allocation: NodeAllocation | None) -> Nodes:
    """Return what the planner has to know of an allocation; outside of any, this node alone."""
    return Nodes(allocation.nodes, allocation.names) if allocation else Nodes()


def place_of(placement: Placement) -> RankPlacement:
    """Return where the ranks are asked to go."""
    return RankPlacement(placement.spread, placement.nodes, placement.ranks_per_node, tuple(placement.hosts))


def cores_for(placement: Placement, cores: int, nodes: int) -> int:
    """Return the cores on the nodes that the placement uses, of `cores` on all `nodes` together."""
    return cores if placement.nodes is None else max(1, cores // max(1, nodes) * min(nodes, placement.nodes))


def unavailable_placement(launcher: Launcher, placement: Placement, groups: Groups | None = None) -> str | None:
    """Why `launcher` can't put ranks there on nodes like this one; None if it can.

    groups: of this node's processors; None: they are looked up.
    """
    reason = unavailable_binding(launcher, placement.bind) or unavailable_place(launcher, place_of(placement))
    if reason is not None or placement.spread in (None, "core"):
        return reason
    there = (processor_groups() if groups is None else groups).get(str(placement.spread))
    if there is not None and len(there) < 2:
        words = str(placement.spread).replace("_", " ")
        return f"placement '{placement.name}' needs two {words}s in a node, and the processors here are all in one"
    return None
