# SPDX-License-Identifier: Apache-2.0
"""Laws for findings: sweeps of a run's cells, their lines, and the law of each. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import msgspec
import numpy as np

from slowpath.core.cell_results import CellResult, MetricEstimate, MetricResult
from slowpath.core.plan import Roles, is_effort
from slowpath.core.units import format_bytes
from slowpath.findings.facts import LAW_RATIO, Facts, Ratio, ratio_of
from slowpath.stats.contrast import SIGNIFICANCE
from slowpath.stats.estimate import Floats, mean
from slowpath.stats.laws.choose import Choice, choose, drawn_points
from slowpath.stats.laws.known import (
    LAWS,
    alignment,
)
from slowpath.stats.laws.law import Coefficient, FittedLaw, Law, Sweep, per_page

# Sweeps out of results.json: cells that are equal but for numbers.

FEWEST_POINTS = 3

_LENGTHS = ("sender_allocation_bytes", "receiver_allocation_bytes")


_UNIT = "s"

_WHOLE = re.compile(r"[0-9]{1,18}")


def sweeps(cells: Sequence[CellResult], roles: Roles, only: Callable[[str, str], bool] | None = None) -> list[Sweep]:
    """Each metric in seconds and phase of each set of cells that differ in numbers alone, in the order of the cells.

    Args: roles: of parameters; the value of one that is not among them decides.  only: metrics and phases asked for.
    Nothing that differs in a setting (a pattern, a memory kind, an environment, an MPI) is put into one sweep, whether
    a word or a number spells it. Effort, how long and how often is measured, is no property of what is measured.
    """
    swept = []
    for same in (group for group in _grouped(cells, roles) if len(group) >= FEWEST_POINTS):
        for metric, phase in _series(same):
            if only is not None and not only(metric, phase):
                continue
            if (sweep := _sweep(same, roles, metric, phase)) is not None and sweep.points >= FEWEST_POINTS:
                swept.append(sweep)
    return swept


def along(sweep: Sweep, covariate: str) -> list[Sweep]:
    """The lines of a grid on which one covariate varies and all that do not follow from it stand still."""
    follow = ("buffer_bytes", "allocation_bytes")  # lengths of allocations, which what is swept may decide
    inputs = [name for name in sweep.varied() if name != covariate and not name.endswith(follow)]
    keys = list(zip(*(sweep.covariates[name].tolist() for name in inputs), strict=True)) or [()] * sweep.points
    lines = [sweep.take(np.array([key == wanted for key in keys])) for wanted in dict.fromkeys(keys)]
    return [line for line in lines if line.points >= FEWEST_POINTS and covariate in line.varied()]


def _grouped(cells: Sequence[CellResult], roles: Roles) -> list[list[CellResult]]:
    groups: dict[tuple[str, ...], list[CellResult]] = defaultdict(list)
    for cell in cells:
        if cell.metrics:
            settings = [
                (name, value)
                for name, value in cell.parameters.items()
                if not is_effort(roles, name) and _number(name, value, roles) is None
            ]
            place = (cell.group, cell.experiment, cell.mpi, cell.environment, cell.placement, cell.copy)
            groups[tuple(str(part) for part in [*place, sorted(settings)])].append(cell)
    return list(groups.values())


def _series(cells: Sequence[CellResult]) -> Iterator[tuple[str, str]]:
    pairs = [
        (metric, str(phase))
        for cell in cells
        for metric, entry in cell.metrics.items()
        if entry.unit == _UNIT
        for phase in entry.phases
    ]
    yield from dict.fromkeys(pairs)


def _sweep(cells: Sequence[CellResult], roles: Roles, metric: str, phase: str) -> Sweep | None:
    """None where launches can't be distinguished: cells of one sweep were measured in unlike many of them."""
    there = [(cell, estimate) for cell in cells if (estimate := cell.estimate(metric, phase)) is not None]
    launches = max(len(estimate.launch_values) for _, estimate in there)
    kept = [(cell, estimate) for cell, estimate in there if len(estimate.launch_values) == launches]
    covariates = _covariates([cell.parameters for cell, _ in kept], roles)
    if not covariates:
        return None
    times: Floats = np.array([launch_times(cell.metrics[metric], phase) for cell, _ in kept], dtype=np.float64).T
    samples = np.array([estimate.samples for _, estimate in kept], dtype=np.int64)
    within = _within([estimate for _, estimate in kept])
    group, numbers = str(cells[0].group), tuple(cell.cell for cell, _ in kept)
    return Sweep(covariates, times, samples, group, metric, phase, within, numbers)


