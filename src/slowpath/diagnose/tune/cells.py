# SPDX-License-Identifier: Apache-2.0
"""Tuned collectives: what is asked, campaigns, choices, what they promise, and files. Pure but for files."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from slowpath.core.campaign import Campaign, CellsTable, ContrastTable, EnvironmentTable, Values
from slowpath.core.errors import UsageError
from slowpath.core.files import Versioned, decoded, json_bytes, read_bytes, write_atomically
from slowpath.core.result import AtLeastOne, Count, Name, NotNegative
from slowpath.diagnose.sides import LaunchPlace
from slowpath.mpi.guidelines import GUIDELINES
from slowpath.mpi.tuning import (
    ALGORITHMS,
    Kind,
    Pick,
    environments,
)
from slowpath.stats.contrast import ContrastEstimate, paired
from slowpath.stats.estimate import mean

# What is to be tuned; tune.json of the folder, so that it can be continued.

FILE: Final = "tune.json"
SCHEMA: Final = 2
MOST_USES: Final = 40
_NEARLY_ALL: Final = 0.99
DEFAULT_COLLECTIVES: Final = (
    "barrier",
    "bcast",
    "gather",
    "scatter",
    "allgather",
    "alltoall",
    "reduce",
    "allreduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "scan",
    "exscan",
)
DEFAULT_BYTES: Final = (8, 1024, 16384, 131072, 1048576)


class Use(msgspec.Struct, frozen=True):
    """Calls of a watched program that are alike: one collective, communicators of one size, lengths of one size class.

    bytes: mean.  seconds: of a rank, from the last rank's entry to the last exit, all of them.
    """

    collective: Name
    ranks: AtLeastOne
    bytes: Count
    calls: Count
    seconds: NotNegative


class TuneRequest(msgspec.Struct, frozen=True):
    """mpi: as the user names it; null: the one in use.  identity: library and version, as tuning.json has it.

    bytes: of the message, as `message_bytes` of the experiment coll.
    rounds: launches of an environment that prove; half as many choose, twice as many verify.
    program, uses: that a watch saw, most time first; then these cells alone are tuned, and a choice is for all lengths
    of the class.
    """

    library: str
    identity: str
    mpi: str | None
    collectives: tuple[str, ...]
    ranks: tuple[int, ...]
    bytes: tuple[int, ...]
    rounds: int
    program: str | None = None
    uses: tuple[Use, ...] = ()
    schema: int = SCHEMA

    @property
    def choosing_rounds(self) -> int:
        """Few: what looks good by luck is not proven afterwards."""
        return max(4, self.rounds // 2)

    @property
    def verifying_rounds(self) -> int:
        """Many: a cell that is left alone must not look worse by luck."""
        return 2 * self.rounds

    def lengths(self, collective: str, ranks: int) -> tuple[int, ...]:
        """All, ascending; a barrier has one."""
        if self.uses:
            return tuple(sorted({use.bytes for use in self.uses if (use.collective, use.ranks) == (collective, ranks)}))
        return (0,) if collective == "barrier" else self.bytes


def most_of(uses: Sequence[Use]) -> tuple[Use, ...]:
    """Those that hold nearly all time, most first.  Args: uses: most time first."""
    whole_s, held_s, kept = sum(use.seconds for use in uses), 0.0, list[Use]()
    for use in uses[:MOST_USES]:
        if held_s >= _NEARLY_ALL * whole_s:
            break
        kept.append(use)
        held_s += use.seconds
    return tuple(kept)


def save(folder: Path, request: TuneRequest) -> None:
    """Raises: EnvironmentFailure: the disk refuses."""
    write_atomically(folder / FILE, json_bytes(request))


def load(folder: Path) -> TuneRequest:
    """Raises: UsageError: the folder is none of `slowpath tune`.  RecordError: the file is damaged."""
    file = folder / FILE
    if not file.is_file():
        raise UsageError(f"{folder}: no {FILE}; name a folder that slowpath tune began")
    content, advice = read_bytes(file), "tune anew"
    if decoded(content, Versioned, file, advice).schema != SCHEMA:
        raise UsageError(f"{file}: by another version of slowpath; tune again")
    return decoded(content, TuneRequest, file, advice)


def tunable(library: str) -> list[str]:
    """Collectives that have another way under this library."""
    return sorted({guideline.collective for guideline in GUIDELINES} | set(ALGORITHMS.get(library, {})))


def require_known(request: TuneRequest) -> None:
    """Raises: UsageError: a collective that can't be tuned."""
    known = tunable(request.library)
    for name in request.collectives:
        if name not in known:
            raise UsageError(f"--collectives {name}: can't be tuned under {request.library}; one of {', '.join(known)}")


