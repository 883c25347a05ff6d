# SPDX-License-Identifier: Apache-2.0
"""Machines of many nodes as numbers: what a screening of them would measure, with what is planted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from slowpath.studies.nodes.infer import ROUNDS, Alone, Link, Observations, Pair, ring_pairs

TYPICAL_S: Mapping[Alone, float] = {
    "clock": 160e-6,
    "processors": 165e-6,
    "copy": 8e-3,
    "access": 90e-9,
    "single_copy": 120e-6,
}
LATENCY_S, STREAM_S = 1.4e-6, 85e-6
RACK = 40  # nodes behind one switch; pairs of two racks cross two more
CROSSING = {"latency": 1.35, "stream": 1.04}


@dataclass(frozen=True)
class Machine:
    """What a machine has.

    node: lasting spread of nodes.  link: of pairs.  launch: from launch to launch.  disturbed: share of values that
    something else makes up to three times as long.
    alone: node -> measure -> factor.  sends, receives, latency: node -> factor.  links: pair, one way -> factor.
    loaded: as links, but only while all nodes communicate.
    """

    count: int = 1000
    node: float = 0.015
    link: float = 0.02
    launch: float = 0.03
    disturbed: float = 0.01
    alone: Mapping[int, Mapping[Alone, float]] = field(default_factory=dict)
    sends: Mapping[int, float] = field(default_factory=dict)
    receives: Mapping[int, float] = field(default_factory=dict)
    latency: Mapping[int, float] = field(default_factory=dict)
    links: Mapping[Pair, float] = field(default_factory=dict)
    loaded: Mapping[Pair, float] = field(default_factory=dict)


def name(node: int) -> str:
    return f"n{node + 1:04d}"


def screened(machine: Machine, seed: int, rounds: int = ROUNDS) -> Observations:
    """What `slowpath nodes` would observe first."""
    return _observed(machine, seed, list(ring_pairs(machine.count)), rounds, loaded=True, fresh=0)


def screened_again(machine: Machine, seed: int, pairs: Iterable[Link], rounds: int = ROUNDS) -> Observations:
    """The same machine in fresh launches: these pairs alone."""
    numbers = {name(node): node for node in range(machine.count)}
    return _observed(machine, seed, [(numbers[a], numbers[b]) for a, b in pairs], rounds, loaded=False, fresh=1)


def _observed(
    machine: Machine, seed: int, pairs: Sequence[Pair], rounds: int, loaded: bool, fresh: int
) -> Observations:
    lasting, chance = np.random.default_rng([seed, 7]), np.random.default_rng([seed, fresh, 11])
    seen = Observations(nodes=[name(node) for node in range(machine.count)])
    for measure, typical_s in TYPICAL_S.items():
        own = np.exp(lasting.normal(0, machine.node, machine.count))
        for node, factors in machine.alone.items():
            own[node] *= factors.get(measure, 1.0)
        for launch, values in enumerate(_launches(machine, chance, typical_s * own, rounds), start=1):
            for node, value_s in enumerate(values):
                seen.add_alone(measure, name(node), launch, float(value_s))
    spread = {}
    for measure in ("latency", "forward", "reverse"):
        every = list(ring_pairs(machine.count))
        spread[measure] = dict(zip(every, np.exp(lasting.normal(0, machine.link, len(every))), strict=True))
    for direction in ("latency", "forward", "reverse"):
        typical = np.array([_pair_s(machine, pair, direction, loaded) * spread[direction][pair] for pair in pairs])
        for launch, values in enumerate(_launches(machine, chance, typical, rounds), start=1):
            for (a, b), value_s in zip(pairs, values, strict=True):
                link = (name(b), name(a)) if direction == "reverse" else (name(a), name(b))
                seen.add_between("latency" if direction == "latency" else "stream", link, launch, float(value_s))
    return seen


def _pair_s(machine: Machine, pair: Pair, direction: str, loaded: bool) -> float:
    a, b = pair
    kind = "latency" if direction == "latency" else "stream"
    value_s = LATENCY_S if kind == "latency" else STREAM_S
    value_s *= CROSSING[kind] if a // RACK != b // RACK else 1.0
    sender, receiver = (b, a) if direction == "reverse" else (a, b)
    links = {**machine.links, **(machine.loaded if loaded else {})}
    if kind == "stream":
        value_s *= max(machine.sends.get(sender, 1.0), machine.receives.get(receiver, 1.0))
        return value_s * links.get((sender, receiver), 1.0)
    value_s *= max(machine.latency.get(a, 1.0), machine.latency.get(b, 1.0))
    both = min(links.get((a, b), 1.0), links.get((b, a), 1.0))
    return value_s * both


def _launches(
    machine: Machine, chance: np.random.Generator, typical_s: np.ndarray, rounds: int
) -> Iterable[np.ndarray]:
    for _ in range(rounds):
        shift = math.exp(chance.normal(0, 0.02))  # what a launch does to all alike
        noise = np.exp(chance.normal(0, machine.launch, typical_s.size))
        hit = chance.random(typical_s.size) < machine.disturbed
        yield typical_s * shift * noise * np.where(hit, chance.uniform(1.2, 3.0, typical_s.size), 1.0)