def launch_times(entry: MetricResult, phase: str) -> Sequence[float]:
    """What stands for each launch where a law is fitted, seconds: its median, of first messages that of the buffers
    which nothing disturbed (by_repetition).

    Args: entry: of a metric of a cell, which has this phase.
    """
    medians = next(estimate for name, estimate in entry.phases.items() if name == phase).launch_values
    by_use = entry.by_repetition.launch_values if phase == "first" and entry.by_repetition else None
    return [row[0] for row in by_use] if by_use and len(by_use) == len(medians) else medians


def _within(estimates: Sequence[MetricEstimate]) -> Floats | None:
    """Standard error of a launch's median; 1.2533 is the median's over the mean's for a normal law."""
    spreads = [(estimate.within_ratio, estimate.samples / estimate.launches) for estimate in estimates]
    if any(spread is None for spread, _ in spreads):
        return None
    return np.array([1.2533 * spread / np.sqrt(n) for spread, n in spreads if spread is not None], dtype=np.float64)


def _number(name: str, value: str, roles: Roles) -> float | None:
    """None: no number, or one that names a thing. A side's value may stand as SENDER:RECEIVER."""
    if roles.get(name) == "setting":
        return None
    parts = str(value).split(":")
    if name == "buffer_bytes" and all(part == "message" or part.isdecimal() for part in parts):
        return 0.0
    if name == "offset_bytes" and len(set(parts)) > 1:
        return None  # one number can't stand for both sides
    return float(parts[0]) if len(parts) <= 2 and all(part.isdecimal() for part in parts) else None


def _covariates(parameters: Sequence[Mapping[str, str]], roles: Roles) -> dict[str, Floats]:
    """What varies; allocations as one length where the two sides' are alike everywhere."""
    rows = [_lengths(parameter) | _plain(parameter, roles) for parameter in parameters]
    names = [name for name in rows[0] if all(name in row for row in rows)]
    columns = {name: np.array([row[name] for row in rows], dtype=np.float64) for name in names}
    if all(row.get(_LENGTHS[0]) == row.get(_LENGTHS[1]) for row in rows) and _LENGTHS[0] in columns:
        columns["allocation_bytes"] = columns.pop(_LENGTHS[0])
        del columns[_LENGTHS[1]]
    varied = {name: values for name, values in columns.items() if np.ptp(values) > 0}
    if varied and "message_bytes" in columns:
        varied.setdefault("message_bytes", columns["message_bytes"])
    return varied


def _plain(parameters: Mapping[str, str], roles: Roles) -> dict[str, float]:
    numbers = {}
    for name, value in parameters.items():
        if is_effort(roles, name) or name in ("buffer_bytes", "overalloc_bytes", "allocation_bytes", "pad_to_bytes"):
            continue
        if (number := _number(name, value, roles)) is not None and ":" not in value:
            numbers[name] = number
    return numbers


def _lengths(parameters: Mapping[str, str]) -> dict[str, float]:
    sides = [_allocation({k: _side(v, i) for k, v in parameters.items()}) for i in range(len(_LENGTHS))]
    if sides[0] is None or sides[1] is None:
        return {}
    lengths = dict(zip(_LENGTHS, (sides[0], sides[1]), strict=True))
    asked = _allocation({k: _side(v, 0) for k, v in parameters.items() if k not in ("overalloc_bytes", "pad_to_bytes")})
    base = {} if asked is None else {"buffer_bytes": asked}
    return base | lengths


def _side(value: str, index: int) -> str:
    parts = str(value).split(":")
    return parts[index] if len(parts) == len(_LENGTHS) else str(value)


