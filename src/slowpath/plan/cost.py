# SPDX-License-Identifier: Apache-2.0
"""What a plan costs: its time as estimated before the run and as measured during it, a budget, bytes on disk.

Each experiment says what a cell of its costs (`Experiment.seconds`). The constants are of the order of a slow 2-core
machine; they only have to rank campaigns and to keep a promise such as "about a minute". `Progress` replaces them by
measurement as soon as there is any, and `pace_of` by launches of the same command that are over.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

import msgspec

from slowpath.core.errors import UsageError
from slowpath.core.plan import AS_ESTIMATED, Launch, Pace, Plan
from slowpath.experiments.registry import experiment_named

FEWEST_ROUNDS = 5  # below it a t interval over launches is too wide to decide anything (docs/internals/statistics.md)
LEAST_ROUNDS = 2  # one launch has no spread between launches at all
LAUNCH_BYTES = 64 * 1024  # plan, launch record, captured output, what is measured without MPI
LAUNCH_S = 0.3  # start and end of an MPI job of two ranks
RANK_S = 0.005  # each further one
Kind = tuple[str, str, int]  # environment, placement, lowest cell


class Cost(msgspec.Struct, frozen=True):
    """Estimated or measured cost of what is left of a plan."""

    launches: int
    wall_s: float
    node_s: float
    launch_s: dict[str, float]  # "environment, placement, cells from N" -> seconds of one launch


def launch_seconds(
    plan: Plan, nodes: int = 1, launch_s: float | None = None, pace: Pace = AS_ESTIMATED
) -> dict[Kind, float]:
    """Estimated seconds of one launch of each kind.

    Args: nodes: of the allocation.  launch_s: start and end of an MPI job of two ranks here; None: LAUNCH_S.
          pace: of launches that are over (`pace_of`).
    """
    parts = launch_parts_s(plan, nodes, launch_s)
    return {
        kind: started_s * pace.start_ratio + sum(cells_s) * pace.cells_ratio
        for kind, (started_s, cells_s) in parts.items()
    }


def longest_parts_s(plan: Plan, nodes: int = 1, launch_s: float | None = None) -> dict[Kind, float]:
    """Estimated seconds of the longest part of a launch of each kind, its start or one of its cells.

    A launch reports after each part. Args: as of `launch_seconds`.
    """
    parts = launch_parts_s(plan, nodes, launch_s)
    return {kind: max(started_s, *cells_s) for kind, (started_s, cells_s) in parts.items()}


def launch_parts_s(plan: Plan, nodes: int = 1, launch_s: float | None = None) -> dict[Kind, tuple[float, list[float]]]:
    """Estimated seconds of the start of a launch of each kind, and of each of its cells."""
    cells = {cell.cell: cell for cell in plan.cells}
    asked = {placement.name: placement.nodes for placement in plan.placements}

    def cell_seconds(number: int) -> float:
        cell = cells[number]
        ranks, experiment = plan.ranks_of(cell.placement), experiment_named(cell.experiment)
        used = min(asked.get(cell.placement) or nodes, ranks)
        more_s = experiment.across_s(cell.parameters, ranks, used) if used > 1 else 0.0
        return experiment.seconds(cell.parameters, ranks) + more_s

    by_kind: dict[Kind, tuple[float, list[float]]] = {}
    for launch in plan.launches:
        if kind_of(launch) not in by_kind:
            started_s = (LAUNCH_S if launch_s is None else launch_s) + RANK_S * max(
                0, plan.ranks_of(launch.placement) - 2
            )
            by_kind[kind_of(launch)] = started_s, [cell_seconds(number) for number in launch.cells]
    return by_kind


def kind_of(launch: Launch) -> Kind:
    """Launches of one kind cost alike."""
    return launch.environment, launch.placement, min(launch.cells)


def shares_of_time(plan: Plan) -> dict[int, float]:
    """Launch -> the share of its duration that it adds to the run's: 1, or less where others run at the same time."""
    together = Counter((launch.round, launch.turn) for launch in plan.launches)
    alone = {launch.launch for launch in plan.launches if launch.turn is None}
    return {
        launch.launch: 1.0 if launch.launch in alone else 1 / together[launch.round, launch.turn]
        for launch in plan.launches
    }


