# SPDX-License-Identifier: Apache-2.0
"""What an alternative is: a choice that a library makes by itself, made otherwise by variables. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from slowpath.mpi.applies import AppliesTo

# Which operations an alternative may change. A screening looks at a row only where it measures one of them.
Operation = Literal[
    "short messages",
    "long messages",
    "MPI_Allreduce",
    "MPI_Bcast",
    "MPI_Barrier",
    "one-sided",
    "partitioned",
    "messages between nodes",
    "GPU memory",
]
Known = Literal["run", "listed", "documented"]

DEVICE = "{device}"  # in a value: stands for each network device of the machine
INSIDE: tuple[Operation, ...] = ("short messages", "long messages")
EVERY_CALL: tuple[Operation, ...] = (*INSIDE, "MPI_Allreduce", "MPI_Bcast", "MPI_Barrier", "one-sided")


@dataclass(frozen=True)
class PlaceFacts:
    """Where a job runs. nodes: of its ranks.  gpus: that it can use.  devices: network devices, as the library names
    them.  listed: control variables that the library lists; None: it can't be asked.
    """

    ranks: int
    nodes: int = 1
    gpus: int = 0
    devices: tuple[str, ...] = ()
    listed: frozenset[str] | None = None


@dataclass(frozen=True)
class Where:
    """The jobs in which an alternative may change anything. least_ranks, least_nodes, least_gpus: that they have.

    shares_a_node: some of its ranks are on one node.
    """

    least_ranks: int = 2
    least_nodes: int = 1
    least_gpus: int = 0
    shares_a_node: bool = False

    def why_not(self, facts: PlaceFacts) -> str | None:
        """Why it changes nothing there; None: it may."""
        if facts.ranks < self.least_ranks:
            return f"it is for {self.least_ranks} ranks or more"
        if facts.nodes < self.least_nodes:
            return "it is for messages between nodes, and all ranks are on one"
        if facts.gpus < self.least_gpus:
            return "it is for GPU memory, and there is no GPU"
        if self.shares_a_node and facts.nodes >= facts.ranks:
            return "it is for messages inside a node, and each rank has a node of its own"
        return None

    @property
    def text(self) -> str:
        """`more than one node`."""
        parts = [
            "GPU" if self.least_gpus else "",
            "more than one node" if self.least_nodes > 1 else "ranks on one node" if self.shares_a_node else "",
            f"{self.least_ranks} ranks or more" if self.least_ranks > 2 else "",
        ]
        return ", ".join(filter(None, parts)) or "any job"


ANY_JOB = Where()
ONE_NODE = Where(shares_a_node=True)
NODES = Where(least_nodes=2)
GPU = Where(least_gpus=1)


@dataclass(frozen=True)
class Alternative:
    """One row.

    name       unique, for people, as after `library default:`
    applies    library, versions, transport
    variables  what is set; `{device}` in a value stands for each network device
    does       what is different with it, one sentence
    operations what it may change
    where      jobs in which it may
    needs      control variables that the library lists only where the module is built
    seen       how one sees that it was taken
    source     address of the page that states it
    known      run: measured with the library; listed: the library lists the name; documented: from its documentation,
               not run
    """

    name: str
    applies: AppliesTo
    variables: Mapping[str, str]
    does: str
    operations: tuple[Operation, ...]
    where: Where
    seen: str
    source: str
    needs: tuple[str, ...] = field(default=())
    known: Known = "listed"

    def why_not(self, facts: PlaceFacts) -> str | None:
        """Why it can't change anything in a job; None: it may."""
        absent = [name for name in self.needs if facts.listed is not None and name not in facts.listed]
        if absent:
            return f"the library is built without it: it does not list {absent[0]}"
        if DEVICE in "".join(self.variables.values()) and not facts.devices:
            return "no network device is known here"
        return self.where.why_not(facts)

    def on_devices(self, devices: Collection[str]) -> list[Alternative]:
        """Itself, or where a value stands for a network device one for each."""
        if DEVICE not in "".join(self.variables.values()):
            return [self]
        return [
            replace(
                self,
                name=self.name.replace(DEVICE, device),
                variables={name: value.replace(DEVICE, device) for name, value in self.variables.items()},
            )
            for device in devices
        ]
