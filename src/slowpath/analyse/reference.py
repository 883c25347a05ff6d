# SPDX-License-Identifier: Apache-2.0
"""References: what a cell takes in healthy runs, and which cells of a run lie outside. Pure.

A cell deviates where the low end of its interval lies above everything that healthy runs showed, by a margin. Runs of
another kind of machine are scaled first, by class of cell: a fault that slows down a part of a class leaves the
scale as it is, and one that slows down all of it is held against the other classes.
"""

from __future__ import annotations

import math
import operator
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, wraps
from typing import Literal, TypeVar

import msgspec

from slowpath.core.cell_results import CellResult
from slowpath.core.engine_description import recorded
from slowpath.core.machine import hardware
from slowpath.core.results import RunResult
from slowpath.core.units import whole_number
from slowpath.stats.distribution import ONE_EACH

SAME_KIND_MARGIN = 1.25  # 18 healthy runs of one host, each judged by the others: no cell of 400 deviates
# Of first uses, which take what the kernel has ready. Of 36 healthy runs of one host 10 had times outside with 1.25 for
# all, 5 with this, and 3 where the spread of healthy runs counts as well: a cell each, not slow when measured again.
FIRST_MARGIN = 1.6
# Two cores of one vendor against sixteen of another, scaled: 0 to 97 of 3,900 times lie above 4, and up to 276 above 2.
OTHER_KIND_MARGIN = 4.0
FEWEST_RUNS = 3  # that make a range; fewer say what is usual, not how it varies
# For a suspicion, which is measured again; a finding has SURE_LAUNCHES. Of 14 healthy panels on a busy host, 0 to 32 of
# 6,700 times lie outside with two launches, 0 to 2 with three, and none with five.
FEWEST_LAUNCHES, SURE_LAUNCHES = 2, 3
LEAST_EXTRA_S = 50e-9  # two readings of the clock: no cell is slow by less
LEAST_FIRST_S = 20e-6  # happens once in a process: that a symbol is bound and a page read takes 5 us
_HEALTHY_SHARE = 0.3  # of a class that is taken to be healthy where the machine is not known
_SHORT_BYTES = 16384
# In 44 diagnoses of one host all calls after a pause took 0.51 to 1.51 times as long as in the median of its healthy
# runs. With that divided out 1 of 12,496 times lay outside where nothing was planted, without 3.
_PAUSED = ("calls after a pause", "")
_MOST_OFF = 2.0  # by which a class may differ from all cells before it counts as slow itself

Key = tuple[str, str, str]  # identity of a cell, metric, phase

THIS_KIND = "this kind of machine"
MEDIAN, MEAN = "median", "mean"


class Reference(msgspec.Struct, frozen=True):
    """What a metric of a cell is in healthy runs, scaled to this machine, in the metric's unit."""

    median: float
    low: float
    high: float
    runs: int
    source: str


class HealthyRun(msgspec.Struct, frozen=True):
    """A run that counts as healthy. machine: its kind, processor and number of processors."""

    name: str
    mpi: str
    machine: str
    ranks: int
    source: str = "shipped"


class HealthyRuns(msgspec.Struct, frozen=True):
    """Of several runs: values[key][i] is that of runs[i]; None: not measured there. Keys are joined by `|`."""

    runs: list[HealthyRun]
    values: dict[str, list[float | None]]


@dataclass(frozen=True)
class Item:
    """One metric and phase of a cell. traits: parameters, experiment, environment, placement, phase.

    kind: what of its samples: the median, or the mean where some lie far above.
    period: of its samples.  series: so many in each launch, where they would show stalls.  by_rank_s: where the value
    is the slowest rank's.  least_s: of its samples.  launches_s: the value of each launch.
    """

    key: Key
    cell: int
    metric: str
    phase: str
    value: float
    interval: tuple[float, float]
    launches: int
    traits: Mapping[str, str]
    kind: str = MEDIAN
    period: int | None = None
    series: int = 0
    by_rank_s: tuple[float, ...] = ()
    least_s: float = math.inf
    launches_s: tuple[float, ...] = ()
    usual_s: float = 0.0
    mean_s: float = 0.0

    @property
    def length(self) -> int:
        """Of its message, bytes; 0: it has none."""
        return whole_number(self.traits.get("message_bytes", "")) or 0

    @cached_property
    def scale_class(self) -> tuple[str, str]:
        """As of `scale_class`; what follows a pause is one class, whatever the call."""
        return _PAUSED if self.metric == "call_idle_s" else scale_class(self.traits)

    @property
    def of_median(self) -> Key:
        """Whose reference it has: a mean is held against medians, which healthy runs have nearby."""
        return self.key[0], self.metric, self.phase


