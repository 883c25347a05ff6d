# SPDX-License-Identifier: Apache-2.0
"""The run of results.json: who, when, where, with what. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from msgspec import Meta

from slowpath.core.machine import EngineFacts, MachineFacts, require_facts
from slowpath.core.result import LONGEST_ID, Count, Name, NotNegative, Number, Result, Text, Whole, means, optional

VariableValue = bool | int | float | str | list[int | float] | None


class LibraryVariable(Result, frozen=True, kw_only=True, omit_defaults=True, rename={"kind": "class"}):
    """A variable of the MPI tool information interface (MPI-4.1 chapter 15), as rank 0 read it."""

    name: Annotated[Name, means("as the library spells it")]
    value: Annotated[VariableValue, means("what it holds; null: see reason")]
    type: Annotated[str, means("its MPI datatype")]
    description: Annotated[str, means("by the library itself")]
    reason: Annotated[Text | None, means("why value is null")] = None
    kind: Annotated[str | None, means("class of a performance variable")] = None
    by_environment: Annotated[
        dict[str, VariableValue] | None, means("environment -> its value, where that is not the first environment's")
    ] = None


class UcxProtocol(Result, frozen=True, kw_only=True):
    """A row of UCX's own table of protocols, of witnessed launches."""

    environment: Annotated[str, means("of the launch that printed it")]
    scope: Annotated[str, means("which endpoints it is about, as UCX words it")]
    operation: Annotated[str, means("what is sent, as UCX words it")]
    first_bytes: Annotated[Number, means("shortest message of this protocol")]
    last_bytes: Annotated[Number | None, means("longest message; null: no upper end")]
    how: Annotated[str, means("the protocol")]
    transports: Annotated[str, means("what carries it")]


class MessagePath(Result, frozen=True, kw_only=True):
    """What carries messages between ranks, by the library's own report of a witnessed launch (mpi.message_path)."""

    environment: Annotated[Name, means("of the launch that reported it")]
    scope: Annotated[Literal["on_node", "between_nodes"], means("ranks of one node, or of two")]
    pairs: Annotated[
        list[tuple[Whole, Whole]] | None, means("sender and receiver; null: the library reports all of the scope alike")
    ]
    layer: Annotated[
        Literal["library", "ucx", "ofi"] | None,
        means("whose code moves the data: its own, UCX's or libfabric's; null: see reason"),
    ]
    module: Annotated[Text | None, means("what the library selected, as pml ob1; null: see reason")]
    transport: Annotated[Text | None, means("by which data go, as btl sm; null: see reason")]
    devices: Annotated[list[Text], means("network devices, as mlx5_0:1; empty: none is named")]
    single_copy: Annotated[Text | None, means("as cma, none; null: not reported")]
    reason: Annotated[Text | None, means("what could not be read, and why")]

    @property
    def words(self) -> str:
        """`messages between ranks 0 and 1 go by pml ob1, btl sm (single copy by cma)`, or what is not known."""
        where = _between(self.pairs) if self.pairs else "on one node" if self.scope == "on_node" else "between nodes"
        if self.layer is None:
            seen = ", ".join(filter(None, (self.module, self.transport)))
            return f"messages {where}: what carries them is not known{f' ({seen})' if seen else ''}: {self.reason}"
        more = [f"single copy by {self.single_copy}"] if self.single_copy not in (None, "none") else []
        more += ["no single copy"] if self.single_copy == "none" else []
        more += [f"on {', '.join(self.devices)}"] if self.devices else []
        ways = ", ".join(filter(None, (self.module, self.transport)))
        return f"messages {where} go by {ways}" + (f" ({'; '.join(more)})" if more else "")