def estimate(plan: Plan, nodes: int = 1, launch_s: float | None = None, pace: Pace = AS_ESTIMATED) -> Cost:
    """Cost of the whole plan before it runs; `node_s` is what an allocation of `nodes` is charged."""
    seconds, shares = launch_seconds(plan, nodes, launch_s, pace), shares_of_time(plan)
    wall_s = sum(seconds[kind_of(launch)] * shares[launch.launch] for launch in plan.launches)
    per_kind = {f"{env}, {place}, cells from {lowest}": value for (env, place, lowest), value in seconds.items()}
    return Cost(len(plan.launches), wall_s, wall_s * nodes, per_kind)


class TimeLeft:
    """Time left, from the launches measured so far; kinds not yet measured are estimated by the pace of those."""

    def __init__(self, plan: Plan, nodes: int = 1) -> None:
        parts_s = launch_parts_s(plan, nodes)
        self._parts_s = {kind: (start_s, sum(cells_s)) for kind, (start_s, cells_s) in parts_s.items()}
        self._shares = shares_of_time(plan)
        self._left = {launch.launch: kind_of(launch) for launch in plan.launches}
        self._measured: dict[Kind, list[float]] = {}

    def finished(self, launch: Launch, wall_s: float) -> None:
        """One planned launch is over, and took `wall_s` seconds with all its follow-ups."""
        kind = kind_of(launch)
        self._left.pop(launch.launch, None)
        self._measured.setdefault(kind, []).append(wall_s)

    def skipped(self, launch: Launch) -> None:
        """One planned launch will not be started."""
        self._left.pop(launch.launch, None)

    def remaining_s(self) -> float:
        """Seconds that the launches left will take."""
        weights: dict[Kind, float] = {}
        for number, kind in self._left.items():
            weights[kind] = weights.get(kind, 0.0) + self._shares[number]
        return sum(weight * self._expected_s(kind) for kind, weight in weights.items())

    def expected_s(self, launch: Launch) -> float:
        """Seconds that a launch will take: the median of its kind, as a disturbed one says little of the next."""
        return self._shares.get(launch.launch, 1.0) * self._expected_s(kind_of(launch))

    def _expected_s(self, kind: Kind) -> float:
        if kind in self._measured:
            return median(self._measured[kind])
        start_s, cells_s = self._parts_s[kind]
        known = {k: times for k, times in self._measured.items() if k in self._parts_s}
        times = [LaunchTime(*self._parts_s[k], median(walls_s)) for k, walls_s in known.items()]
        # The first kind that is over says little of the others: what was estimated of this one counts as one more.
        pace = pace_of([*times, LaunchTime(start_s, cells_s, start_s + cells_s)])
        return start_s * pace.start_ratio + cells_s * pace.cells_ratio


def fitting_rounds(plan: Plan, budget_s: float, nodes: int = 1, pace: Pace = AS_ESTIMATED) -> tuple[int, str | None]:
    """Rounds of `plan` that are estimated to fit in `budget_s` seconds, and a note for the user; None: all of them.

    The run itself takes as many as really fit (`Execution`).

    Raises: UsageError if not even two rounds fit, since one launch a cell shows no spread between launches.
    """
    round_s = estimate(of_rounds(plan, 1), nodes, pace=pace).wall_s
    rounds = plan.rounds if round_s <= 0 else min(plan.rounds, int(budget_s / round_s))
    if rounds == plan.rounds:
        return rounds, None
    if rounds < LEAST_ROUNDS:
        raise UsageError(
            f"--budget {budget_s:g} s is too small for {LEAST_ROUNDS} rounds; give --budget "
            f"{math.ceil(LEAST_ROUNDS * round_s)}s or more"
        )
    note = f"about {rounds} of {plan.rounds} rounds fit"
    if rounds < FEWEST_ROUNDS:
        note = f"warning: {note}; {too_few(round_s)}"
    return rounds, note


