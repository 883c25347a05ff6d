# SPDX-License-Identifier: Apache-2.0
"""What is planted: for each library values that somebody other than the user could force. Pure.

A plant is a slow default only where it costs something on the machine at hand, which is measured first.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Plant:
    """Variables that a file of the site sets for each rank.

    undone_by: variables that undo it as well, whatever value they set; besides each variable of its own that is set
    to another value.
    """

    library: str
    name: str
    variables: Mapping[str, str]
    undone_by: tuple[str, ...] = field(default=())

    @property
    def label(self) -> str:
        """`openmpi-smsc-without-cma`."""
        return f"{self.library}-{self.name}".replace(" ", "-")

    def is_undone_by(self, variables: Mapping[str, str]) -> bool:
        """Whether what a remedy sets takes the plant away."""
        own = any(name in variables and variables[name] != value for name, value in self.variables.items())
        return own or any(name in variables for name in self.undone_by)


def _open_mpi(name: str, variables: Mapping[str, str], *undone_by: str) -> Plant:
    named = {f"OMPI_MCA_{key}": value for key, value in variables.items()}
    return Plant("openmpi", name, named, tuple(f"OMPI_MCA_{key}" for key in undone_by))


def _mpich(name: str, variables: Mapping[str, str], *undone_by: str) -> Plant:
    named = {f"MPIR_CVAR_{key}": value for key, value in variables.items()}
    return Plant("mpich", name, named, tuple(f"MPIR_CVAR_{key}" for key in undone_by))


def _intel(name: str, variables: Mapping[str, str], *undone_by: str) -> Plant:
    named = {f"I_MPI_{key}": value for key, value in variables.items()}
    return Plant("intelmpi", name, named, tuple(f"I_MPI_{key}" for key in undone_by))


# Another algorithm of the collective, or another path for all collectives, leaves a forced algorithm aside.
_OTHER_COLLECTIVES = ("DEVICE_COLLECTIVES", "POSIX_NUM_COLLS_THRESHOLD", "ALLREDUCE_POSIX_INTRA_ALGORITHM")
_RULES = {"coll_tuned_use_dynamic_rules": "1"}

PLANTS: tuple[Plant, ...] = (
    _open_mpi("btl tcp", {"btl": "tcp,self"}, "pml"),
    _open_mpi("btl without sm", {"btl": "^sm"}, "pml"),
    _open_mpi("smsc without cma", {"smsc": "^cma"}),
    _open_mpi("coll without tuned", {"coll": "^tuned"}),
    _open_mpi("coll basic alone", {"coll": "basic,libnbc,self,inter"}),
    _open_mpi("coll sync first", {"coll_sync_priority": "95", "coll_sync_barrier_before": "1"}, "coll"),
    _open_mpi("coll han first", {"coll_han_priority": "95"}, "coll"),
    _open_mpi("osc rdma", {"osc": "rdma"}),
    _open_mpi("osc without sm", {"osc": "^sm"}),
    _open_mpi("allreduce linear", {**_RULES, "coll_tuned_allreduce_algorithm": "1"}, "coll", "coll_sm_priority"),
    _open_mpi("allreduce by parts", {**_RULES, "coll_tuned_allreduce_algorithm": "5"}, "coll", "coll_sm_priority"),
    _open_mpi("sm short fragments", {"btl_sm_max_send_size": "4096", "smsc": "^cma"}),
    _open_mpi("sm fast boxes off", {"btl_sm_fbox_threshold": "4294967295"}),
    _open_mpi("yield when idle", {"mpi_yield_when_idle": "1"}),
    _open_mpi("pml cm", {"pml": "cm", "mtl": "ofi", "btl": "self"}, "pml"),
    _mpich("no local", {"NOLOCAL": "1"}),
    _mpich("CMA off", {"CH4_CMA_ENABLE": "0"}),
    _mpich("CMA from 4 MiB", {"CH4_IPC_CMA_P2P_THRESHOLD": "4194304"}),
    _mpich("shared collectives never", {"POSIX_NUM_COLLS_THRESHOLD": "1000000000"}, *_OTHER_COLLECTIVES),
    _mpich("collectives of MPICH alone", {"DEVICE_COLLECTIVES": "none"}),
    _mpich("allreduce ring", {"ALLREDUCE_INTRA_ALGORITHM": "ring"}, *_OTHER_COLLECTIVES),
    _mpich("allreduce by parts", {"ALLREDUCE_INTRA_ALGORITHM": "reduce_scatter_allgather"}, *_OTHER_COLLECTIVES),
    _mpich("small cells", {"CH4_SHM_POSIX_IQUEUE_CELL_SIZE": "1024", "CH4_CMA_ENABLE": "0"}),
    _mpich("few cells", {"CH4_SHM_POSIX_IQUEUE_NUM_CELLS": "2", "CH4_CMA_ENABLE": "0"}),
    _mpich("progress throttle", {"CH4_PROGRESS_THROTTLE": "1"}),
    _mpich("yield at once", {"POLLS_BEFORE_YIELD": "1"}),
    _mpich("progress thread", {"ASYNC_PROGRESS": "1"}),
    _mpich("one-sided drops targets", {"CH4_RMA_MEM_EFFICIENT": "1"}),
    _intel("fabrics ofi", {"FABRICS": "ofi"}),
    _intel("allreduce 1", {"ADJUST_ALLREDUCE": "1"}, "COLL_INTRANODE"),
    _intel("allreduce 5", {"ADJUST_ALLREDUCE": "5"}, "COLL_INTRANODE"),
    _intel("allreduce 9", {"ADJUST_ALLREDUCE": "9"}, "COLL_INTRANODE"),
    _intel("collectives by messages", {"COLL_INTRANODE": "pt2pt"}, "ADJUST_ALLREDUCE"),
    _intel("wait mode", {"WAIT_MODE": "1"}),
    _intel("sleeping wait", {"THREAD_YIELD": "3", "THREAD_SLEEP": "50"}),
    _intel("progress thread", {"ASYNC_PROGRESS": "1"}),
    _intel("small cells", {"SHM_CELL_FWD_SIZE": "1024"}),
    _intel("long pauses", {"SHM_PAUSE": "20000"}),
    _intel("shm of an old processor", {"SHM": "bdw_sse"}),
)


def drawn(libraries: Collection[str], count: int, seed: int, costs: Mapping[str, bool]) -> list[Plant]:
    """Return the plants of a campaign: libraries in turn, each plant of one in random order, then again from the start.

    Args: costs: label of a plant -> whether it is slower here; one without an entry was not measured, and is left out.
    """
    chance = random.Random(seed)
    of: dict[str, Sequence[Plant]] = {}
    for library in libraries:
        slow = [plant for plant in PLANTS if plant.library == library and costs.get(plant.label)]
        of[library] = chance.sample(slow, len(slow))
    most = max(map(len, of.values()), default=0)
    in_turn = [plants[place] for place in range(most) for plants in of.values() if place < len(plants)]
    times = -(-count // len(in_turn)) if in_turn else 0
    return (in_turn * times)[:count]
