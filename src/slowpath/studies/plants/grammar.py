# SPDX-License-Identifier: Apache-2.0
"""Clauses of SLOWPATH_PLANT: which calls pay, how much, and where the time goes (docs/results/plants.md). Pure.

The engine's libslowpath-plant.so reads the same text (engine/plant/clause.cpp). What a clause costs at a place follows
from the clause alone, and not from any rule that may name it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

CallName = Literal[
    "send",
    "receive",
    "both",
    "put",
    "get",
    "wait",
    "waitall",
    "test",
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "allgather",
    "alltoall",
]
Side = Literal["send", "receive"]
Quantity = Literal[
    "bytes",
    "allocation",
    "start",
    "use",
    "others",
    "index",
    "idle_s",
    "rank",
    "peer",
    "wildcard",
    "alloc_mem",
    "open",
    "root",
    "in_place",
]
Relation = Literal[">", "<", "=", "%"]
Per = Literal["call", "byte", "allocation", "page", "granule", "block", "queue", "index", "second"]
Room = Literal["user", "kernel", "waiting", "cold"]  # where the time goes
# What a cost may depend on. launch: a coin once a launch.  time: a period in seconds, or seconds since the start.
# completion: by which calls a message is completed.  call: which collective it is.
Axis = Literal[
    "bytes",
    "allocation",
    "start",
    "use",
    "others",
    "index",
    "idle_s",
    "rank",
    "block",
    "queue",
    "time",
    "launch",
    "chance",
    "environment",
    "wildcard",
    "alloc_mem",
    "open",
    "root",
    "in_place",
    "completion",
    "call",
]
AXES: tuple[Axis, ...] = get_args(Axis)
COMPLETIONS: tuple[CallName, ...] = ("wait", "waitall", "test")
COLLECTIVES: tuple[CallName, ...] = ("barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall")
PAGES = (2 * 2**20, 64 * 2**10, 4096)
Place = Mapping[str, float]  # quantity, "block", "queue" or "age_s" -> its value at a call; one left out is not known


@dataclass(frozen=True)
class PlantCondition:
    """remainder: of relation "%"; None: any but 0."""

    quantity: Quantity
    relation: Relation
    value: float
    remainder: int | None = None

    @property
    def text(self) -> str:
        """`bytes>8192`, `index%64=0`, `start%64`."""
        rest = "" if self.remainder is None else f"={self.remainder}"
        return f"{self.quantity}{self.relation}{self.value:.15g}{rest}"

    def holds(self, place: Place) -> float:
        """1 or 0; of what the place does not say the share of its values for which it holds, 0 if that is not known."""
        value = place.get(self.quantity)
        if value is None:
            return self._share()
        if self.relation == "%":
            left = int(value) % int(self.value)
            return float(left != 0 if self.remainder is None else left == self.remainder)
        return float({">": value > self.value, "<": value < self.value, "=": value == self.value}[self.relation])

    def _share(self) -> float:
        """Messages come with every index in turn; all else stands still unless the place says otherwise."""
        if self.quantity == "rank":
            return 0.5  # of two
        if self.quantity != "index" or self.relation != "%":
            return 1.0 if self.quantity == "peer" or (self.quantity, self.relation) == ("index", ">") else 0.0
        return 1 / self.value if self.remainder is not None else 1 - 1 / self.value


@dataclass(frozen=True)
class Clause:
    """A clause as the engine has it. cost_s None: a cold cache costs what the machine decides."""

    cost_s: float | None
    call: CallName = "send"
    conditions: tuple[PlantCondition, ...] = ()
    per: Per = "call"
    granule: int = 1
    room: Room = "user"
    exponential: bool = False
    period_s: float | None = None
    chance: float = 1.0
    coin: float = 1.0
    environment: str | None = None
    seed: int = 0

    @property
    def text(self) -> str:
        """Return the clause for SLOWPATH_PLANT, without words of no effect."""
        words = [] if self.call == "send" else [f"call={self.call}"]
        words += [condition.text for condition in self.conditions]
        words += [] if self.period_s is None else [f"period_s={self.period_s:g}"]
        words += [f"{name}={value:g}" for name, value in (("chance", self.chance), ("coin", self.coin)) if value < 1]
        words += [f"environment={self.environment}"] if self.environment else []
        words += [f"seed={self.seed}"] if self.seed else []
        words += [] if self.cost_s is None else [f"cost_s={self.cost_s:g}"]
        words += [] if self.per == "call" else [f"per={self.granule if self.per == 'granule' else self.per}"]
        words += ["law=exponential"] if self.exponential else []
        words += [] if self.room == "user" else [f"place={self.room}"]
        return " ".join(words)

    @property
    def sides(self) -> frozenset[Side]:
        """Return who pays: both sides of what both call; of puts and gets the one that calls, as with a send."""
        if self.call == "both" or self.call in COMPLETIONS or self.call in COLLECTIVES:
            return frozenset({"send", "receive"})
        return frozenset({"receive" if self.call == "receive" else "send"})

    @property
    def axes(self) -> frozenset[Axis]:
        """Return what the cost depends on."""
        named = {condition.quantity for condition in self.conditions}
        found: set[str] = {"rank" if quantity == "peer" else quantity for quantity in named}
        found |= {_AXIS_OF_PER[self.per]} if self.per in _AXIS_OF_PER else set()
        found |= {"time"} if self.period_s is not None else set()
        found |= {"chance"} if self.chance < 1 or self.exponential else set()
        found |= {"launch"} if self.coin < 1 else set()
        found |= {"environment"} if self.environment else set()
        found |= {"bytes"} if self.room == "cold" else set()
        found |= {"completion"} if self.call in COMPLETIONS else set()
        found |= {"call"} if self.call in COLLECTIVES else set()
        return frozenset(axis for axis in AXES if axis in found)

    @property
    def limits(self) -> tuple[tuple[Axis, float], ...]:
        """Axis and last value before the cost changes at once, for each condition that compares."""
        found = []
        for condition in self.conditions:
            if condition.relation in "<>" and condition.quantity != "peer":
                last = condition.value if condition.relation == ">" else condition.value - 1
                # A cache whose misses have over n - 1 other buffers between two uses holds n of them.
                found.append((_axis(condition.quantity), last + 1 if condition.quantity == "others" else last))
        return tuple(found)

    def expected_s(self, place: Place) -> float | None:
        """Return what a call at this place pays on average, seconds; None: the machine decides, or the place does not
        say, or how many calls share a period's cost follows from how long they take.
        """
        if self.cost_s is None or self.period_s is not None:
            return None
        share = self.chance * self.coin
        for condition in self.conditions:
            share *= condition.holds(place)
        units = self._units(place)
        return None if units is None else self.cost_s * share * units

    def _units(self, place: Place) -> float | None:
        if self.per == "call":
            return 1.0
        value = place.get(_PLACE_OF_PER.get(self.per, self.per))
        if value is None:
            return None
        if self.per == "page":
            return float(-(-int(value) // page_of(int(value))))
        if self.per == "granule":
            return float(-(-int(value) // self.granule))
        return 0.0 if self.per == "block" and value <= 1 else value


_AXIS_OF_PER: Mapping[str, str] = {
    "byte": "bytes",
    "allocation": "allocation",
    "page": "allocation",
    "granule": "allocation",
    "block": "block",
    "queue": "queue",
    "index": "index",
    "second": "time",
}
_PLACE_OF_PER: Mapping[str, str] = {
    "byte": "bytes",
    "page": "allocation",
    "granule": "allocation",
    "second": "age_s",
}


def _axis(quantity: str) -> Axis:
    return next(axis for axis in AXES if axis == quantity)


def page_of(length_bytes: int) -> int:
    """Page with which an allocation of this length is mapped: the largest that divides it, in whole small pages."""
    whole = -(-length_bytes // PAGES[-1]) * PAGES[-1]
    return next(page for page in PAGES if whole % page == 0)