def too_few(round_s: float) -> str:
    """What a budget for fewer than FEWEST_ROUNDS means, and which one decides more.  Args: round_s: of one round."""
    return f"fewer than {FEWEST_ROUNDS} decide little; give --budget {math.ceil(FEWEST_ROUNDS * round_s)}s or more"


def of_rounds(plan: Plan, rounds: int) -> Plan:
    """`plan` with its first rounds alone."""
    launches = [launch for launch in plan.launches if launch.round <= rounds]
    return msgspec.structs.replace(plan, rounds=min(rounds, plan.rounds), launches=launches)


def needed_bytes(plan: Plan) -> int:
    """Upper estimate of what a run of `plan` writes, bytes."""
    per_cell = {
        cell.cell: experiment_named(cell.experiment).recorded_bytes(cell.parameters, plan.ranks_of(cell.placement))
        for cell in plan.cells
    }
    return sum(LAUNCH_BYTES + sum(per_cell[cell] for cell in launch.cells) for launch in plan.launches)


# Kinds of launches whose cells differ less than this tell start and cells apart by noise alone.
_LEAST_SPREAD: Final = 2.0


@dataclass(frozen=True)
class LaunchTime:
    """One kind of launch that is over. start_s, cells_s: as estimated.  wall_s: as it took, median."""

    start_s: float
    cells_s: float
    wall_s: float


def times_of(
    plan: Plan, wall_s: Mapping[int, float], nodes: int = 1, launch_s: float | None = None
) -> list[LaunchTime]:
    """Each kind of launch of a plan that is over.

    Args: wall_s: launch -> what it took, seconds; of launches that ended well.  nodes: of the allocation.
          launch_s: as of `launch_seconds`.
    """
    took_s: dict[Kind, list[float]] = defaultdict(list)
    for launch in plan.launches:
        if launch.launch in wall_s:
            took_s[kind_of(launch)].append(wall_s[launch.launch])
    parts_s = launch_parts_s(plan, nodes, launch_s)
    return [LaunchTime(parts_s[kind][0], sum(parts_s[kind][1]), median(times)) for kind, times in took_s.items()]


FEWEST_KINDS: Final = 3


def typical_ratio(times: Sequence[LaunchTime]) -> float | None:
    """Return the median over kinds of launches of their wall time over the estimated; None: fewer than FEWEST_KINDS."""
    ratios = [
        launch.wall_s / (launch.start_s + launch.cells_s) for launch in times if launch.start_s + launch.cells_s > 0
    ]
    return median(ratios) if len(ratios) >= FEWEST_KINDS else None


def pace_of(times: Sequence[LaunchTime]) -> Pace:
    """Return the line over kinds of launches, or one ratio where their cells are too much alike.

    Least squares of seconds, not of ratios: the launches with most cells are most like what is still to come.
    """
    estimated_s = sum(launch.start_s + launch.cells_s for launch in times)
    if estimated_s <= 0:
        return AS_ESTIMATED
    ratio = sum(launch.wall_s for launch in times) / estimated_s
    plain = Pace(ratio, ratio)
    cells_s = [launch.cells_s for launch in times]
    if max(cells_s) < _LEAST_SPREAD * min(cells_s):
        return plain
    s1, sx = float(len(times)), sum(cells_s)
    sxx, sy = sum(x * x for x in cells_s), sum(launch.wall_s for launch in times)
    sxy = sum(launch.cells_s * launch.wall_s for launch in times)
    cells_ratio = (s1 * sxy - sx * sy) / (s1 * sxx - sx * sx)
    start_s = (sy - cells_ratio * sx) / s1
    if cells_ratio <= 0:
        return plain
    if start_s < 0:
        return Pace(0.0, sxy / sxx)
    return Pace(start_s * len(times) / sum(launch.start_s for launch in times), cells_ratio)