@dataclass(frozen=True)
class Judged:
    """An item, its reference, and the limit above which it is slow."""

    item: Item
    reference: Reference
    limit: float

    @property
    def ratio(self) -> float:
        """Value over the healthy median."""
        return self.item.value / self.reference.median

    @property
    def extra_s(self) -> float:
        """Value less the healthy median; of a mean what stalls add to the usual call of the same samples."""
        usual_s = self.item.usual_s if self.item.kind == MEAN else 0.0
        return self.item.value - max(self.reference.median, usual_s)

    @property
    def period(self) -> int | None:
        """Of how many calls one is slow. Of two the median is the slow one's, and the shortest takes no longer."""
        is_half = self.item.period == 2 and self.item.least_s <= self.reference.high
        return self.item.period if self.item.kind == MEAN or is_half else None

    @property
    def extra_ends_s(self) -> tuple[float, float]:
        """The least and the most by which it is longer: its own doubt and that of healthy runs are independent."""
        (low, high), healthy = self.item.interval, self.reference
        below = math.hypot(self.item.value - low, healthy.high - healthy.median)
        return self.extra_s - below, self.extra_s + math.hypot(high - self.item.value, healthy.median - healthy.low)

    @property
    def most_extra_s(self) -> float:
        """The most that a call may cost here. It costs that in every launch, so that the fastest one says it, however
        far launches are apart; but not a first use, which another cell may have paid in that launch.
        """
        launches_s = self.item.launches_s if self.item.phase == "steady" else ()
        return min([self.extra_ends_s[1], *(launch_s - self.reference.low for launch_s in launches_s)])

    @property
    def side(self) -> Literal["slower", "within"]:
        """Slower: the whole interval, or each launch, lies beyond the limit, over launches enough for a suspicion."""
        low = max(self.item.interval[0], min(self.item.launches_s, default=0.0))
        least_s = LEAST_FIRST_S if self.item.phase == "first" else LEAST_EXTRA_S
        is_beyond = low > self.limit and low - self.reference.high > least_s
        return "slower" if is_beyond and self.item.launches >= FEWEST_LAUNCHES else "within"


def scale_class(traits: Mapping[str, str]) -> tuple[str, str]:
    """Cells whose times scale together from machine to machine: experiment and pattern; short, long or none."""
    length = whole_number(traits.get("message_bytes", ""))
    size = "none" if length is None else "short" if length < _SHORT_BYTES else "long"
    experiment = traits["experiment"]
    part = traits.get("pattern", "") if experiment in ("p2p", "first_use") else ""
    return f"{experiment} {part}".strip(), size


@cache
def defaults_of(experiment: str) -> Mapping[str, str]:
    """Parameters of an experiment as they are where nothing is stated."""
    known = next((entry for entry in recorded().experiments if entry.name == experiment), None)
    return known.defaults() if known else {}


_EFFORT = frozenset(("samples", "time_limit_s", "warmup_s", "validate", "instructions", "pauses"))


def stated(cell: CellResult) -> dict[str, str]:
    """Parameters of a cell that differ from their defaults, effort included."""
    defaults = defaults_of(cell.experiment)
    return {name: value for name, value in cell.parameters.items() if value != defaults.get(name, "")}


def identity(cell: CellResult) -> str:
    """What a cell is, over libraries and versions of the engine: what has its default or states effort is left out."""
    parameters = sorted(f"{name}={value}" for name, value in stated(cell).items() if name not in _EFFORT)
    where = [part for part in (cell.environment, cell.placement) if part not in ("default", "bound")]
    return " ".join([cell.experiment, *(f"@{part}" for part in where), *parameters])


