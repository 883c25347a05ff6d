# SPDX-License-Identifier: Apache-2.0
"""Every class of plant: what is drawn, and between which costs. The list is open: a class is one entry.

Costs are drawn evenly on a scale of ratios, in the range that a user would care about: from a fifth of what the
operation takes at the lengths that the survey samples, up to some tens of times as much.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from slowpath.studies.plants.grammar import CallName, Clause, PlantCondition, Room
from slowpath.studies.plants.plant import Plant, PlantedState

KIB, MIB = 2**10, 2**20
ROOMS: tuple[Room, ...] = ("user", "kernel", "waiting")
VARIABLE = "SLOWPATH_PLANT_SET"  # that a clause of class environment asks for


@dataclass(frozen=True)
class PlantClass:
    """what: one line for people.  make: a clause that costs this many seconds for each of its units; None: `state` is
    planted, and has no cost.  low_s, high_s: between which costs are drawn.  calls: on which side.
    needs: parameters that the survey must vary for the plant to be seen at all.
    """

    name: str
    what: str
    make: Callable[[random.Random, float], Clause] | None = None
    low_s: float = 0.0
    high_s: float = 0.0
    calls: tuple[CallName, ...] = ("send", "receive")
    state: PlantedState | None = None
    needs: tuple[str, ...] = ()

    def draw(self, source: random.Random, cost_s: float | None = None) -> Plant:
        """A plant whose other parameters follow from the source.  cost_s: in place of a drawn one."""
        if self.make is None:
            return Plant(self.name, (), self.state)
        drawn_s = cost_s or (between(source, self.low_s, self.high_s) if self.high_s else 0.0)
        clause = self.make(source, drawn_s)
        clause = replace(clause, call=source.choice(self.calls))
        if clause.room != "cold":
            clause = replace(clause, room=source.choice(ROOMS))
        return Plant(self.name, (clause,), drawn_s=drawn_s)


def between(source: random.Random, low: float, high: float) -> float:
    """Even on a scale of ratios, to 3 digits."""
    return float(f"{math.exp(source.uniform(math.log(low), math.log(high))):.3g}")


def _when(quantity: str, relation: str, value: float, remainder: int | None = None) -> tuple[PlantCondition, ...]:
    return (PlantCondition(quantity, relation, value, remainder),)  # type: ignore[arg-type]


_FIRST = _when("use", "=", 1)


def _pages(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, conditions=_FIRST, per="page")


def _granules(source: random.Random, cost_s: float) -> Clause:
    granule = 2 ** source.randint(16, 21)
    return Clause(float(f"{cost_s * granule:.3g}"), conditions=_FIRST, per="granule", granule=granule)


def _off_granule(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, conditions=(*_FIRST, *_when("allocation", "%", 2 ** source.randint(13, 21))))


def _allocation(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, conditions=_FIRST, per="allocation")


def _message(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, conditions=_FIRST, per="byte")


def _constant(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, conditions=_FIRST)


def _gate(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, conditions=_when("use", "<", source.randint(4, 6)))


def _live(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, conditions=_when("others", ">", source.randint(2, 60) - 1))


def _threshold(source: random.Random, cost_s: float) -> Clause:
    # A cost that is drawn for a short message; that of a long one grows with what it takes anyway, 0.25 ns a byte.
    length = round(between(source, 100, 400 * KIB))
    return Clause(float(f"{cost_s * (1 + length / 2400):.3g}"), conditions=_when("bytes", ">", length))


def _below(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, conditions=_when("bytes", "<", round(between(source, 1 * KIB, 400 * KIB))))


def _window(source: random.Random, cost_s: float) -> Clause:
    low = round(between(source, 1 * KIB, 64 * KIB))
    inside = (*_when("bytes", ">", low), *_when("bytes", "<", round(low * source.uniform(6, 16))))
    return Clause(float(f"{cost_s * (1 + low / 2400):.3g}"), conditions=inside)


def _bytes(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, conditions=_when("bytes", ">", round(between(source, 8 * KIB, 256 * KIB))), per="byte")


def _blocks(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, per="block")


def _queue(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, per="queue")


def _start(source: random.Random, cost_s: float) -> Clause:
    granule = source.choice((64, 4096, 2 ** source.randint(7, 11)))
    return Clause(cost_s, conditions=_when("start", "%", granule), per="byte")


def _index(source: random.Random, cost_s: float) -> Clause:
    period = round(between(source, 2, 128))
    return Clause(cost_s, conditions=_when("index", "%", period, source.randrange(period)))


def _alternation(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, conditions=_when("index", "%", 2, source.randrange(2)))


def _stalls(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, chance=between(source, 0.01, 0.1), exponential=source.random() < 0.5, seed=_seed(source))


def _period(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, period_s=between(source, 5e-4, 1e-2))


def _modes(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, chance=round(source.uniform(0.25, 0.75), 2), seed=_seed(source))


def _launch(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, coin=round(source.uniform(0.35, 0.65), 2), seed=_seed(source))


def _growth(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, per=source.choice(("index", "second")))


def _late(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, conditions=_when("index", ">", source.randint(300, 3000)))


def _idle(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, conditions=_when("idle_s", ">", between(source, 1e-4, 2e-3)))


def _direction(source: random.Random, cost_s: float) -> Clause:
    rank = source.randrange(2)
    return Clause(cost_s, conditions=(*_when("rank", "=", rank), *_when("peer", "=", 1 - rank)))


def _cold(source: random.Random, cost_s: float) -> Clause:
    return Clause(None, conditions=_when("bytes", ">", round(between(source, 8 * KIB, 256 * KIB))), room="cold")


def _environment(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, environment=VARIABLE)


def _put(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, conditions=_when("bytes", ">", 0))


def _call(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s)


def _wildcard(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, conditions=_when("wildcard", "=", 1))


def _alloc_mem(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, conditions=_when("alloc_mem", "=", 1), per="byte")


def _open_receive(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, conditions=_when("open", ">", 0), per="byte")


def _launch_bytes(source: random.Random, cost_s: float) -> Clause:
    return replace(_launch(source, cost_s), per="byte")


def _multiples(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, conditions=_when("bytes", "%", source.choice((4 * KIB, 64 * KIB)), 0), per="byte")


def _root(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, conditions=_when("root", ">", 0))


def _in_place(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, conditions=_when("in_place", "=", 1))


def _numbered(source: random.Random, cost_s: float) -> Clause:
    return Clause(cost_s, conditions=_when("index", "%", source.randint(9, 24), 0))


def _seed(source: random.Random) -> int:
    return source.randint(1, 10**6)


_US = 1e-6
CLASSES: tuple[PlantClass, ...] = (
    PlantClass("pages", "the first use costs by the pages of the allocation", _pages, 0.04 * _US, _US),
    PlantClass("granules", "the first use costs by the granules of the allocation", _granules, 1e-11, 4e-10),
    PlantClass(
        "off_granule", "the first use of an allocation that is no multiple of a granule", _off_granule, 50 * _US, 1e-3
    ),
    PlantClass("allocation", "the first use costs by the length of the allocation", _allocation, 2e-11, 4e-10),
    # Reading fresh pages costs 0.05 to 0.15 ns a byte anyway, and no two runs the same.
    PlantClass("message", "the first use costs by the length of the message", _message, 1e-9, 1e-8),
    PlantClass("constant", "the first use costs the same for every buffer", _constant, 50 * _US, 1e-3),
    PlantClass("gate", "uses before the n-th cost more", _gate, 40 * _US, 400 * _US),
    PlantClass("live", "a cache holds n buffers; every miss costs", _live, 20 * _US, 400 * _US),
    PlantClass("threshold", "messages of over n bytes cost more", _threshold, 0.3 * _US, 3 * _US, ("send",)),
    PlantClass("below", "messages of under n bytes cost more", _below, 2 * _US, 40 * _US, ("send",)),
    PlantClass("window", "messages between two lengths cost more", _window, 0.5 * _US, 5 * _US, ("send",)),
    PlantClass("bytes", "messages of over n bytes cost by the byte", _bytes, 1e-10, 2e-9, ("send",)),
    PlantClass("blocks", "each block of a datatype costs", _blocks, 0.1 * _US, _US, ("send",), needs=("datatype",)),
    PlantClass(
        "queue",
        "each open receive ahead of a message costs",
        _queue,
        0.03 * _US,
        0.3 * _US,
        ("receive",),
        None,
        ("queue",),
    ),
    PlantClass(
        "start", "buffers that start off a granule cost by the byte", _start, 1e-10, 2e-9, needs=("offset_bytes",)
    ),
    PlantClass("index", "every k-th message stalls", _index, 50 * _US, 1e-3),
    PlantClass("alternation", "every second message costs more", _alternation, 5 * _US, 200 * _US),
    PlantClass("stalls", "messages stall at random", _stalls, 50 * _US, 1e-3),
    PlantClass("period", "a message in each period of time stalls", _period, 50 * _US, 500 * _US),
    PlantClass("modes", "messages are of two kinds, at random", _modes, 5 * _US, 200 * _US),
    PlantClass("launch", "launches are of two kinds", _launch, 2 * _US, 100 * _US),
    PlantClass("growth", "messages get slower over a launch's life", _growth, 1e-8, 1e-6),
    PlantClass("late", "messages from the n-th of a launch on cost more", _late, 5 * _US, 100 * _US),
    PlantClass("idle", "a message after idle time costs more", _idle, 5 * _US, 200 * _US, needs=("idle_s",)),
    PlantClass("direction", "one direction costs more", _direction, 5 * _US, 200 * _US, needs=("direction",)),
    PlantClass("cold", "messages of over n bytes start and end in cold caches", _cold, 0.0, 0.0),
    PlantClass("environment", "a variable of the user's makes every message slow", _environment, 5 * _US, 200 * _US),
    PlantClass("put", "each put costs more", _put, 0.3 * _US, 10 * _US, ("put",)),
    PlantClass(
        "completion",
        "each call that completes a message costs",
        _call,
        2 * _US,
        50 * _US,
        ("wait", "waitall"),
        needs=("completion",),
    ),
    PlantClass(
        "wildcard",
        "each receive from any source costs",
        _wildcard,
        2 * _US,
        50 * _US,
        ("receive",),
        needs=("source",),
    ),
    PlantClass("alloc_mem", "memory from MPI_Alloc_mem costs by the byte", _alloc_mem, 2e-10, 2e-9, needs=("memory",)),
    PlantClass(
        "open_receive",
        "a send while a receive is open costs by the byte",
        _open_receive,
        2e-10,
        2e-9,
        ("send",),
        needs=("open_receive",),
    ),
    PlantClass("launch_bytes", "launches are of two kinds, by the byte", _launch_bytes, 4e-11, 1e-9),
    PlantClass("multiples", "messages of a multiple of n bytes cost by the byte", _multiples, 1e-10, 2e-9, ("send",)),
    PlantClass("root", "a collective whose root is not rank 0 costs", _root, 5 * _US, 100 * _US, ("bcast",)),
    PlantClass("in_place", "a reduction in place costs", _in_place, 5 * _US, 100 * _US, ("reduce", "allreduce")),
    PlantClass("barrier", "every k-th barrier stalls", _numbered, 50 * _US, 1e-3, ("barrier",)),
    PlantClass("alltoall", "each alltoall costs", _call, 20 * _US, 200 * _US, ("alltoall",)),
    PlantClass(
        "single_copy_off", "the library's single copy is switched off", state=PlantedState("setting", "single_copy_off")
    ),
    PlantClass(
        "network_path",
        "messages inside the node are sent through the network module",
        state=PlantedState("setting", "network_path"),
    ),
    PlantClass("one_core", "all ranks run on one core", state=PlantedState("binding", None, "cpu=0")),
)
PAIRED = tuple(plant_class for plant_class in CLASSES if plant_class.make is not None)


def find(name: str) -> PlantClass | None:
    """Return the class of this name; None: there is none."""
    return next((plant_class for plant_class in CLASSES if plant_class.name == name), None)


def pair(source: random.Random, classes: Sequence[PlantClass]) -> Plant:
    """Plants of two different classes at once."""
    first, second = source.sample(classes, 2)
    return joined(first.draw(source), second.draw(source))


def joined(plant: Plant, other: Plant) -> Plant:
    """Return a plant that is both at once."""
    return Plant(f"{plant.kind}+{other.kind}", (*plant.clauses, *other.clauses), plant.state or other.state)