# The campaigns of a tuning: one that chooses, one that holds the files against none.

DEFAULT, TUNED = "default", "tuned"
_REDUCES: Final = ("reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan")
_ELEMENTS: Final = {"double": 8, "int": 4}
_EFFORT: Final = {"samples": "100", "time_limit_s": "0.02", "warmup_s": "0.004"}
_MINIMUM_EFFECT: Final = 0.02


Grid = Mapping[str, Sequence[int]]  # lengths by collective


@dataclass(frozen=True)
class TimedView:
    """How people time a collective, by name. parameters, metric: of the experiment coll."""

    name: str
    parameters: Mapping[str, str]
    metric: str


TOGETHER: Final = TimedView(
    "together", {"pattern": "calls"}, "collective_work_s"
)  # chooses and proves: it repeats best
AFTER_BARRIER: Final = TimedView("after a barrier", {"pattern": "after_barrier"}, "collective_loop_mean_s")
# Three ways of timing; the first is looked at twice, since benchmarks print both a mean and the slowest rank.
VIEWS: Final = (
    AFTER_BARRIER,
    TimedView("after a barrier, slowest rank", {"pattern": "after_barrier"}, "collective_loop_slowest_s"),
    TimedView("back to back", {"pattern": "back_to_back"}, "collective_loop_slowest_s"),
    TimedView("skewed", {"pattern": "calls", "arrival": "random"}, "collective_work_s"),
)


def view_of(parameters: Mapping[str, str], metric: str) -> TimedView | None:
    """The view of a cell and a metric; None: the tuning does not look at this one."""
    for view in (*VIEWS, TOGETHER):
        if metric == view.metric and view.parameters.items() <= parameters.items():
            return view
    return None


def mockups_of(collective: str) -> tuple[str, ...]:
    """Other ways of a collective, as guidelines name them."""
    names = (guideline.mockup for guideline in GUIDELINES if guideline.collective == collective)
    return tuple(dict.fromkeys(name for name in names if name is not None))


def choosing(request: TuneRequest, bind: str, grid: Grid) -> Campaign:
    """Every algorithm that can be forced, and every mock-up, at every length of a grid."""
    forced = environments(request.library, request.collectives)
    tables = [EnvironmentTable(DEFAULT)]
    tables += [EnvironmentTable(f"forced {n + 1}", variables) for n, (_, variables) in enumerate(forced)]
    groups = []
    for collective, lengths in grid.items():
        places = [f"forced {n + 1}" for n, (chosen, _) in enumerate(forced) if collective in chosen]
        groups.append(_cells(collective, collective, [DEFAULT, *places], lengths=lengths))
        if ways := mockups_of(collective):
            name = f"{collective} by other calls"
            groups.append(_cells(name, collective, [DEFAULT], list(ways), lengths))
    title, rounds = "Ways of collectives", request.choosing_rounds
    return _campaign("tune-choose", title, request, tables, groups, [], bind, rounds)


def whole(request: TuneRequest, ranks: int) -> Grid:
    """All cells of one number of ranks."""
    grid = {collective: request.lengths(collective, ranks) for collective in request.collectives}
    return {collective: lengths for collective, lengths in grid.items() if lengths}


def grid_of(picks: Sequence[Pick]) -> Grid:
    """The cells of picks alone."""
    names = dict.fromkeys(pick.collective for pick in picks)
    return {name: sorted({pick.bytes for pick in picks if pick.collective == name}) for name in names}


def comparing(
    request: TuneRequest,
    grid: Grid,
    tuned: Mapping[str, str],
    bind: str,
    rounds: int,
    views: Sequence[TimedView] = (TOGETHER,),
) -> Campaign:
    """The library with its files against itself without, at the cells of a grid.

    Args: tuned: variables that switch the files on.  views: how the cells are timed.
    """
    tables, groups, contrasts = [EnvironmentTable(DEFAULT)], [], []
    if tuned and grid:
        tables.append(EnvironmentTable(TUNED, tuned))
        for collective, lengths in grid.items():
            places = [DEFAULT, TUNED]
            for number, view in enumerate(views):
                name = f"{collective} {view.name}"
                same = next((earlier for earlier in views[:number] if earlier.parameters == view.parameters), None)
                if same is None:
                    groups.append(_cells(name, collective, places, lengths=lengths, view=view))
                cells = f"{collective} {(same or view).name}"
                contrasts.append(_contrast(name, cells, "environment", DEFAULT, TUNED, view.metric))
    return _campaign("tune-compare", "Tuned collectives", request, tables, groups, contrasts, bind, rounds)