class MpiResult(Result, frozen=True, kw_only=True, omit_defaults=True):
    """One MPI of the run; of one that is not there, its name and why."""

    mpi: Annotated[str | None, means("short name, as cells have it; null in imported and old runs")] = optional()
    unavailable: Annotated[str | None, means("why it is not there; its cells are skipped")] = optional()
    library: Annotated[str | None, means("what MPI_Get_library_version returns; null: no launch reported it")] = (
        optional()
    )
    standard: Annotated[str | None, means("version of the MPI standard; null: no launch reported it")] = optional()
    control_variables: Annotated[
        list[LibraryVariable] | None, means("of MPI_T; only where launches were witnessed")
    ] = None
    control_variables_reason: Annotated[str | None, means("why there are none")] = None
    performance_variables: Annotated[
        list[LibraryVariable] | None, means("of MPI_T; only where launches were witnessed")
    ] = None
    performance_variables_reason: Annotated[str | None, means("why there are none")] = None
    protocols: Annotated[list[UcxProtocol] | None, means("UCX's; only where launches were witnessed")] = None
    paths: Annotated[list[MessagePath] | None, means("what carries messages; only where launches were witnessed")] = (
        None
    )
    unused_variables: Annotated[
        dict[str, str] | None, means("variables that UCX warns nothing reads -> what it takes each for, or empty")
    ] = None
    name: Annotated[str | None, means("library: mpich, openmpi, intelmpi, craympich, ...")] = None
    version: Annotated[str | None, means("of the library")] = None
    transport: Annotated[str | None, means("ucx, ofi, ...; absent: not known")] = None
    vendor: Annotated[str | None, means("the line by which it names itself")] = None
    mpiexec: Annotated[str | None, means("path of the launcher")] = None
    launcher: Annotated[str | None, means("kind of the launcher: hydra, prte, slurm, ...")] = None
    abi: Annotated[str | None, means("ABI of the shared library")] = None
    standard_abi: Annotated[bool | None, means("whether it offers the ABI of MPI-5")] = None
    prefix: Annotated[str | None, means("folder in which it is installed")] = None
    source: Annotated[str | None, means("how it was found")] = None
    env: Annotated[dict[str, str] | None, means("variables that its launcher and ranks get")] = None
    engine: Annotated[dict[str, Any] | None, means("its engine: compiler, flags, path")] = None

    def __post_init__(self) -> None:
        if self.engine is not None:
            require_facts("engine", self.engine, EngineFacts)


class EnvironmentResult(Result, frozen=True, kw_only=True, omit_defaults=True):
    """Variables that launches get on top of the user's own. One entry holds for one MPI, or for all."""

    name: Annotated[Name, means("as cells have it")]
    mpi: Annotated[str | None, means("the MPI for which this entry holds; null: every MPI of the run")]
    setting: Annotated[str | None, means("name of the state in words of no library, as single_copy_off")]
    variables: Annotated[dict[str, str], means("that are set")]
    unset: Annotated[list[str], means("taken out of the user's own variables")]
    witness: Annotated[bool, means("its launches count calls; their times are not used")]
    unavailable: Annotated[str | None, means("why this MPI can't be put into this state")]
    stated: Annotated[
        dict[str, str] | None,
        means("of an imported log: what its importer stated of the launch: nodes, transport, bind; absent: nothing"),
    ] = None

    @property
    def as_found(self) -> bool:
        """Whether it leaves the user's variables and the library's state alone."""
        return not (self.variables or self.unset or self.setting)


class RankPlace(Result, frozen=True, kw_only=True):
    """Where one rank of the first launch was."""

    rank: Annotated[Whole, means("0, 1, ...")]
    host: Annotated[Name, means("name of its node")]
    cpus_allowed: Annotated[str | None, means("processors that it may use, as 0-3,8; null: not reported")]
    cpu: Annotated[Whole | None, means("processor on which it was; null: not reported")]


class PlacementResult(Result, frozen=True, kw_only=True, omit_defaults=True):
    """Where ranks were asked to go, and where they were found."""

    name: Annotated[Name, means("as cells have it")]
    bind: Annotated[Name, means("what each rank is bound to: core, socket, none, ...")]
    spread: Annotated[str | None, means("how ranks share a node, as one_per_socket")] = None
    nodes: Annotated[Whole | None, means("how many are asked for")] = None
    ranks_per_node: Annotated[Whole | None, means("how many are asked for")] = None
    hosts: Annotated[list[str] | None, means("nodes asked for by name")] = None
    ranks: Annotated[Whole | None, means("of each launch, where the run has several numbers of ranks")] = None
    observed: Annotated[list[RankPlace], means("ranks of its first launch")]
    differs: Annotated[list[str], means("what of it the ranks of any launch did not find")]


