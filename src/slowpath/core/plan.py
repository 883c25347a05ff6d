# SPDX-License-Identifier: Apache-2.0
"""A plan: cells, contrasts, launches, the roles of parameters, and which cells are twins. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from slowpath.core.result import LARGEST, MOST_LAUNCHES, MOST_RANKS, LongText, Name, Phase, Whole

# setting: names what is measured, by a word or by a number.
# covariate: a number that a time may follow by a law.
# effort: how long, how often and how carefully is measured; cells that differ in nothing else measure the same.
ParameterRole = Literal["setting", "covariate", "effort"]
Roles = Mapping[str, ParameterRole]  # parameter -> role; a name has the same role in every experiment


def is_effort(roles: Roles, parameter: str) -> bool:
    """Whether the parameter states how much was measured, and not what."""
    return roles.get(parameter) == "effort"


class Size(NamedTuple):
    """Of a campaign. wall_s: estimated, seconds.  cells: their number."""

    wall_s: float
    cells: int


class Pace(msgspec.Struct, frozen=True):
    """How long launches take here, in multiples of what is estimated: starting and ending one, and its cells."""

    start_ratio: float = 1.0
    cells_ratio: float = 1.0


AS_ESTIMATED = Pace()


PLAN_SCHEMA = 1
WITNESSED_ROUNDS = 2  # two, so that a count which is not the same each time is seen
# Names that a campaign may use on every machine, whether the library is there or not.
LIBRARIES = (
    "mpich",
    "openmpi",
    "intelmpi",
    "craympich",
    "mvapich",
    "parastation",
    "fujitsumpi",
    "spectrummpi",
)
ALL = "all"  # in place of names: every MPI that is found
Count = Annotated[int, Meta(ge=0, le=LARGEST)]
CellNumber = Annotated[int, Meta(ge=0, le=2**32 - 1)]  # of a cell or a launch: what a block's header holds
RankNumber = Annotated[int, Meta(ge=0, lt=MOST_RANKS)]
Ranks = Annotated[int, Meta(ge=1, le=MOST_RANKS)]


class PlannedMpi(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One MPI of the run."""

    name: Name  # short, unique in the run; what Cell.mpi, Launch.mpi and Environment.mpi refer to
    identity: Name  # library and version; part of each cell's key, so unique in the run, too
    unavailable: LongText | None = None  # why it is not there; its cells are skipped


class Environment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Environment variables that a launch gets on top of the user's own.

    A setting means other variables under another MPI: a run of several MPIs has an entry for each of them, under one
    name. `Plan.environment` finds the right one.
    """

    name: Name
    variables: dict[Name, LongText] = {}
    setting: Name | None = None  # the library-neutral name that the variables came from, e.g. "single_copy_off"
    unavailable: LongText | None = None  # why this MPI can't be put into this state; its cells are skipped
    mpi: Name | None = None  # the MPI for which this holds; None: for every MPI of the run
    unset: list[Name] = []  # names that are taken out of the user's own variables
    witness: bool = False  # its launches count calls (docs/internals/statistics.md), and their times stand for nothing
    stated: dict[Name, LongText] = {}  # of an imported log: what the user states of its launch (nodes, transport, bind)


class Placement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where ranks go: how the launcher is asked to bind them, and on which nodes it is asked to put them."""

    name: Name
    bind: Name = "core"  # as core.campaign has it; unknown: an imported run
    spread: Name | None = None  # core | core_group | numa | socket: what each next rank is moved on by
    nodes: Ranks | None = None  # None: as the launcher has it
    ranks_per_node: Ranks | None = None
    hosts: list[Name] = []  # names of the nodes, where a placement is about certain ones
    of: Name | None = None  # the campaign's name for all placements that one [[placement]] stands for
    ranks: Ranks | None = None  # of its launches, where the run has several numbers of ranks; None: Plan.ranks
    unavailable: LongText | None = None  # why ranks can't be put there; its cells are skipped

    @property
    def asked(self) -> dict[str, Any]:
        """Return what it asks for in addition to its binding; empty: nothing."""
        asked = {
            "spread": self.spread,
            "nodes": self.nodes,
            "ranks_per_node": self.ranks_per_node,
            "hosts": self.hosts,
        }
        return {key: value for key, value in asked.items() if value}


