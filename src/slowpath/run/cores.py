# SPDX-License-Identifier: Apache-2.0
"""Cores and nodes that this job may use, and what a launcher is asked for to place ranks on them."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path

from slowpath.core.cpu_list import format_cpu_list, parse_cpu_list
from slowpath.core.plan import Placement
from slowpath.mpi.batch_systems import NodeAllocation, find_allocation
from slowpath.mpi.launchers import WIDENED, Launcher, RankPlacement, unavailable_binding, unavailable_place
from slowpath.mpi.place import Groups, processor_groups
from slowpath.plan.campaign import Nodes

SYSTEM = Path("/sys/devices/system/cpu")


def allowed_cores(system: Path = SYSTEM, processors: frozenset[int] | None = None) -> int:
    """Physical cores among the processors that this process may run on; processors where no cores are reported.

    Launchers count cores, not hardware threads, when they decide that there are more ranks than places.

    Args: processors: others than those that this process may run on.
    """
    return len(_one_a_core(inherited_processors() if processors is None else processors, system))


def _one_a_core(processors: frozenset[int], system: Path) -> tuple[int, ...]:
    """The first of these processors of each core, in order."""
    first: dict[str, int] = {}
    for cpu in sorted(processors):
        try:
            siblings = (system / f"cpu{cpu}/topology/thread_siblings_list").read_text().strip()
        except OSError:
            siblings = str(cpu)
        first.setdefault(siblings, cpu)
    return tuple(first.values())


def inherited_processors() -> frozenset[int]:
    """Processors that this process, and what it starts, may run on."""
    return frozenset(os.sched_getaffinity(0))


def granted_processors(environ: Mapping[str, str], system: Path = SYSTEM) -> frozenset[int]:
    """Processors that the kernel grants a process that asks for all of the node: its cpuset, whatever it inherited.

    Inside a batch job those that were inherited: others may be another job's, whether or not the kernel guards them.
    """
    if find_allocation(environ) is not None:
        return inherited_processors()
    try:
        online = parse_cpu_list((system / "online").read_text())
    except OSError:
        online = frozenset(range(os.cpu_count() or 1))
    found = set(inherited_processors())

    def ask() -> None:
        try:
            os.sched_setaffinity(0, online | found)
        except OSError:
            return
        found.update(os.sched_getaffinity(0))

    asking = threading.Thread(target=ask)  # a mask is a thread's own, so that this one keeps what it inherited
    asking.start()
    asking.join()
    return frozenset(found)


def kept_within(environ: Mapping[str, str], system: Path = SYSTEM) -> tuple[int, ...]:
    """Processors to bind ranks to, one a core, where this process may use fewer than the kernel grants; else none.

    MPICH's and Open MPI's launchers bind to the first cores of the node, whatever mask they inherit: two runs side by
    side under taskset would share them.
    """
    mine = inherited_processors()
    return _one_a_core(mine, system) if mine < granted_processors(environ, system) else ()


def widening(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Words before a launcher that may use all processors that the kernel grants."""
    return ("taskset", "-c", format_cpu_list(sorted(granted_processors(environ))))


def allocated_nodes(environ: Mapping[str, str]) -> int:
    """Nodes of the batch system's allocation; 1 without one.  Raises: as find_allocation."""
    found = find_allocation(environ)
    return found.nodes if found else 1


def nodes_at_hand(environ: Mapping[str, str]) -> tuple[int, tuple[str, ...]]:
    """Return the number of nodes that a launcher can use, and their names; no names where nothing states them.

    Raises: as find_allocation.
    """
    nodes = nodes_of(find_allocation(environ))
    return nodes.count, nodes.names


# From a plan's placement to what a launcher is asked for.


def nodes_of(allocation: NodeAllocation | None) -> Nodes:
    """Return what the planner has to know of an allocation; outside of any, this node alone."""
    return Nodes(allocation.nodes, allocation.names) if allocation else Nodes()


def place_of(placement: Placement, ranks: int = 0, within: tuple[int, ...] = ()) -> RankPlacement:
    """Return where the ranks are asked to go.

    Args: within: processors that they are kept on, if these hold all ranks and no other place is asked for.
    """
    is_open = placement.spread in (None, "core") and placement.nodes is None and not placement.hosts
    kept = within if is_open and len(within) >= ranks else ()
    return RankPlacement(placement.spread, placement.nodes, placement.ranks_per_node, tuple(placement.hosts), kept)


def cores_for(placement: Placement, cores: int, nodes: int) -> int:
    """Return the cores on the nodes that the placement uses, of `cores` on all `nodes` together."""
    return cores if placement.nodes is None else max(1, cores // max(1, nodes) * min(nodes, placement.nodes))


def unavailable_placement(launcher: Launcher, placement: Placement, groups: Groups | None = None) -> str | None:
    """Why `launcher` can't put ranks there on nodes like this one; None if it can.

    groups: of this node's processors; None: they are looked up.
    """
    reason = unavailable_binding(launcher, placement.bind) or unavailable_place(launcher, place_of(placement))
    if placement.bind == WIDENED and shutil.which("taskset") is None:
        reason = f"placement '{placement.name}' needs taskset (util-linux), and there is none"
    if reason is not None or placement.spread in (None, "core"):
        return reason
    there = (processor_groups() if groups is None else groups).get(str(placement.spread))
    if there is not None and len(there) < 2:
        words = str(placement.spread).replace("_", " ")
        return f"placement '{placement.name}' needs two {words}s in a node, and the processors here are all in one"
    return None