def _allocation(parameters: Mapping[str, str]) -> float | None:
    length = parameters.get("allocation_bytes") or parameters.get("buffer_bytes")
    if length == "message":
        length = parameters.get("message_bytes")
    numbers = [length or "", parameters.get("overalloc_bytes", "0"), parameters.get("pad_to_bytes", "0")]
    if not all(_WHOLE.fullmatch(number) for number in numbers):
        return None
    whole, more, pad = map(int, numbers)
    return float(-(-(whole + more) // pad) * pad if pad else whole + more)


# Laws for findings: plain numbers of what `stats.laws.choose` decided, and the law of a difference.

ALIKE = 1.25  # most over fewest pages that can't tell a cost by the page from a constant

_BOUND = "upper bound: the constant divided by the pages of the shortest such allocation"


def fitted(choice: Choice, sweep: Sweep) -> FittedLaw:
    """What was decided about this sweep."""
    winner, runner_up = choice.winner, choice.runner_up
    return FittedLaw(
        name=winner.name if winner else None,
        formula=winner.law.formula if winner else None,
        coefficients=winner.coefficients if winner else (),
        brackets=winner.brackets if winner else (),
        residual_ratio=winner.rms_ratio if winner else None,
        runner_up=runner_up.name if runner_up else None,
        refused=choice.refused,
        points=sweep.points,
        launches=sweep.launches,
        drawn=drawn_points(sweep, winner),
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


# Lines: sweeps of one quantity with the cells of their points, and the law that each follows.


@dataclass(frozen=True)
class Line:
    """A sweep and the cells of its points, in their order."""

    sweep: Sweep
    cells: tuple[CellResult, ...]
    minimum_effect: float

    @cached_property
    def law(self) -> FittedLaw:
        return self.among(LAWS)

    def among(self, laws: Sequence[Law]) -> FittedLaw:
        """The law among some: where a rule's question leaves no others."""
        return fitted(choose(self.sweep, laws, self.minimum_effect), self.sweep)

    @cached_property
    def centre_s(self) -> Floats:
        """Median over launches at each point, shape (points,)."""
        centre: Floats = np.nanmedian(self.sweep.launch_s, axis=0)
        return centre

    @property
    def slowest(self) -> int:
        return int(np.argmax(self.centre_s))

    @property
    def fastest(self) -> int:
        return int(np.argmin(self.centre_s))

    def ratio(self, slow: int, fast: int) -> Ratio:
        """Of two points, over the launches that measured both."""
        times = self.sweep.launch_s[:, [slow, fast]]
        both = times[np.isfinite(times).all(axis=1)]
        if not both.size:
            return Ratio(float(self.centre_s[slow] / self.centre_s[fast]), None, False)
        return ratio_of(both[:, 0], both[:, 1], self.minimum_effect)

    def picked_ratio(self, slow: int, fast: int) -> Ratio:
        """As `ratio`, of two points that were picked because they lie apart, which among many points some always do:
        `beyond` only where its end at 95 % for all points together (Bonferroni) is LAW_RATIO or more, too.
        """
        ratio = self.ratio(slow, fast)
        times = np.log(self.sweep.launch_s[:, [slow, fast]])
        both = times[np.isfinite(times).all(axis=1)]
        if ratio.interval is None or not both.size:
            return ratio
        wide = mean(both[:, 0] - both[:, 1]).interval(1 - SIGNIFICANCE / self.sweep.points)
        return replace(ratio, beyond=ratio.beyond and wide is not None and wide.low >= np.log(LAW_RATIO))


def lines_along(facts: Facts, *covariates: str, phase: str, metrics: Iterable[str]) -> list[Line]:
    """Return the lines in which one of these covariates varies and nothing else that does not follow from it.

    Imported logs are each a launch and a condition of their own, which they say nothing of: their points may stand in
    one sweep, which has then one launch.
    """
    pooled = {"environment": "", "placement": "", "group": ""} if facts.imported else {}
    wanted = frozenset(metrics)
    cells = [msgspec.structs.replace(cell, **pooled) for cell in facts.every_cell if wanted & cell.metrics.keys()]
    return [
        Line(part, tuple(facts.cells[number] for number in part.cells), facts.minimum_effect)
        for sweep in sweeps(cells, facts.roles, lambda metric, of: metric in wanted and of == phase)
        for name in covariates
        if name in sweep.varied()
        for part in along(sweep, name)
    ]