class Cell(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One experiment at one point.

    `parameters` holds all of the engine's, defaults included, spelled as in plan.txt: bytes as plain
    integers. An imported cell has only those that its log states.
    """

    cell: CellNumber
    key: Name
    group: Name
    label: Name
    experiment: Name
    parameters: dict[Name, LongText]
    environment: Name
    placement: Name
    copy: Annotated[int, Meta(ge=1, le=LARGEST)] = 1  # 1, 2, ...: the same cell again, for A/A contrasts
    skip: LongText | None = None  # why it is not run at all
    mpi: Name | None = None  # PlannedMpi.name; None: an imported run, or a plan from before there could be several


class Side(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One side of a contrast: a phase of a cell, and what the axis is set to there."""

    cell: CellNumber
    phase: Phase
    value: Name


class Contrast(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Two cells (or two phases of one) that differ in one thing. The claim is b over a."""

    id: Name
    group: Name
    question: LongText
    axis: Name  # a parameter's name, mpi, environment, placement, copy, or phase
    metric: Name
    a: Side
    b: Side
    control: bool = False  # nothing differs: expected "same"
    remedy: LongText | None = None  # id of a remedy; in plans of earlier versions the sentence itself
    explains: bool = False  # says what something costs and where time goes; never a slow path in itself


class Launch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One planned start of the MPI job: one MPI, environment and placement, its cells in shuffled order."""

    launch: CellNumber
    round: Count
    environment: Name
    placement: Name
    cells: list[CellNumber]
    seed: Whole
    mpi: Name | None = None  # as Cell.mpi
    turn: Count | None = None  # launches of one round and turn have no node in common and run at once; None: alone


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A campaign fully expanded for the MPIs in use. Launches stand in the order in which they are to run."""

    schema: Whole
    campaign: Name
    title: Name
    ranks: Ranks  # the most that a launch has
    rounds: Annotated[int, Meta(ge=0, le=MOST_LAUNCHES)]
    seed: Whole
    minimum_effect: Annotated[float, Meta(ge=0, lt=1)]  # ratio below which a difference is called "same", e.g. 0.03
    environments: list[Environment]
    placements: list[Placement]
    cells: list[Cell]
    contrasts: list[Contrast]
    launches: list[Launch]
    mpis: list[PlannedMpi] = []  # empty: as Cell.mpi is None

    def ranks_of(self, placement: str) -> int:
        """Ranks of a launch in the placement of this name."""
        return next((p.ranks for p in self.placements if p.name == placement and p.ranks is not None), self.ranks)

    @property
    def rank_counts(self) -> list[int]:
        """Every number of ranks that launches have, ascending."""
        return sorted({p.ranks or self.ranks for p in self.placements}) or [self.ranks]

    @property
    def several_mpis(self) -> bool:
        """Whether an MPI has to be named to say what is meant."""
        return len(self.mpis) > 1

    def environment(self, name: str, mpi: str | None) -> Environment:
        """The environment that cells and launches of `mpi` mean by `name`.  Raises: KeyError if there is none."""
        for environment in self.environments:
            if environment.name == name and environment.mpi in (None, mpi):
                return environment
        raise KeyError(name)


def cell_key(
    experiment: str,
    parameters: Mapping[str, str],
    variables: Mapping[str, str],
    bind: str,
    copy: int,
    ranks: int,
    mpi_identity: str,
    place: Mapping[str, object] | None = None,
) -> str:
    """Identity of a cell across runs: the first 16 hexadecimal digits of SHA-256 over canonical JSON.

    `parameters` holds every parameter, defaults included, so that a changed default changes the key. `place` is what a
    placement asks for in addition to its binding; without any, it is left out.
    """
    content = {
        "bind": bind,
        "copy": copy,
        "experiment": experiment,
        "mpi": mpi_identity,
        "parameters": dict(parameters),
        "ranks": ranks,
        "variables": dict(variables),
        **({"place": dict(place)} if place else {}),
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Twins:
    """witnessed: cells whose launches count calls and take no times.  counted_by: timed cell -> its witnessed twins."""

    witnessed: frozenset[int]
    counted_by: Mapping[int, tuple[int, ...]]

    @property
    def stand_alone(self) -> frozenset[int]:
        """Witnessed cells that no timed cell of the run speaks for."""
        return self.witnessed - {number for numbers in self.counted_by.values() for number in numbers}


def twins_of(plan: Plan) -> Twins:
    """The twins of a plan: cells of one key and placement, one of them witnessed.

    A key is experiment, parameters, variables, binding, copy, ranks and MPI; to be witnessed is none of them.
    """
    environments = {(e.name, e.mpi) for e in plan.environments if e.witness}
    counting: dict[tuple[str, str], list[int]] = {}
    timed = []
    for cell in plan.cells:
        if environments & {(cell.environment, None), (cell.environment, cell.mpi)}:
            counting.setdefault((cell.key, cell.placement), []).append(cell.cell)
        else:
            timed.append(cell)
    counted_by = {
        cell.cell: tuple(twins) for cell in timed if (twins := counting.get((cell.key, cell.placement))) is not None
    }
    return Twins(frozenset(number for numbers in counting.values() for number in numbers), counted_by)