def _campaign(
    name: str,
    title: str,
    request: TuneRequest,
    tables: Sequence[EnvironmentTable],
    groups: Sequence[CellsTable],
    contrasts: Sequence[ContrastTable],
    bind: str,
    rounds: int,
) -> Campaign:
    return Campaign(
        name=name,
        title=title,
        ranks=[request.ranks[0]],
        rounds=rounds,
        environments=tables,
        placements=[LaunchPlace(bind).named("bound")],
        cells=groups,
        contrasts=contrasts,
        minimum_effect=_MINIMUM_EFFECT,
        why=f"{title}, by slowpath tune.",
    )


def _cells(
    name: str,
    collective: str,
    environment: Sequence[str],
    ways: Sequence[str] = ("library",),
    lengths: Sequence[int] = (),
    view: TimedView = TOGETHER,
) -> CellsTable:
    datatype = next((name for name, size in _ELEMENTS.items() if all(length % size == 0 for length in lengths)), "byte")
    parameters: dict[str, Values] = {
        "collective": collective,
        "message_bytes": [str(length) for length in lengths],
        "datatype": datatype if collective in _REDUCES else "byte",
        "way": list(ways),
        **view.parameters,
        **_EFFORT,
    }
    return CellsTable(name, "coll", parameters, environment, ["bound"])


def _contrast(name: str, cells: str, axis: str, a: str, b: str, metric: str) -> ContrastTable:
    question = f"Is {name.partition(' ')[0]} faster {'tuned' if axis == 'environment' else 'by other calls'}?"
    return ContrastTable(name, question, cells, axis, a, b, metric)


# Which way of a cell is taken on trial.

WORTH_RATIO: Final = 0.95  # a way that saves less is not tried
OF_THE_LIBRARY_RATIO: Final = 1.03  # its own algorithm is taken, which needs no preload, unless other calls save more


@dataclass(frozen=True, order=True)
class CollectiveCell:
    """One collective at one length with so many ranks."""

    collective: str
    ranks: int
    bytes: int


@dataclass(frozen=True)
class WayTrial:
    """A way of a cell and its time, s. kind: None: the library's own choice."""

    kind: Kind | None
    name: str
    time_s: float


def picks(trials: Mapping[CollectiveCell, Sequence[WayTrial]]) -> list[Pick]:
    """For each cell the way to be proven; none where nothing saves 5 %."""
    chosen = []
    for cell, ways in sorted(trials.items()):
        default = next((way.time_s for way in ways if way.kind is None), None)
        others = sorted((way for way in ways if way.kind is not None), key=lambda way: way.time_s)
        if default is None or not others or others[0].time_s > WORTH_RATIO * default:
            continue
        best = others[0]
        own = next((other for other in others if other.kind == "algorithm"), None)
        if own is not None and own.time_s <= min(WORTH_RATIO * default, OF_THE_LIBRARY_RATIO * best.time_s):
            best = own
        if best.kind is not None:
            chosen.append(Pick(cell.collective, cell.ranks, cell.bytes, best.kind, best.name))
    return chosen


# What tuned files do to each cell, in launches that chose nothing: what is proven, and what has to go.

WORSE_RATIO: Final = 1.02  # no cell may be worse by more
_LEVEL: Final = 0.95