def items(cells: Iterable[CellResult]) -> Iterator[Item]:
    """Every time of the cells that were measured; of copies the first, and of collectives the library's own."""
    for cell in cells:
        if cell.copy > 1 or cell.wrong_bytes or cell.parameters.get("way", "library") != "library":
            continue
        name = identity(cell)
        for metric, measured in cell.metrics.items():
            if measured.unit != "s" or measured.better != "lower":
                continue
            for phase, estimate in measured.phases.items():
                low, high = estimate.interval or (min(estimate.launch_values), max(estimate.launch_values))
                traits = {
                    **_own(cell, metric),
                    "experiment": cell.experiment,
                    "environment": cell.environment,
                    "placement": cell.placement,
                    "phase": str(phase),
                }
                key = (name, metric, str(phase))
                # Collectives of healthy libraries go round their buffers, and every fourth is slow.
                numbers = estimate.numbers if cell.experiment != "coll" else None
                series = estimate.samples // estimate.launches if estimate.numbers else 0
                mean = estimate.p50 * estimate.numbers.mean_ratio if estimate.numbers else 0.0
                item = Item(
                    key, cell.cell, metric, str(phase), estimate.value, (low, high), estimate.launches, traits,
                    series=series, by_rank_s=tuple(estimate.by_rank or ()), least_s=estimate.min,
                    period=numbers.period if numbers else None, launches_s=tuple(estimate.launch_values),
                    usual_s=estimate.p50, mean_s=mean,
                )  # fmt: skip
                yield item
                if numbers and numbers.period and ONE_EACH[0] <= numbers.far_share * numbers.period <= ONE_EACH[1]:
                    ends = mean * low / estimate.value, mean * high / estimate.value
                    yield replace(
                        item, key=(name, f"{metric} {MEAN}", str(phase)), value=mean, interval=ends, kind=MEAN,
                        launches_s=(), by_rank_s=tuple(estimate.mean_by_rank or ()),
                    )  # fmt: skip


# What a cell is about, by experiment or pattern: a trait though nothing is stated.
_ABOUT = {
    "p2p": ("pattern", "message_bytes"),
    "put": ("operation", "synchronise", "message_bytes"),
    "coll": ("collective", "message_bytes"),
    "call": ("pattern", "call", "message_bytes"),
}


def _own(cell: CellResult, metric: str) -> dict[str, str]:
    """Parameters of a cell: what it is about, and what is stated; the pause of single calls is call_idle_s's alone.

    What completes a call is MPI_Wait on its request.
    """
    pattern = cell.parameters.get("pattern", "")
    about = _ABOUT.get(cell.experiment) or _ABOUT.get(pattern, ("pattern",))
    own = {**stated(cell), **{name: cell.parameters[name] for name in about if name in cell.parameters}}
    paused = {"idle_s"} if pattern == "call" and metric != "call_idle_s" else set[str]()
    waited: dict[str, str] = {}
    if metric == "call_completion_s":
        waited = {"call": "wait", "request": own.get("request", f"MPI_{own['call'].capitalize()}")}
    return {name: value for name, value in (own | waited).items() if name not in paused}


def healthy_run(run: RunResult, source: str, name: str | None = None) -> HealthyRun:
    """A run as one to compare with."""
    mpi = run.mpi
    return HealthyRun(
        name=name or run.id,
        mpi=" ".join(filter(None, (mpi.name, mpi.version, (mpi.env or {}).get("OMPI_MCA_pml")))),
        machine=", ".join(word or "?" for word in hardware(run.machine)[:2]),
        ranks=max((len(place.observed) for place in run.placements), default=0),
        source=source,
    )


def joined(runs: Sequence[tuple[HealthyRun, Mapping[Key, float]]]) -> HealthyRuns:
    """Several runs as one table; four digits tell as much as such times do."""
    keys = sorted({key for _, values in runs for key in values})
    shortened = [{key: float(f"{value:.4g}") for key, value in values.items()} for _, values in runs]
    return HealthyRuns([run for run, _ in runs], {"|".join(key): [run.get(key) for run in shortened] for key in keys})


def references(measured: Sequence[Item], healthy: HealthyRuns, here: HealthyRun) -> dict[Key, tuple[Reference, float]]:
    """Reference and limit of each item that has one.

    Runs of the same library with as many ranks count: those on the same kind of machine, or where these are fewer than
    FEWEST_RUNS all of them.
    """
    library = here.mpi.split(" ")[::2]  # name, and the transport that its installation asks for
    same = [
        number
        for number, run in enumerate(healthy.runs)
        if run.mpi.split(" ")[::2] == library and run.ranks == here.ranks
    ]
    rows = [healthy.values.get("|".join(item.key)) for item in measured]
    kin = [number for number in same if _is_same_kind(healthy.runs[number], here)]
    tables = {number: _scaled(measured, rows, number, number in kin) for number in same}
    known: dict[Key, tuple[Reference, float]] = {}
    for item in measured:
        for chosen, margin, source in ((kin, SAME_KIND_MARGIN, THIS_KIND), (same, OTHER_KIND_MARGIN, "other machines")):
            # A run whose mean is not known had no stalls there.
            both = (tables[number].get(item.key, tables[number].get(item.of_median)) for number in chosen)
            values = [value for value in both if value is not None]
            if len(values) >= FEWEST_RUNS:
                high = max(values)
                reference = Reference(statistics.median(values), min(values), high, len(values), source)
                least = max(margin, FIRST_MARGIN) if item.phase == "first" else margin
                # Of times that vary by as much as that among healthy runs, one more may lie as far above again.
                known[item.key] = reference, high * max(least, high / reference.median)
                break
    return known


