# SPDX-License-Identifier: Apache-2.0
"""What a plan costs in time: a rough model before the run, measured launches during it, a budget.

The model's constants are of the order of a slow 2-core machine; they only have to rank campaigns and to keep
a promise such as "about a minute". `Progress` replaces them by measurement as soon as there is any.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

import msgspec

from slowpath.core.errors import UsageError
from slowpath.core.plan import Cell, Launch, Plan
from slowpath.experiments.cannon.cost import cannon_seconds
from slowpath.experiments.checks import p2p_buffer_bytes, side_values
from slowpath.experiments.p2p.layout import TOGETHER
from slowpath.experiments.put.cost import put_seconds

FEWEST_ROUNDS = 5  # below it a t interval over launches is too wide to decide anything (docs/internals/statistics.md)
_LEAST_ROUNDS = 2  # one launch has no spread between launches at all
_UNKNOWN_EXPERIMENT_S = 0.1
_DEVICE_KINDS = ("device", "device_pool", "device_vmm")
Kind = tuple[str, str, int]  # environment, placement, lowest cell


class CostModel(msgspec.Struct, frozen=True):
    """Assumed speeds of a machine that nothing is known about yet."""

    launch_s: float = 0.3  # start and end of the MPI job
    cell_s: float = 0.002  # agreement, gathering and flushing of one cell
    allocation_s: float = 0.0001  # one fresh allocation and its release
    touch_s_per_byte: float = 0.3e-9  # first write: 5 ms for 16 MiB in small pages
    check_s_per_byte: float = 1.0e-9  # filling, poisoning and comparing
    message_s: float = 10e-6
    message_bytes_per_s: float = 4e9
    device_bytes_per_s: float = 20e9
    batch_s: float = 5e-6  # a batch lasts at least 100 clock quanta
    fewest_samples: int = 8


class Cost(msgspec.Struct, frozen=True):
    """Estimated or measured cost of what is left of a plan."""

    launches: int
    wall_s: float
    node_s: float
    launch_s: dict[str, float]  # "environment, placement, cells from N" -> seconds of one launch


def cell_seconds(cell: Cell, model: CostModel, ranks: int = 2) -> float:
    """Seconds that one cell takes in one launch."""
    if cell.experiment == "cannon":
        return cannon_seconds(cell.parameters, ranks)
    if cell.experiment == "put":
        return put_seconds(cell.parameters)
    return _p2p_seconds(cell.parameters, model) if cell.experiment == "p2p" else _UNKNOWN_EXPERIMENT_S


def _p2p_seconds(p: Mapping[str, str], model: CostModel) -> float:
    message = int(p["message_bytes"])
    touched = max(_touched_bytes(p, side) for side in (0, 1))
    fresh = model.allocation_s + touched * model.touch_s_per_byte
    if p["validate"] == "on":
        fresh += message * model.check_s_per_byte
    bytes_per_s = model.device_bytes_per_s if p["memory"] in _DEVICE_KINDS else model.message_bytes_per_s
    one = model.message_s + message / bytes_per_s
    live = int(p.get("live_buffers", "1"))  # an engine from before they could be several has no such parameter
    if p["pattern"] == "one_way":
        moving = live * int(p["messages"]) * (one + _late_s(p)) + int(p.get("queue", "0")) * model.message_s
    else:
        operation = one * _messages_of_an_operation(p)
        sampled = int(p["samples"]) * max(operation, model.batch_s)
        steady = max(model.fewest_samples * operation, min(float(p["time_limit_s"]), sampled))
        moving = steady + max(4 * operation, float(p["warmup_s"]))
    return model.cell_s + int(p["allocations"]) * (live * fresh + moving)


def _messages_of_an_operation(p: Mapping[str, str]) -> int:
    """overlap: one each way, alone, and then as long again alone and together with as much computing, at worst."""
    return {"ping_pong": 2, "overlap": 8}.get(p["pattern"]) or int(p["in_flight"])


def _late_s(p: Mapping[str, str]) -> float:
    """By which the receiver is late on purpose (engine/experiments/p2p/late_receive.cpp)."""
    if p.get("posted", TOGETHER) == TOGETHER:
        return 0.0
    return 10e-6 + min(40e-6 + int(p["message_bytes"]) / 4e9, 1e-3)


def _touched_bytes(parameters: Mapping[str, str], side: int) -> int:
    """Bytes that the CPU writes before the first message; device memory is not touched."""
    if parameters["touch"] != "write" or side_values(parameters["memory"])[side] in _DEVICE_KINDS:
        return 0
    return p2p_buffer_bytes(parameters, side) + int(side_values(parameters["overalloc_bytes"])[side])


def launch_seconds(plan: Plan, model: CostModel | None = None) -> dict[Kind, float]:
    """Estimated seconds of one launch of each kind."""
    model = model or CostModel()
    cells = {cell.cell: cell for cell in plan.cells}
    seconds: dict[Kind, float] = {}
    for launch in plan.launches:
        if kind_of(launch) not in seconds:
            seconds[kind_of(launch)] = model.launch_s + sum(
                cell_seconds(cells[n], model, plan.ranks) for n in launch.cells
            )
    return seconds


def kind_of(launch: Launch) -> Kind:
    """Launches of one kind cost alike."""
    return launch.environment, launch.placement, min(launch.cells)


def estimate(plan: Plan, nodes: int = 1, model: CostModel | None = None) -> Cost:
    """Cost of the whole plan before it runs; `node_s` is what an allocation of `nodes` is charged."""
    seconds = launch_seconds(plan, model)
    wall_s = sum(seconds[kind_of(launch)] for launch in plan.launches)
    per_kind = {f"{env}, {place}, cells from {lowest}": value for (env, place, lowest), value in seconds.items()}
    return Cost(len(plan.launches), wall_s, wall_s * nodes, per_kind)


class Progress:
    """Time left, from the launches measured so far; kinds not yet measured are scaled like those."""

    def __init__(self, plan: Plan, model: CostModel | None = None) -> None:
        self._estimate = launch_seconds(plan, model)
        self._left = Counter(kind_of(launch) for launch in plan.launches)
        self._measured: dict[Kind, list[float]] = {}

    def finished(self, launch: Launch, wall_s: float) -> None:
        """One planned launch is over, and took `wall_s` seconds with all its follow-ups."""
        kind = kind_of(launch)
        self._left[kind] -= 1
        self._measured.setdefault(kind, []).append(wall_s)

    def skipped(self, launch: Launch) -> None:
        """One planned launch will not be started."""
        self._left[kind_of(launch)] -= 1

    @property
    def launches_left(self) -> int:
        """Planned launches that are not over."""
        return sum(self._left.values())

    def remaining_s(self) -> float:
        """Seconds that the launches left will take."""
        return sum(count * self._expected_s(kind) for kind, count in self._left.items())

    def _expected_s(self, kind: Kind) -> float:
        if kind in self._measured:
            return sum(self._measured[kind]) / len(self._measured[kind])
        known = {k: times for k, times in self._measured.items() if k in self._estimate}
        expected = sum(self._estimate[k] * len(times) for k, times in known.items())
        scale = sum(map(sum, known.values())) / expected if expected > 0 else 1.0
        return self._estimate[kind] * scale


def fit_budget(plan: Plan, budget_s: float, model: CostModel | None = None) -> tuple[Plan, str | None]:
    """`plan` with as many of its rounds as `budget_s` seconds hold, and what to tell the user.

    The rounds are never more than the plan's; None in place of the text says that nothing changed.

    Raises: UsageError if not even two rounds fit, since one launch a cell shows no spread between launches.
    """
    round_s = sum(launch_seconds(plan, model).values())
    rounds = plan.rounds if round_s <= 0 else min(plan.rounds, int(budget_s / round_s))
    if rounds == plan.rounds:
        return plan, None
    if rounds < _LEAST_ROUNDS:
        raise UsageError(
            f"a budget of {budget_s:g} s is too small: one round takes about {round_s:.3g} s and "
            f"{_LEAST_ROUNDS} are the least; give {math.ceil(_LEAST_ROUNDS * round_s)} s or more"
        )
    reduced = msgspec.structs.replace(
        plan, rounds=rounds, launches=[launch for launch in plan.launches if launch.round <= rounds]
    )
    note = f"{rounds} of {plan.rounds} rounds fit in {budget_s:g} s (one takes about {round_s:.3g} s)"
    if rounds < FEWEST_ROUNDS:
        note = (
            f"warning: only {note}; with fewer than {FEWEST_ROUNDS} most contrasts stay undecided: "
            f"give {math.ceil(FEWEST_ROUNDS * round_s)} s or more"
        )
    return reduced, note
