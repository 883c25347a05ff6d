# SPDX-License-Identifier: Apache-2.0
"""Launches of single messages as simulated machines would give them: noise of a quiet core, bursts of a shared one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from slowpath.analyse.build import launch_kinds
from slowpath.analyse.shapes import shapes_of
from slowpath.core.plan import Cell
from slowpath.core.study_results import CellShapes, LaunchKinds
from slowpath.experiments.measured import MetricSamples, Order, reduce

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
Extra = Callable[[Numbers, int], Floats]  # numbers of the messages, launch -> seconds more


def nothing(number: Numbers, launch: int) -> Floats:
    """No shape."""
    return np.zeros(number.size)


def every(period: int, more_s: float, slow: int = 1) -> Extra:
    """The first `slow` of `period` messages, counted from a place of the launch's own."""

    def extra(number: Numbers, launch: int) -> Floats:
        return np.asarray(more_s * ((number + 11 * launch) % period < slow))

    return extra


def at_random(share: float, more_s: float) -> Extra:
    """A share of the messages, drawn for each; the draws are the launch's own."""

    def extra(number: Numbers, launch: int) -> Floats:
        return np.asarray(more_s * (np.random.default_rng(launch).random(number.size) < share))

    return extra


def growing(each_s: float) -> Extra:
    """Every message of a launch takes so much longer than the one before; the cell begins anywhere in it."""

    def extra(number: Numbers, launch: int) -> Floats:
        return np.asarray(each_s * (number + 3000 * (launch % 4)))

    return extra


def launch_of(random: np.random.Generator, messages: int, base_s: float, extra: Floats, burst_s: float = 0.0) -> Floats:
    """Times: 5 % of noise that neighbours share in part, and now and then a burst of `burst_s` that takes 1 to 4."""
    noise = random.normal(0, 0.05, messages + 2)
    times = base_s * np.exp((noise[2:] + noise[1:-1] + noise[:-2]) / np.sqrt(3)) + extra
    if burst_s:
        for start in random.integers(0, messages, random.poisson(messages / 100)):
            times[start : start + random.integers(1, 5)] += burst_s * random.exponential()
    return np.asarray(times)


def simulated(
    lengths_s: dict[int, float],
    extra: Extra = nothing,
    *,
    messages: int = 599,
    launches: int = 5,
    seed: int = 1,
    burst_s: float = 0.0,
    parameters: Mapping[str, str] | None = None,
) -> dict[int, CellShapes]:
    """Length of the message -> shapes of its cell, none where none are taken.  Args: lengths_s: length -> time of a
    message.  parameters: of each cell, further ones.
    """
    random = np.random.default_rng(seed)
    numbers = np.arange(1, messages + 1)
    by_series = {}
    for cell, base_s in enumerate(lengths_s.values()):
        rounds = {}
        for launch in range(1, launches + 1):
            times = launch_of(random, messages, base_s, extra(numbers, launch), burst_s)
            begin_ns = np.cumsum(np.concatenate([[0.0], times[:-1]]) * 1e9 + 500).astype(np.int64)
            reduced = reduce(MetricSamples(times, 1, order=Order(numbers, begin_ns)))
            assert reduced is not None
            rounds[launch] = (launch, reduced)
        by_series[cell, "one_way_s", "steady"] = rounds
    found = shapes_of([_cell(cell, parameters) for cell in range(len(lengths_s))], by_series)
    lengths = list(lengths_s)
    return {lengths[one.cell]: one for one in found}


def lottery(
    bases_s: Sequence[float],
    more_s: float,
    *,
    launches: int = 24,
    seed: int = 1,
    work_s: Sequence[float] | None = None,
    slow: Sequence[int] | None = None,
) -> list[LaunchKinds]:
    """Launches of which a coin of their own makes some slow, or those of `slow`.

    Args: work_s: fixed work of each launch; None: 1 % of noise.
    """
    random = np.random.default_rng(seed)
    coin = random.integers(0, 2, launches)
    if slow is not None:
        coin = np.isin(np.arange(launches), slow).astype(np.int64)
    by_series = {}
    for cell, base_s in enumerate(bases_s):
        rounds = {}
        for launch in range(launches):
            times = base_s * np.exp(random.normal(0, 0.02) + random.normal(0, 0.02, 20)) + more_s * coin[launch]
            reduced = reduce(MetricSamples(times, 1))
            assert reduced is not None
            rounds[launch] = (launch + 1, reduced)
        by_series[cell, "one_way_s", "steady"] = rounds
    work = 1e-5 * np.exp(random.normal(0, 0.01, launches)) if work_s is None else np.asarray(work_s)
    return launch_kinds(
        [_cell(cell) for cell in range(len(bases_s))], by_series, {i + 1: float(one) for i, one in enumerate(work)}
    )


def _cell(number: int, more: Mapping[str, str] | None = None) -> Cell:
    return Cell(
        cell=number,
        key=f"key{number}",
        label=f"cell {number}",
        group="long series",
        experiment="p2p",
        parameters={"pattern": "one_way", **(more or {})},
        environment="default",
        placement="bound",
    )