def _is_same_kind(run: HealthyRun, here: HealthyRun) -> bool:
    """Whether both have the same processor, as many or two for each rank (32 for 16: 0 to 3 of 6,786 times outside)."""
    (model, _, number), (other, _, count) = run.machine.rpartition(", "), here.machine.rpartition(", ")
    has_room = all(word.isdigit() and int(word) >= 2 * here.ranks for word in (number, count))
    return model == other and (number == count or has_room)


def _scaled(
    measured: Sequence[Item], rows: Sequence[Sequence[float | None] | None], number: int, is_this_kind: bool
) -> dict[Key, float]:
    """One healthy run's values, as this machine would show them.  Args: rows: of all healthy runs, for each item."""
    theirs = {
        item.key: value
        for item, row in zip(measured, rows, strict=True)
        if row is not None and (value := row[number]) is not None
    }
    ratios: dict[tuple[str, str], list[float]] = defaultdict(list)
    for item in measured:
        if item.kind == MEDIAN and theirs.get(item.key, 0) > 0 and (item.scale_class == _PAUSED or not is_this_kind):
            ratios[item.scale_class].append(item.value / theirs[item.key])
    pooled = sorted(value for values in ratios.values() for value in values)
    if not pooled:
        return theirs if is_this_kind else {}
    overall, share = (1.0, 0.5) if is_this_kind else (_quantile(pooled, _HEALTHY_SHARE), _HEALTHY_SHARE)
    scales: dict[tuple[str, str], float] = defaultdict(lambda: overall)
    for group, values in ratios.items():
        own = _quantile(sorted(values), share) if len(values) >= 8 else overall
        scales[group] = min(max(own, overall / _MOST_OFF), overall * _MOST_OFF)
    return {item.key: theirs[item.key] * scales[item.scale_class] for item in measured if item.key in theirs}


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


NONE = HealthyRuns([], {})


T = TypeVar("T")


def last_answer(function: Callable[..., T]) -> Callable[..., T]:
    """Keep the answer to the same objects, which never change: between two steps a diagnosis asks many times."""
    kept: list[tuple[tuple[object, ...], T]] = []

    @wraps(function)
    def answer(*args: object) -> T:
        if not kept or len(args) != len(kept[0][0]) or not all(map(operator.is_, args, kept[0][0])):
            kept[:] = [(args, function(*args))]
        return kept[0][1]

    return answer


@last_answer
def judged(run: RunResult, cells: Sequence[CellResult], healthy: HealthyRuns) -> list[Judged]:
    """Every time of a run that has a reference, with it."""
    measured = list(items(cells))
    known = references(measured, healthy, healthy_run(run, "this run"))
    return decided([Judged(item, *known[item.key]) for item in measured if item.key in known])


def decided(every: Sequence[Judged]) -> list[Judged]:
    """Of median and mean the one that is slow; of both the one that takes more of the time."""
    slow: dict[Key, Judged] = {}
    for time in sorted(every, key=lambda time: time.item.kind == MEAN):
        known = slow.get(time.item.of_median)
        if time.side == "slower" and (known is None or time.extra_s > known.extra_s):
            slow[time.item.of_median] = time
    kinds = {key: time.item.kind for key, time in slow.items()}
    return [time for time in every if time.item.kind == kinds.get(time.item.of_median, MEDIAN)]


def between(line: Sequence[Judged], item: Item) -> Judged | None:
    """An item with the reference between those of its neighbours by length, up to twice the last one's. Farther off a
    shorter one takes no longer than its neighbour, and a longer one at most in proportion.

    Args: line: times that differ from it in their length alone, by length.
    """
    below = next((time for time in reversed(line) if time.item.length <= item.length), None)
    above = next((time for time in line if time.item.length >= item.length), below)
    if below is None or above is None or item.length > 2 * above.item.length:
        near = below or above
        return near and replace(near, item=item, limit=near.limit * max(1.0, item.length / near.item.length))
    a, b, first = below.reference, above.reference, below.item.length
    share = (item.length - first) / (above.item.length - first) if above.item.length > first else 0.0
    beyond = max(1.0, item.length / above.item.length)

    def mixed(low: float, high: float) -> float:
        return beyond * ((1 - share) * low + share * high)

    known = Reference(
        mixed(a.median, b.median), mixed(a.low, b.low), mixed(a.high, b.high), min(a.runs, b.runs), a.source
    )
    return Judged(item, known, beyond * max(below.limit, above.limit))