@dataclass(frozen=True)
class CellFactor:
    """Tuned over default of a cell.

    pairs: default and tuned, seconds, of launches next to each other; at least one.  pick: what the cell takes; None:
    the library's own choice.  view: how the cell was timed, by name.
    """

    cell: CollectiveCell
    pairs: tuple[tuple[float, float], ...]
    pick: Pick | None = None
    view: str = "together"

    @cached_property
    def _found(self) -> ContrastEstimate:
        return self._at(_LEVEL)

    def _at(self, level: float) -> ContrastEstimate:
        times = np.array(self.pairs, dtype=np.float64)
        return paired(times[:, 0], times[:, 1], WORSE_RATIO - 1, level=level)

    @property
    def default_s(self) -> float:
        """Median over launches."""
        return float(np.median([default_s for default_s, _ in self.pairs]))

    @property
    def tuned_s(self) -> float:
        """Median over launches."""
        return float(np.median([other for _, other in self.pairs]))

    @property
    def ratio(self) -> float:
        """Above 1, tuned takes longer."""
        return self._found.ratio

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 %; None: too few launches."""
        return self._found.interval if self._found.level is not None else None

    @property
    def faster(self) -> bool:
        """The whole interval lies below 1, and not by a trifle."""
        return self.interval is not None and self.interval[1] < 1 and self.ratio < 1 / WORSE_RATIO

    @property
    def worse(self) -> bool:
        """The whole interval lies above 1, and the time is more than 2 % longer."""
        return self.worse_at(_LEVEL)

    def worse_at(self, level: float) -> bool:
        """The same for an interval of another level."""
        estimate = self._at(level)
        return (
            estimate.level is not None
            and estimate.low is not None
            and estimate.low > 1
            and estimate.ratio > WORSE_RATIO
        )

    @property
    def times_faster(self) -> float:
        """Default over tuned; above 1, tuned is faster."""
        return 1 / self.ratio

    @property
    def at_least(self) -> float | None:
        """What 19 of 20 further pairs of launches obtain at least, of times_faster; None: too few launches.

        A promise is about the launches of somebody else. The lower end of the interval of the mean was kept by 81 % of
        137 figures of OSU and IMB, this bound by 97 % of 107 (docs/results/collectives.md).
        """
        if self.interval is None:
            return None
        times = np.array(self.pairs, dtype=np.float64)
        bound = mean(np.log(times[:, 0] / times[:, 1])).further_above(_LEVEL)
        return None if bound is None else math.exp(bound)

    @property
    def promising(self) -> bool:
        """Worth further launches: neither proven to be faster nor the same."""
        return not self.faster and not self.worse and self.ratio < 1 / WORSE_RATIO


@dataclass(frozen=True)
class Mean:
    """Default over tuned, geometric, above 1: tuned is faster. interval: 95 % over launches; None: too few."""

    ratio: float
    interval: tuple[float, float] | None


def pooled(runs: Iterable[Sequence[CellFactor]]) -> list[CellFactor]:
    """Factors of several runs of the same files: the pairs of each cell and view together."""
    by_view: dict[tuple[CollectiveCell, str], CellFactor] = {}
    for factor in (factor for run in runs for factor in run):
        before = by_view.get((factor.cell, factor.view))
        by_view[factor.cell, factor.view] = (
            factor if before is None else replace(before, pairs=before.pairs + factor.pairs)
        )
    return [by_view[place] for place in sorted(by_view, key=lambda place: place[0])]


def with_picks(factors: Sequence[CellFactor], chosen: Sequence[Pick]) -> list[CellFactor]:
    """Each factor with what its cell takes."""
    by_cell = {CollectiveCell(pick.collective, pick.ranks, pick.bytes): pick for pick in chosen}
    return [replace(factor, pick=by_cell.get(factor.cell)) for factor in factors]


def proven(factors: Sequence[CellFactor]) -> list[Pick]:
    """Picks of cells that were faster."""
    return [factor.pick for factor in factors if factor.pick is not None and factor.faster]


def to_go(factors: Sequence[CellFactor]) -> set[Pick]:
    """Picks that a verification speaks against.

    One whose own cell gains nothing any more in any view; all of a collective with a cell that got worse, since a file,
    or a look into a table, reaches its other lengths too; the level is corrected for the views of the cell. A cell of a
    collective without any pick speaks against the library's file as a whole, which is read for all collectives; there
    are many such cells, so their level is corrected for that.
    """
    gone = {factor.pick for factor in factors if factor.pick is not None and factor.ratio > 1 / WORSE_RATIO}
    picks = {factor.pick for factor in factors if factor.pick is not None}
    reached = {(pick.collective, pick.ranks) for pick in picks}
    views = Counter(factor.cell for factor in factors)
    spoilt = {_group(factor) for factor in factors if factor.worse_at(1 - (1 - _LEVEL) / views[factor.cell])}
    gone |= {pick for pick in picks if (pick.collective, pick.ranks) in spoilt}
    untouched = [factor for factor in factors if _group(factor) not in reached]
    level = 1 - (1 - _LEVEL) / max(1, len(untouched))
    if any(factor.worse_at(level) for factor in untouched):
        gone |= {pick for pick in picks if pick.kind == "algorithm"}
    return gone


def geometric_mean(factors: Sequence[CellFactor]) -> Mean | None:
    """Over cells, launch by launch; the interval is over launches. None: no cell."""
    count = min((len(factor.pairs) for factor in factors), default=0)
    if count == 0:
        return None
    logs = np.log(np.array([factor.pairs[:count] for factor in factors], dtype=np.float64)).mean(axis=0)
    mean = paired(np.exp(logs[:, 0]), np.exp(logs[:, 1]), WORSE_RATIO - 1)
    if mean.interval is None or mean.level is None:
        return Mean(1 / mean.ratio, None)
    return Mean(1 / mean.ratio, (1 / mean.interval[1], 1 / mean.interval[0]))


def counts(factors: Sequence[CellFactor]) -> Mapping[str, int]:
    """Cells whose whole interval says faster or slower, and all others."""
    better = sum(factor.faster for factor in factors)
    worse = sum(factor.worse for factor in factors)
    return {"better": better, "same": len(factors) - better - worse, "worse": worse}


def _group(factor: CellFactor) -> tuple[str, int]:
    return factor.cell.collective, factor.cell.ranks


# What a cell is promised to gain in further launches, in the worst of all ways in which people time a collective.

# High over low end of an interval of times faster. Four cells whose launches disagreed by factors of 11 to 50 were
# promised 1.7 to 6.1 times, and OSU and IMB obtained 0.7 to 2.6 (docs/results/collectives.md).
MOST_SPAN = 4.0


@dataclass(frozen=True)
class Promise:
    """A verified cell. factors: one a view, at least one.  pick: what it takes; None: the library's own choice."""

    cell: CollectiveCell
    factors: tuple[CellFactor, ...]
    pick: Pick | None

    @property
    def times_faster(self) -> float | None:
        """What further launches obtain at least, in the worst view; None: too few launches, or they disagree."""
        ends = [factor.at_least if _agree(factor) else None for factor in self.factors]
        known = [end for end in ends if end is not None]
        return min(known) if len(known) == len(ends) else None

    @property
    def holds(self) -> bool:
        """Every bound lies above 1: whoever measures finds a gain."""
        return self.times_faster is not None and self.times_faster > 1

    def seen(self, view: str) -> CellFactor | None:
        """The cell in one view."""
        return next((factor for factor in self.factors if factor.view == view), None)


