# SPDX-License-Identifier: Apache-2.0
"""Every class of plant, and how its parameters are drawn.

The ranges are those that a user would care about: at least a fifth of what the operation takes, at the lengths that the
survey samples. Costs are drawn evenly on a scale of ratios.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from slowpath.studies.plants.plant import Plant, Truth

KIB, MIB = 2**10, 2**20


@dataclass(frozen=True)
class PlantClass:
    """what: one line for people.  draw: parameters from a source of random numbers.  needs: parameters that the survey
    must vary for the plant to be seen at all.  setting: what the MPI library must know (mpi.settings)."""

    name: str
    what: str
    draw: Callable[[random.Random], Plant]
    needs: tuple[str, ...] = ()
    setting: str | None = None


def between(source: random.Random, low: float, high: float) -> float:
    """Even on a scale of ratios, to 3 digits."""
    return float(f"{math.exp(source.uniform(math.log(low), math.log(high))):.3g}")


def _pages(source: random.Random) -> Plant:
    cost_s = between(source, 40e-9, 1e-6)
    return Plant(
        "pages", Truth("SP001", ("4 KiB page", cost_s), also=("SP005", "SP012")), f"use=1 cost_s={cost_s:g} per=page"
    )


def _allocation(source: random.Random) -> Plant:
    cost_s = between(source, 2e-11, 4e-10)
    truth = Truth("SP002", ("byte of the allocation", cost_s), also=("SP005", "SP023"))
    return Plant("allocation", truth, f"use=1 cost_s={cost_s:g} per=allocation")


def _message(source: random.Random) -> Plant:
    # Reading fresh pages costs 0.05 to 0.15 ns a byte anyway, and no two runs the same.
    cost_s = between(source, 1e-9, 1e-8)
    return Plant("message", Truth("SP006", ("byte", cost_s), also=("SP005",)), f"use=1 cost_s={cost_s:g} per=byte")


def _constant(source: random.Random) -> Plant:
    cost_s = between(source, 50e-6, 1e-3)
    return Plant("constant", Truth("SP005", (None, cost_s), also=("SP024",)), f"use=1 cost_s={cost_s:g}")


def _gate(source: random.Random) -> Plant:
    n, cost_s = source.randint(4, 6), between(source, 40e-6, 400e-6)
    truth = Truth("SP004", (None, cost_s), ("repetition", n - 1), also=("SP005",))
    return Plant("gate", truth, f"use<{n} cost_s={cost_s:g}")


def _live(source: random.Random) -> Plant:
    n, cost_s = source.randint(2, 60), between(source, 20e-6, 400e-6)
    truth = Truth("SP003", (None, cost_s), ("live_buffers", n), also=("SP005", "SP024"))
    return Plant("live", truth, f"others>{n - 1} cost_s={cost_s:g}")


def _threshold(source: random.Random) -> Plant:
    n = round(between(source, 100, 400 * KIB))
    cost_s = source.uniform(0.5, 3.0) * (0.6e-6 + n / 4e9)
    return Plant(
        "threshold", Truth("SP013", limit=("message_bytes", n)), f"bytes>{n} cost_s={float(f'{cost_s:.3g}'):g}"
    )


def _blocks(source: random.Random) -> Plant:
    cost_s = between(source, 100e-9, 1e-6)
    return Plant("blocks", Truth("SP015", ("block", cost_s)), f"cost_s={cost_s:g} per=block")


def _queue(source: random.Random) -> Plant:
    cost_s = between(source, 30e-9, 300e-9)
    return Plant("queue", Truth("SP021", ("entry in front", cost_s)), f"call=receive cost_s={cost_s:g} per=queue")


def _setting(name: str, truth: Truth) -> Callable[[random.Random], Plant]:
    return lambda source: Plant(name, truth, setting=name)


def _one_core(source: random.Random) -> Plant:
    return Plant("one_core", Truth("SP011"), "cpu=0")


CLASSES: tuple[PlantClass, ...] = (
    PlantClass("pages", "the first use costs by the pages of the allocation", _pages),
    PlantClass("allocation", "the first use costs by the length of the allocation", _allocation),
    PlantClass("message", "the first use costs by the length of the message", _message),
    PlantClass("constant", "the first use costs the same for every buffer", _constant),
    PlantClass("gate", "uses before the n-th cost more", _gate),
    PlantClass("live", "a cache holds n buffers; every miss costs", _live),
    PlantClass("threshold", "messages of over n bytes cost more", _threshold),
    PlantClass("blocks", "each block of a datatype costs", _blocks, ("datatype",)),
    PlantClass("queue", "each open receive ahead of a message costs", _queue, ("queue",)),
    PlantClass(
        "single_copy_off",
        "the library's single copy is switched off",
        _setting("single_copy_off", Truth("SP009")),
        setting="single_copy_off",
    ),
    PlantClass(
        "network_path",
        "messages inside the node are sent through the network module",
        _setting("network_path", Truth("SP010", also=("SP009",))),
        setting="network_path",
    ),
    PlantClass("one_core", "all ranks run on one core", _one_core),
)


def find(name: str) -> PlantClass | None:
    """None: there is no class of this name."""
    return next((one for one in CLASSES if one.name == name), None)
