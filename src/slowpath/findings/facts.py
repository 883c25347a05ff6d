# SPDX-License-Identifier: Apache-2.0
"""Facts of one run, out of results.json: what slow paths look at, and the words for it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec
import numpy as np

from slowpath.core.cell_results import CellResult
from slowpath.core.finding_results import ContrastResult
from slowpath.core.machine import Others, parse_cpu_list
from slowpath.core.plan import Roles
from slowpath.core.result import Interval
from slowpath.core.run_results import EnvironmentResult, PlacementResult, RankPlace, RunResult, SkippedRow
from slowpath.core.units import format_bytes, format_time, of_ratio
from slowpath.core.units import ratio_words as with_interval
from slowpath.stats.contrast import paired
from slowpath.stats.estimate import Floats

# Words of findings: ratios, lengths, memory, costs. Plain ASCII; rounding is that of `core.units`.

# Of the metrics of one cell the first of these speaks.
OF_MESSAGES = ("one_way_s", "half_round_trip_latency_s", "send_barrier_s", "time_per_message_s")

PUT = "time_per_put_s"

SPEAKING = (*OF_MESSAGES, PUT)

SMALL_PAGE_BYTES = 4096

HUGE_PAGE_BYTES = 2 * 2**20

_DEVICE = ("device", "device_pool", "device_vmm", "managed")

_PAGE_OF = {"small": SMALL_PAGE_BYTES, "shared": SMALL_PAGE_BYTES, "huge": HUGE_PAGE_BYTES}


def ratio_words(ratio: Ratio) -> str:
    """`3.29x [3.10, 3.50]`; without an interval the bare ratio."""
    return with_interval(ratio.value, ratio.interval)


def times_words(difference: Difference) -> str:
    """`4.00 ms vs 2.00 ms`, the slow side first."""
    slow_s, fast_s = of_ratio(difference.slow_s, difference.fast_s, difference.ratio.value)
    return f"{format_time(slow_s)} vs {format_time(fast_s)}"


def slowdown_words(slowdown: Slowdown) -> str:
    """Facts of one contrast, with its id to look up."""
    slow_s, fast_s = of_ratio(slowdown.slow_s, slowdown.fast_s, slowdown.ratio.value)
    return (
        f"{slowdown.slow.label}, {slowdown.slow_phase}: {format_time(slow_s)} vs {format_time(fast_s)} of "
        f"{slowdown.fast.label}, {slowdown.fast_phase}: {ratio_words(slowdown.ratio)} (contrast {slowdown.contrast})"
    )


def parameter(cell: CellResult, name: str, default: str = "") -> str:
    """As the plan has it; the default where the cell has none."""
    return cell.parameters.get(name, default)


def number(cell: CellResult, name: str) -> float | None:
    """A parameter as a number; None where the cell has none or another thing."""
    text = cell.parameters.get(name, "")
    return float(text) if text.isdecimal() else None


def sizes(cells: Iterable[CellResult], name: str = "message_bytes") -> str:
    """`1 MiB`, or `64 KiB to 16 MiB`; empty where no cell has the parameter."""
    lengths = sorted({int(value) for cell in cells if (value := number(cell, name)) is not None})
    if not lengths:
        return ""
    ends = dict.fromkeys((lengths[0], lengths[-1]))
    return " to ".join(format_bytes(end) for end in ends)


def memory(cells: Iterable[CellResult]) -> str:
    """Kinds of memory of some cells, as their parameter has it: `host`, `device:host`."""
    # An experiment with a GPU that exports is about GPU memory alone.
    usual = {False: "host", True: "device"}
    kinds = (parameter(cell, "memory", usual["exporter_device" in cell.parameters]) for cell in cells)
    return " and ".join(dict.fromkeys(kinds))


def is_device(cell: CellResult) -> bool:
    """Whether the sender's buffer is GPU memory."""
    return memory([cell]).split(":")[0] in _DEVICE


def where_words(cells: Sequence[CellResult], *others: str) -> list[str]:
    """Words of a place: the memory, what else is asked for, the lengths of messages."""
    lengths = sizes(cells)
    return [f"{memory(cells)} memory", *others, *([f"messages of {lengths}"] if lengths else [])]


def gpus(cells: Iterable[CellResult]) -> list[str]:
    """`within one GPU`, `between GPUs 0 and 1`; empty where memory is not a GPU's, or each rank took its own."""
    kinds = dict.fromkeys(_gpus(parameter(cell, "device", "auto")) for cell in cells if is_device(cell))
    words = " and ".join(kind for kind in kinds if kind)
    return [words] if words else []