class LaunchCounts(Result, frozen=True, kw_only=True):
    """Launches of the run."""

    planned: Annotated[Count, means("in the plan")]
    done: Annotated[Count, means("that ended well")]
    failed: Annotated[Count, means("that did not")]


class RunResult(Result, frozen=True, kw_only=True):
    """Who, when, where, with what."""

    id: Annotated[str, Meta(max_length=LONGEST_ID), means("unique name of the run")]
    folder: Annotated[str, means("path of the run folder, as it was named on the command line")]
    campaign: Annotated[Name, means("short name of the campaign")]
    title: Annotated[Name, means("of the campaign")]
    started: Annotated[str | None, means("ISO 8601; null: an imported run whose logs do not state it")]
    finished: Annotated[str | None, means("ISO 8601; null: it did not end, or logs do not state it")]
    wall_s: Annotated[NotNegative | None, means("from start to end")]
    seed: Annotated[Whole | None, means("of the order of launches; null: imported")]
    engine: Annotated[str | None, means("version of the engine; null: an imported log")]
    slowpath: Annotated[str, means("version that measured or imported")]
    imported: Annotated[bool, means("it comes from logs of other programs")]
    mpi: Annotated[MpiResult, means("the first of mpis that is there")]
    mpis: Annotated[list[MpiResult], Meta(min_length=1), means("in the plan's order")]
    machine: Annotated[dict[str, Any], means("of the launches that are used, as run.json has it")]
    launches: Annotated[LaunchCounts, means("how many")]
    rounds: Annotated[Count, means("how often each cell is measured")]
    status: Annotated[Literal["running", "complete", "interrupted", "partial"], means("partial: something failed")]
    command: Annotated[list[str] | None, means("how to run it again")]
    environments: Annotated[list[EnvironmentResult], means("in the campaign's order")]
    placements: Annotated[list[PlacementResult], means("in the campaign's order")]
    quantum_ns: Annotated[NotNegative | None, means("coarsest clock of any rank; null: not known")]

    def __post_init__(self) -> None:
        require_facts("machine", self.machine, MachineFacts)

    def placement_of(self, name: str) -> PlacementResult | None:
        """Return the placement that cells call so; None: the run does not state it."""
        return next((placement for placement in self.placements if placement.name == name), None)


SkippedStatus = Annotated[str, Meta(pattern="^(skipped|failed|hung|crashed|interrupted|not started)$")]


class SkippedRow(Result, frozen=True, kw_only=True):
    """What was not measured, and why."""

    cell: Annotated[Count | None, means("its number; null: a whole launch")]
    label: Annotated[Name, means("of the cell, or of the launch")]
    status: Annotated[SkippedStatus, means("how it ended")]
    reason: Annotated[Text, means("why")]
    launch_reason: Annotated[Text | None, means("what ended the last of these launches; null: none, or not known")] = (
        optional()
    )
    launches: Annotated[Count, means("in how many")]
    log: Annotated[str | None, means("path in the run folder")]
    output: Annotated[str | None, means("last lines of the job")]


def _between(pairs: Iterable[tuple[int, int]]) -> str:
    both = sorted({(min(pair), max(pair)) for pair in pairs})
    ranks = sorted({rank for pair in both for rank in pair})
    if len(both) == 1:
        return f"between ranks {ranks[0]} and {ranks[1]}"
    if len(both) == len(ranks) * (len(ranks) - 1) // 2:
        return f"among {len(ranks)} ranks ({', '.join(map(str, ranks[:4]))}{', ...' if len(ranks) > 4 else ''})"
    shown = ", ".join(f"{low}-{high}" for low, high in both[:4])
    return f"between ranks {shown}{f' and {len(both) - 4} more pairs' if len(both) > 4 else ''}"
