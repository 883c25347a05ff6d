# SPDX-License-Identifier: Apache-2.0
"""How much of the communication that blocking exposes each variant hides. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

BLOCKING, CEILING = "sendrecv", "compute_only"
HIDES_RATIO = 0.8  # of what blocking exposes: as good as a network that works by itself
CLOSE_RATIO = 0.02  # of the time; where blocking exposes less, shares of it mean nothing

Times = Mapping[tuple[str, str, int], Sequence[float]]  # (environment, variant, n) -> seconds of each launch


@dataclass(frozen=True)
class Spread:
    """Median over launches, with the least and the largest."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Row:
    """One variant at one n in one environment.

    hidden_ratio: 1: it takes no longer than the multiplications alone; 0: as long as blocking; None with hidden_reason.
    """

    variant: str
    time_s: Spread
    over_compute: Spread
    hidden_ratio: Spread | None
    hidden_reason: str | None


def spread(values: Sequence[float]) -> Spread:
    """Of at least one value."""
    return Spread(statistics.median(values), min(values), max(values))


def times_of(results: Mapping[str, Any]) -> Times:
    """The median multiplication of each launch, from results.json; a cell that was not measured is left out."""
    found = {}
    for cell in results["cells"]:
        steady = cell["metrics"].get("multiply_s", {}).get("phases", {}).get("steady")
        if steady:
            key = (cell["environment"], cell["parameters"]["variant"], int(cell["parameters"]["n"]))
            found[key] = [float(value) for value in steady["launch_values"]]
    return found


def rows(times: Times, environment: str, n: int) -> list[Row]:
    """Every variant of one environment at one n, compared launch by launch; empty without blocking and the ceiling."""
    cells = {variant: values for (where, variant, order), values in times.items() if (where, order) == (environment, n)}
    if BLOCKING not in cells or CEILING not in cells:
        return []
    launches = len(cells[CEILING])
    return [
        _row(variant, values, cells[BLOCKING], cells[CEILING])
        for variant, values in cells.items()
        if len(values) == len(cells[BLOCKING]) == launches
    ]


def _row(variant: str, values: Sequence[float], blocking: Sequence[float], ceiling: Sequence[float]) -> Row:
    over = spread([t / c for t, c in zip(values, ceiling, strict=True)])
    if variant in (BLOCKING, CEILING):
        return Row(variant, spread(values), over, None, "what the others are compared with")
    # A launch in which blocking happens to expose nothing says nothing.
    shares = [(b - t) / (b - c) for t, b, c in zip(values, blocking, ceiling, strict=True) if b - c > CLOSE_RATIO * b]
    if 2 * len(shares) <= len(values):
        return Row(variant, spread(values), over, None, f"blocking exposes less than {CLOSE_RATIO:.0%}")
    return Row(variant, spread(values), over, spread(shares), None)


def exposed_ratio(times: Times, environment: str, n: int) -> float | None:
    """Share of blocking's time that is not multiplication, median over launches; None: not measured."""
    blocking, ceiling = times.get((environment, BLOCKING, n)), times.get((environment, CEILING, n))
    if not blocking or not ceiling or len(blocking) != len(ceiling):
        return None
    return statistics.median([1 - c / b for b, c in zip(blocking, ceiling, strict=True)])


def next_rate(rate_bits_per_s: float, blocking_s: float, ceiling_s: float, share: float) -> float:
    """The rate at which blocking should expose `share`, from what it exposed at this rate.

    Communication that takes x seconds at a rate takes x rate / rate' at another, as far as it is the link's.
    """
    wanted_s = ceiling_s * share / (1 - share)
    return rate_bits_per_s * (blocking_s - ceiling_s) / wanted_s


def progress(table: Sequence[Row]) -> str:
    """Whether the library moves data while a program computes: a sentence, from non-blocking with and without tests."""
    found = {row.variant: row.hidden_ratio for row in table}
    without, tested = found.get("isend_wait"), found.get("isend_test")
    if without is None or tested is None:
        return "Whether data move without calls can't be reported: isend_wait or isend_test was not measured."
    said = f"isend_wait hides {shown(without)}, with MPI_Testall between pieces (isend_test) {shown(tested)}"
    if without.value >= HIDES_RATIO:
        return f"Data move while the program computes: {said}."
    if tested.low > without.high:
        return f"Data move only inside MPI calls, or mostly: {said}."
    if max(without.value, tested.value) < HIDES_RATIO and tested.value - without.value < 0.1:
        return f"Data hardly move while the program computes, and testing does not help: {said}."
    return f"Whether data move without calls can't be distinguished from these launches: {said}."


def shown(value: Spread) -> str:
    """`83 % [80, 85]`: median, least and largest launch."""
    return f"{100 * value.value:.0f} % [{100 * value.low:.0f}, {100 * value.high:.0f}]"
