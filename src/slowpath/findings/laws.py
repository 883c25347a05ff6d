# SPDX-License-Identifier: Apache-2.0
"""Laws for findings: plain numbers of what `stats.laws.choose` decided, and the law of a difference. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from slowpath.core.cell_results import CellResult
from slowpath.core.units import format_bytes
from slowpath.findings.difference import Slowdown
from slowpath.findings.facts import Facts
from slowpath.findings.words import number, page_bytes
from slowpath.stats.laws.choose import Choice, choose, drawn_points
from slowpath.stats.laws.fit import held_out, verdict
from slowpath.stats.laws.known import (
    BY_BLOCK,
    BY_BYTE,
    BY_COUNT,
    BY_QUEUE,
    CONSTANT,
    COUNT,
    LIVE_BUFFERS,
    PAGES,
    REPETITIONS,
    SEGMENTS,
    alignment,
)
from slowpath.stats.laws.law import Coefficient, FittedLaw, Law, Sweep, failed_words, make_sweep, per_page

FEWEST_POINTS = 3

ALIKE = 1.25  # most over fewest pages that can't tell a cost by the page from a constant

_BOUND = "upper bound: the constant divided by the pages of the shortest such allocation"

_MESSAGE = "message_bytes"

# The laws that rules ask for by name.
_ASKED: tuple[Law, ...] = (
    CONSTANT,
    BY_BYTE,
    PAGES,
    BY_BLOCK,
    LIVE_BUFFERS,
    BY_QUEUE,
    REPETITIONS,
    SEGMENTS,
)

BY_NAME: Mapping[str, Law] = {law.name: law for law in _ASKED}


def named(names: Sequence[str]) -> tuple[Law, ...]:
    """Raises: KeyError: no rule may ask for a law of that name."""
    return tuple(BY_NAME[name] for name in names)


def fitted(choice: Choice, sweep: Sweep, again: Callable[[Sweep], Choice]) -> FittedLaw:
    """What was decided about this sweep, and what the law predicts of points that are set apart.

    Args: again: the same choice for another sweep.
    """
    winner, runner_up = choice.winner, choice.runner_up
    forecasts = held_out(sweep, winner.name, lambda rest: again(rest).winner) if winner is not None else ()
    predicted = verdict(forecasts)
    failed = winner is not None and predicted == "failed"
    return FittedLaw(
        name=winner.name if winner and not failed else None,
        formula=winner.law.formula if winner and not failed else None,
        coefficients=winner.coefficients if winner else (),
        brackets=winner.brackets if winner else (),
        residual_ratio=winner.rms_ratio if winner else None,
        left_out_ratio=winner.left_out_ratio if winner else None,
        runner_up=runner_up.name if runner_up else None,
        refused=failed_words(winner.name, forecasts) if winner and failed else choice.refused,
        separating=tuple(point.place for point in choice.separating),
        points=sweep.points,
        launches=sweep.launches,
        drawn=drawn_points(sweep, None if failed else winner),
        fits=winner.name if winner else None,
        forecasts=forecasts,
        predicted=predicted,
    )


def with_bound(law: FittedLaw, sweep: Sweep) -> FittedLaw:
    """Of granules with a constant for the best aligned lengths also what their pages cost at most.

    Allocations that all have about the same number of the largest pages can't tell their cost from a constant, which is
    then an upper bound of it.
    """
    if law.name != "granules" or not law.brackets or law.coefficients[0].at_bytes is not None:
        return law
    lengths = next((sweep.covariates[n] for n in sweep.varied() if n.endswith("allocation_bytes")), None)
    page = law.brackets[-1].up_to
    if lengths is None or per_page(int(page)) in [coefficient.per for coefficient in law.coefficients]:
        return law
    counts = np.ceil(lengths[alignment(lengths) >= page] / page)
    if not counts.size or counts.max() > ALIKE * counts.min():
        return law
    first, least = law.coefficients[0], float(counts.min())
    values = tuple(value / least for value in first.launch_values)
    name, value = f"{format_bytes(int(page))} granules at most", first.value / least
    bound = Coefficient(name, per_page(int(page)), value, None, _BOUND, None, values, is_bound=True)
    return replace(law, coefficients=(*law.coefficients, bound))


def difference_law(found: Sequence[Slowdown], minimum_effect: float) -> FittedLaw | None:
    """Law of slow minus fast over the slow cells' message lengths.

    Returns: None with fewer than three contrasts that have the same launches and a length of their own.
    """
    rows: dict[tuple[float, ...], list[float]] = {}
    for slowdown in found:
        length = number(slowdown.slow, _MESSAGE)
        slow, fast = (
            _values(slowdown.slow, slowdown.metric, slowdown.slow_phase),
            _values(slowdown.fast, slowdown.metric, slowdown.fast_phase),
        )
        if length is None or not slow or len(slow) != len(fast):
            continue
        more = np.array(slow) - np.array(fast)
        if (more > 0).mean() > 0.5:
            rows[(length,)] = np.where(more > 0, more, np.nan).tolist()
    law = _chosen(rows, (_MESSAGE,), minimum_effect, (CONSTANT, BY_BYTE))
    return replace(law, is_excess=True) if law else None


def by_length(cell: CellResult, cells: Iterable[CellResult]) -> dict[float, CellResult]:
    """Cells of its group that differ from it in nothing but the length of the message, by that length."""

    def rest(one: CellResult) -> tuple[object, ...]:
        parameters = frozenset((name, value) for name, value in one.parameters.items() if name != _MESSAGE)
        return one.group, one.experiment, one.mpi, one.environment, one.placement, one.copy, parameters

    wanted = rest(cell)
    return {length: cell for cell in cells if (length := number(cell, _MESSAGE)) is not None and rest(cell) == wanted}


def length_law(excess_s: Mapping[float, Sequence[float]], minimum_effect: float) -> FittedLaw | None:
    """Law of an excess over message lengths.

    Args: excess_s: length -> of each launch, seconds.  Returns: None with fewer than three lengths where it costs time.
    """
    rows: dict[tuple[float, ...], list[float]] = {
        (length,): [value if value > 0 else float("nan") for value in values]
        for length, values in excess_s.items()
        if sum(value > 0 for value in values) > len(values) / 2
    }
    return _chosen(rows, (_MESSAGE,), minimum_effect, (CONSTANT, BY_BYTE))


def count_law(launches_s: Mapping[float, Sequence[float]], minimum_effect: float) -> FittedLaw | None:
    """Law of times over a plain count.

    Args: launches_s: count -> of each launch, seconds.  Returns: None with fewer than three counts.
    """
    rows: dict[tuple[float, ...], list[float]] = {(count,): list(times) for count, times in launches_s.items()}
    return _chosen(rows, (COUNT,), minimum_effect, (CONSTANT, BY_COUNT))


def page_law(found: Sequence[Slowdown], minimum_effect: float) -> FittedLaw | None:
    """Law of the times of both sides over the pages that a message touches, small and huge ones.

    Returns: None unless the pages of enough cells were observed.
    """
    rows: dict[tuple[float, ...], list[float]] = {}
    for slowdown in found:
        for cell, phase in ((slowdown.slow, slowdown.slow_phase), (slowdown.fast, slowdown.fast_phase)):
            page, length = page_bytes(cell), number(cell, _MESSAGE)
            if page is not None and length is not None:
                rows[length, page] = _values(cell, slowdown.metric, phase)
    return _chosen(rows, (_MESSAGE, "page_bytes"), minimum_effect, (CONSTANT, BY_BYTE, PAGES))


def _values(cell: CellResult, metric: str, phase: str) -> list[float]:
    estimate = cell.estimate(metric, phase)
    return estimate.launch_values if estimate else []


def _chosen(
    rows: Mapping[tuple[float, ...], list[float]],
    covariates: Sequence[str],
    minimum_effect: float,
    laws: Sequence[Law],
) -> FittedLaw | None:
    launches = max((len(values) for values in rows.values()), default=0)
    kept = {place: values for place, values in rows.items() if launches and len(values) == launches}
    times = np.array(list(kept.values()), dtype=np.float64).T
    if len(kept) < FEWEST_POINTS:
        return None
    measured = np.isfinite(times).any(axis=1)
    columns = {name: [place[i] for place in kept] for i, name in enumerate(covariates)}
    sweep = make_sweep(columns, times[measured])

    def again(rest: Sweep) -> Choice:
        return choose(rest, laws, minimum_effect)

    return fitted(again(sweep), sweep, again)


def over_lengths(facts: Facts, slowdown: Slowdown) -> list[Slowdown]:
    """Return the same two sides at every length of message that was measured, decided or not."""
    slow, fast = (by_length(side, facts.cells.values()) for side in (slowdown.slow, slowdown.fast))
    return [replace(slowdown, slow=slow[length], fast=fast[length]) for length in slow if length in fast]