def _agree(factor: CellFactor) -> bool:
    """Whether the launches of a view are of one kind: what takes 2 us in some and 100 us in others may take either
    where the program runs."""
    return factor.interval is not None and factor.interval[1] <= MOST_SPAN * factor.interval[0]


def promises(factors: Sequence[CellFactor]) -> list[Promise]:
    """The views of each cell together."""
    cells: dict[CollectiveCell, list[CellFactor]] = {}
    for factor in factors:
        cells.setdefault(factor.cell, []).append(factor)
    return [Promise(cell, tuple(of_cell), of_cell[0].pick) for cell, of_cell in sorted(cells.items())]


def broken(factors: Sequence[CellFactor]) -> set[Pick]:
    """Picks whose cells can't be promised anything."""
    return {promise.pick for promise in promises(factors) if promise.pick is not None and not promise.holds}


# What each step of a tuning may take of its budget. Pure but for the clock.

# Verifying times each cell in three ways. It and the lengths between are asked for twice: they may be repeated.
WEIGHTS: Final[Mapping[str, float]] = {"choose": 4, "finer": 2, "prove": 2, "verify": 8}


@dataclass
class Shares:
    """total_s: for all steps; None: as long as they take.  clock: monotonic, seconds."""

    total_s: float | None = None
    clock: Callable[[], float] = time.monotonic
    _begun_s: float = field(init=False)
    _taken: dict[str, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._begun_s = self.clock()

    def left_s(self) -> float | None:
        """Return what is left of the budget, seconds; None: there is none."""
        return None if self.total_s is None else max(0.0, self.total_s - (self.clock() - self._begun_s))

    def next_s(self, step: str, numbers: int) -> float | None:
        """As `share_s`, and the run is counted."""
        share_s = self.share_s(step, numbers)
        self._taken[step] = self._taken.get(step, 0) + 1
        return share_s

    def share_s(self, step: str, numbers: int) -> float | None:
        """Seconds of the next run of a step: its weight's share of what is left, of all that is still to come.

        Args: step: a key of WEIGHTS.  numbers: of ranks, each of which has all steps.
        """
        left_s = self.left_s()
        if left_s is None:
            return None
        names = list(WEIGHTS)
        later = sum(WEIGHTS[name] * numbers for name in names[names.index(step) + 1 :])
        here = max(1, numbers - self._taken.get(step, 0))
        weight = WEIGHTS[step]
        repeated = weight / 2 if step in ("finer", "verify") else weight
        return left_s * repeated / (weight * here + later)