def _gpus(device: str) -> str:
    sides = device.split(":")
    if not all(side.isdecimal() for side in sides):
        return ""
    return "within one GPU" if len(set(sides)) == 1 else f"between GPUs {' and '.join(sides)}"


def page_bytes(cell: CellResult) -> float | None:
    """Length of the pages under a cell's buffers as they were observed, None: not observed, or of several kinds."""
    seen = set(cell.allocations.pages_observed) if cell.allocations else set()
    known = {_PAGE_OF[kind] for kind in seen if kind in _PAGE_OF}
    return float(known.pop()) if len(known) == 1 and seen <= _PAGE_OF.keys() else None


def buffer_words(cell: CellResult) -> str:
    """`1 GiB + 1 B` for the sender's allocation; empty where it is as long as the message, or not recorded."""
    length = (parameter(cell, "allocation_bytes") or parameter(cell, "buffer_bytes") or "message").split(":")[0]
    extra = parameter(cell, "overalloc_bytes", "0").split(":")[0]
    if length == "message":
        length = parameter(cell, "message_bytes") if extra not in ("", "0") else ""
    if not (length.isdecimal() and extra.isdecimal()):
        return ""
    pad = parameter(cell, "pad_to_bytes", "0").split(":")[0]
    whole = int(length) + int(extra)
    if pad.isdecimal() and int(pad) > 0:
        whole = -(-whole // int(pad)) * int(pad)
    return format_bytes(whole)


# Differences between two measurements, and decided contrasts as slow over fast.
#
# Times are seconds. Every difference names its slow side first.

INSTEAD = "instead: "  # begins the name of an environment in which the library makes one choice otherwise
WITHOUT_USER = "without your settings"  # the environment that lacks all of the user's own

LAW_RATIO = 1.1  # least of a law: of many, some fit noise, to 1.08 in 4 of 60 clean runs

CLEAR_RATIO = 1.25  # from here on a difference is called a slow path also where no law or rule says more about it


@dataclass(frozen=True)
class Place:
    """Where a slow path was seen; None: not known, as in imported logs. words: the same and more, for people."""

    words: str
    mpi: str | None = None
    environment: str | None = None
    placement: str | None = None


@dataclass(frozen=True)
class Ratio:
    """interval: None with fewer than 3 launches.  beyond: its lower end lies above 1 and the minimum effect."""

    value: float
    interval: Interval | None
    beyond: bool

    @property
    def least(self) -> float:
        """Lower end of the interval; the value itself where there is none."""
        return self.interval[0] if self.interval else self.value


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Two measurements of one metric, slow over fast."""

    slow: CellResult
    fast: CellResult
    metric: str
    slow_s: float
    fast_s: float
    ratio: Ratio

    @property
    def excess_s(self) -> float:
        return self.slow_s - self.fast_s


@dataclass(frozen=True, kw_only=True)
class Slowdown(Difference):
    """A decided contrast beyond the minimum effect. slow_value, fast_value: what the axis is set to.

    affects_default: whether users who change nothing are on the slow side; None: neither side is theirs.
    suspect: what is doubtful about its values.  of_two_kinds: as `are_of_two_kinds` says of its launches.
    """

    contrast: str
    axis: str
    slow_value: str
    fast_value: str
    slow_phase: str
    fast_phase: str
    affects_default: bool | None
    suspect: tuple[str, ...] = ()
    of_two_kinds: bool = False


DECIDED = ("slower", "faster")

SIGNIFICANCE = 0.05


_FEWEST_OF_KINDS = 5  # launches, of which one may be of the other kind
_NEAR, _APART = 0.25, 0.5  # of the excess of the slow kind: what reaches the other side, and what does not
_LEAST_EXCESS = np.log(2.0)  # of the slow kind: under it noise looks like two kinds


def are_of_two_kinds(slow_s: Sequence[float] | Floats, fast_s: Sequence[float] | Floats) -> bool:
    """Whether some launches of the slow side are as fast as all of the other side, and the rest far from it.

    All launches of an environment have what it sets, so such a difference has another cause: what a launch found, or
    what it had done before. Seen with Intel MPI 2021.18: one-way messages of 1 MiB take 6 times as long in all
    launches, and only in those, in which no message of 16 MiB went before them (20 of 20; malloc's thresholds change
    nothing, and why it is so is not known).

    Args: medians of launches, above 0 s, shape (launches,).
    """
    slow, fast = np.sort(np.log(slow_s)), np.log(fast_s)
    if len(slow) < _FEWEST_OF_KINDS or len(fast) < _FEWEST_OF_KINDS:
        return False
    middle = float(np.median(fast))
    split = 1 + int(np.argmax(np.diff(slow)))
    excess = float(np.median(slow[split:])) - middle
    reaches, stays_away = slow[split - 1] <= middle + _NEAR * excess, slow[split] >= middle + _APART * excess
    return bool(excess >= _LEAST_EXCESS and reaches and stays_away and fast.max() <= middle + _NEAR * excess)


def ratio_of(slow_s: Sequence[float] | Floats, fast_s: Sequence[float] | Floats, minimum_effect: float) -> Ratio:
    """Slow over fast from medians of the same launches, in their order; shape (launches,), above 0 s."""
    estimate = paired(fast_s, slow_s, minimum_effect)
    if estimate.level is None or estimate.interval is None or estimate.p is None:
        return Ratio(estimate.ratio, None, False)
    beyond = estimate.interval[0] > 1 + minimum_effect and estimate.p <= SIGNIFICANCE
    return Ratio(estimate.ratio, estimate.interval, beyond)


def slowdown(contrast: ContrastResult, cells: Mapping[int, CellResult]) -> Slowdown | None:
    """None unless it is decided, no control, and its interval lies beyond the minimum effect."""
    if contrast.verdict not in DECIDED or contrast.control or not contrast.interval or contrast.ratio is None:
        return None
    rises = contrast.ratio > 1
    low, high = contrast.interval if rises else (1 / contrast.interval[1], 1 / contrast.interval[0])
    slow, fast = (contrast.b, contrast.a) if rises else (contrast.a, contrast.b)
    slow_s, fast_s = contrast.b_value_s, contrast.a_value_s
    if low <= 1 + contrast.minimum_effect or slow_s is None or fast_s is None:
        return None
    launches_s = np.array(contrast.pairs or np.zeros((0, 2)), dtype=np.float64).T
    default = {"a": contrast.a, "b": contrast.b}[contrast.default_side] if contrast.default_side else None
    return Slowdown(
        slow=cells[slow.cell],
        fast=cells[fast.cell],
        metric=contrast.metric,
        slow_s=slow_s if rises else fast_s,
        fast_s=fast_s if rises else slow_s,
        ratio=Ratio(contrast.ratio if rises else 1 / contrast.ratio, (low, high), True),
        contrast=contrast.id,
        axis=contrast.axis,
        slow_value=slow.value,
        fast_value=fast.value,
        slow_phase=slow.phase,
        fast_phase=fast.phase,
        affects_default=None if default is None else default is slow,
        suspect=tuple(contrast.suspect),
        of_two_kinds=are_of_two_kinds(*(launches_s[::-1] if rises else launches_s)),
    )


# Facts of one run, out of results.json: what slow paths look at.
#
# `Facts` holds what any slow path may ask. What one alone asks for is a function of its own that takes a `Facts`.
#
# Among the facts: processors that ranks were allowed to use, and whether some had to share one.


@dataclass(frozen=True)
class Processors:
    """Where ranks may run. shared: a node has fewer processors than ranks. movable: one may run on several."""

    words: str
    shared: bool
    movable: bool


def allowed(ranks: Sequence[RankPlace]) -> Processors | None:
    """None: no rank was observed."""
    if not ranks:
        return None
    words = ", ".join(f"rank {rank.rank} on {rank.cpus_allowed}" for rank in ranks)
    return Processors(words, _is_crowded(ranks), any(len(parse_cpu_list(rank.cpus_allowed)) > 1 for rank in ranks))


def _is_crowded(ranks: Sequence[RankPlace]) -> bool:
    by_host: dict[str, list[frozenset[int]]] = {}
    for rank in ranks:
        by_host.setdefault(rank.host, []).append(parse_cpu_list(rank.cpus_allowed))
    return any(all(sets) and len(frozenset().union(*sets)) < len(sets) for sets in by_host.values())


def crowded(placements: Sequence[PlacementResult]) -> list[PlacementResult]:
    """Placements in which ranks of a node have fewer processors than there are of them.

    [] where one of the run has enough, for then their contrast speaks, and where none asked for a core each: who asks
    for more ranks than cores knows it.
    """
    known = [placement for placement in placements if placement.observed]
    if not all(_is_crowded(placement.observed) for placement in known):
        return []
    return known if any(placement.bind == "core" for placement in known) else []


DEFAULT_EFFECT = 0.03  # minimum effect of a run that has no contrast


@dataclass(frozen=True)
class Facts:
    """Cells, contrasts, environments and placements of one run.

    every_cell, contrasts, skipped: as results.json has them.  roles: of the parameters of its cells.
    """

    run: RunResult
    every_cell: Sequence[CellResult]
    contrasts: Sequence[ContrastResult]
    roles: Roles
    skipped: Sequence[SkippedRow] = ()

    @cached_property
    def cells(self) -> Mapping[int, CellResult]:
        """By number."""
        return {cell.cell: cell for cell in self.every_cell}

    @property
    def imported(self) -> bool:
        """Whether it is made of logs, which do not say how they were launched."""
        return self.run.imported

    @cached_property
    def minimum_effect(self) -> float:
        """As the contrasts have it."""
        return max((contrast.minimum_effect for contrast in self.contrasts), default=DEFAULT_EFFECT)

    @cached_property
    def others(self) -> Others | None:
        """What other processes took of the machine just before the run; None: not looked at."""
        others = self.run.machine.get("others")
        return None if others is None else msgspec.convert(others, Others)

    @cached_property
    def control_ratio(self) -> float:
        """The largest difference, as a ratio above 1, that a decided contrast of a cell with itself shows; 1: none."""
        controls = [contrast for contrast in self.contrasts if contrast.control and contrast.verdict in DECIDED]
        return max((max(control.ratio, 1 / control.ratio) for control in controls if control.ratio), default=1.0)

    # What was compared.

    @cached_property
    def all_slowdowns(self) -> list[Slowdown]:
        """Every decided contrast beyond the minimum effect, controls left out, and those in which the user's own
        settings are the fast side: that is no slow path.
        """
        slowdowns = (slowdown(contrast, self.cells) for contrast in self.contrasts)
        return [
            slowdown for slowdown in slowdowns if slowdown is not None and slowdown.slow.environment != WITHOUT_USER
        ]

    def slowdowns(self, *axes: str, phase: str) -> list[Slowdown]:
        """Decided contrasts on one of these axes with both sides in this phase. Where launches of one environment are
        of two kinds, the environment is no cause."""
        slowdowns = (
            slowdown
            for slowdown in self.all_slowdowns
            if slowdown.axis in axes and slowdown.slow_phase == slowdown.fast_phase == phase
        )
        return [slowdown for slowdown in slowdowns if slowdown.axis != "environment" or not slowdown.of_two_kinds]

    # Where it was measured.

    def cells_of(self, experiment: str) -> list[CellResult]:
        """Cells of one experiment, with times, in their order."""
        return [cell for cell in self.every_cell if cell.experiment == experiment and cell.metrics]

    def setting(self, cell: CellResult) -> str | None:
        """Library-neutral name of its environment's state, as "network_path"; None: none was asked for."""
        entry = _of_cell(self.run.environments, cell)
        return entry.setting if entry else None

    def variables(self, cell: CellResult) -> Mapping[str, str]:
        """Variables that its environment sets."""
        entry = _of_cell(self.run.environments, cell)
        return entry.variables if entry else {}

    def stated(self, cell: CellResult) -> Mapping[str, str]:
        """Of an imported log: what its importer stated of the launch, as nodes, transport, bind."""
        entry = _of_cell(self.run.environments, cell)
        return (entry.stated if entry else None) or {}

    def as_found(self, cell: CellResult) -> bool:
        """Whether its environment is that of users who change nothing: nothing set and nothing unset."""
        entry = _of_cell(self.run.environments, cell)
        return entry is None or entry.as_found

    def processors(self, cell: CellResult) -> Processors | None:
        """Where its ranks may run; None: not recorded."""
        place = self.run.placement_of(cell.placement)
        return allowed(place.observed) if place else None

    def place(self, cells: Sequence[CellResult], words: Sequence[str] = ()) -> Place:
        """Where cells are that share their MPI; a name that they do not share is None."""
        mpi = _shared([cell.mpi for cell in cells])
        environment = _shared([cell.environment for cell in cells])
        placement = _shared([cell.placement for cell in cells])
        more = [f"environment {environment}"] if environment and len(self.run.environments) > 1 else []
        more += [f"placement {placement}"] if placement and len(self.run.placements) > 1 else []
        return Place(", ".join([*words, *([mpi] if mpi else []), *more]), mpi, environment, placement)


def _of_cell(entries: Iterable[EnvironmentResult], cell: CellResult) -> EnvironmentResult | None:
    return next((entry for entry in entries if entry.name == cell.environment and entry.mpi in (None, cell.mpi)), None)


def _shared(names: Sequence[str | None]) -> str | None:
    first = names[0] if names else None
    return first if all(name == first for name in names) else None
