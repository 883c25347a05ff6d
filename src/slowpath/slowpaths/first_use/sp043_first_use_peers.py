# SPDX-License-Identifier: Apache-2.0
"""SP043: a first use that takes longer with each rank, or with each use before it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from slowpath.core.cell_results import CellResult
from slowpath.core.finding_results import Rival
from slowpath.core.result import Interval
from slowpath.core.units import format_time
from slowpath.findings.facts import CLEAR_RATIO, Difference, Facts, once, parameter, ratio_of, ratio_words, times_words
from slowpath.findings.laws import count_law
from slowpath.findings.slow_path import Observation, SlowPath, observed
from slowpath.stats.laws.law import FittedLaw


@dataclass(frozen=True, kw_only=True)
class FirstUseGrowth(Difference):
    """A first use that takes longer the more ranks there are, or the more uses there were before.

    over: what it grows with.  law: 'each', a line over it.  each_s: of one more.  least, most: numbers at which fast_s
    and slow_s were measured.  example: (number, seconds) by the law, where nothing was measured.
    """

    over: Literal["ranks", "uses"]
    law: FittedLaw
    each_s: float
    each_interval: Interval | None
    least: float
    most: float
    example: tuple[float, float]
    cells: tuple[CellResult, ...]


EXPERIMENT = "first_use"

# What of a pattern all ranks wait for; of the first time in a process or a communicator.
OVER_RANKS = {
    "init": "init_s",
    "peer": "peers_s",
    "communicator": "communicator_s",
    "collective": "collective_first_s",
}

OVER_USES = {"communicator": "communicator_s"}

FEWEST = 5  # numbers, so that one can be set apart

EXAMPLE_RANKS = 1024.0

EXAMPLE_FACTOR = 16.0

Over = Literal["ranks", "uses"]

Row = tuple[CellResult, Sequence[float]]  # the launches' times


@once
def first_use_growth(facts: Facts) -> list[FirstUseGrowth]:
    """By ranks where each has a core of its own, and by the uses that were made before."""
    cells = facts.cells_of(EXPERIMENT)
    found = [*_over_ranks(facts, cells), *_over_uses(cells)]
    return [one for over, rows in found if (one := _growth(over, rows, facts.minimum_effect)) is not None]


def _over_ranks(facts: Facts, cells: Iterable[CellResult]) -> list[tuple[Over, dict[float, Row]]]:
    asked = {placement.name: placement for placement in facts.run.placements}
    groups: dict[tuple[object, ...], dict[float, Row]] = defaultdict(dict)
    for cell in cells:
        place, metric = asked.get(cell.placement), OVER_RANKS.get(parameter(cell, "pattern"))
        estimate = cell.estimate(metric, "first") if metric else None
        if place is None or place.ranks is None or estimate is None or _share_cores(facts, cell):
            continue
        alike = (place.bind, place.spread, place.nodes, tuple(sorted(cell.parameters.items())))
        groups[cell.group, cell.copy, cell.mpi, cell.environment, alike][float(place.ranks)] = (
            cell,
            estimate.launch_values,
        )
    return [("ranks", rows) for rows in groups.values()]


def _share_cores(facts: Facts, cell: CellResult) -> bool:
    """Ranks that share cores measure the scheduler."""
    found = facts.processors(cell)
    return found is None or found.shared


def _over_uses(cells: Iterable[CellResult]) -> list[tuple[Over, dict[float, Row]]]:
    found: list[tuple[Over, dict[float, Row]]] = []
    for cell in cells:
        metric = OVER_USES.get(parameter(cell, "pattern"))
        uses = cell.metrics[metric].by_repetition if metric in cell.metrics else None
        if uses is None or cell.copy != 1:
            continue
        columns = np.array(uses.launch_values).T
        # The first one pays for what is set up once, whatever comes after it.
        later = zip(uses.repetitions[1:], columns[1:], strict=True)
        found.append(("uses", {float(number): (cell, times.tolist()) for number, times in later}))
    return found


def _growth(over: Over, rows: Mapping[float, Row], effect: float) -> FirstUseGrowth | None:
    if len(rows) < FEWEST:
        return None
    least, most = min(rows), max(rows)
    (fast, fast_s), (slow, slow_s) = rows[least], rows[most]
    if len(fast_s) != len(slow_s):
        return None
    ratio = ratio_of(slow_s, fast_s, effect)
    law = count_law({count: times for count, (_, times) in rows.items()}, effect)
    if not ratio.beyond or ratio.least < CLEAR_RATIO or law is None or law.fits != "each":
        return None
    constant, each = law.coefficients[0], law.coefficients[-1]
    if not each.interval or each.interval[0] <= 0:
        return None
    far = EXAMPLE_RANKS if over == "ranks" else EXAMPLE_FACTOR * most
    return FirstUseGrowth(
        slow=slow,
        fast=fast,
        metric=(OVER_RANKS if over == "ranks" else OVER_USES)[parameter(slow, "pattern")],
        slow_s=float(np.median(slow_s)),
        fast_s=float(np.median(fast_s)),
        ratio=ratio,
        over=over,
        law=law,
        each_s=each.value,
        each_interval=each.interval,
        least=least,
        most=most,
        example=(far, constant.value + each.value * far),
        cells=tuple(cell for cell, _ in rows.values()) if over == "ranks" else (slow,),
    )


_WHAT = {
    "init": "MPI_Init",
    "peer": "The first round over all peers",
    "communicator": "A communicator",
    "collective": "The first call of a collective on a communicator",
}

_NAMED = {"peer": "order", "communicator": "made_by", "collective": "collective"}

_UNIT = {"ranks": "rank", "uses": "communicator that was made before"}


def observe(facts: Facts) -> Sequence[Observation]:
    """Lines over the ranks, or over the uses before."""
    return [_observation(facts, one) for one in first_use_growth(facts)]


def _observation(facts: Facts, one: FirstUseGrowth) -> Observation:
    pattern = parameter(one.slow, "pattern")
    name = parameter(one.slow, _NAMED.get(pattern, ""))
    what = f"{_WHAT[pattern]} ({name})" if name else _WHAT[pattern]
    each = f"{format_time(one.each_s)}{_between(one)}"
    far, far_s = one.example
    predicted = "the law predicted points that it was not fitted to" if one.law.is_predicted else "a fit alone"
    return observed(
        one,
        about=f"{pattern} {name} by {one.over}".replace("  ", " "),
        place=facts.place(one.cells, [f"first use: {pattern}"]),
        text=f"{what} takes {each} longer for each {_UNIT[one.over]}: {times_words(one)} at {one.most:.0f} and "
        f"{one.least:.0f} {one.over}, {ratio_words(one.ratio)}. At {far:.0f} {one.over} it would take "
        f"{format_time(far_s)} (extrapolated; {predicted}).",
        phase="first" if one.over == "ranks" else "steady",
        affects_default=facts.is_default(one.slow),
        cells=tuple(cell.cell for cell in one.cells),
        law=one.law,
    )


def _between(one: FirstUseGrowth) -> str:
    if one.each_interval is None:
        return ""
    low, high = one.each_interval
    return f" [{format_time(low)}, {format_time(high)}]"


_CHAIN = Rival(name="late ranks", cause="Ranks arrive late, and the more ranks there are, the later the last one.")

SLOW_PATH: SlowPath = SlowPath(
    code="SP043",
    name="first use by peers",
    title="First uses get slower with the number of ranks, or with each earlier one",
    what="MPI_Init, the first round over all peers, a communicator or a first collective take longer with each "
    "rank, or with each communicator made before. Ranks that meet their peers in ascending order make a chain.",
    needs="The experiment first_use with five numbers of ranks or more, each rank on a core of its own, or forty "
    "communicators in a row: law 'each', which predicts numbers that it was not fitted to.",
    remedy="Meet peers in an order of pairs (rank xor k), connect while nothing waits for it, make communicators "
    "once and keep them.",
    observe=observe,
    cause="Each rank, or each use before, adds the same to a first use.",
    hypotheses=(
        "ranks connect one after the other, in a chain",
        "the library's agreement takes one step per rank or communicator",
        "a list of the library is searched",
    ),
    kind="property",
    rivals=(_CHAIN,),
    probes=(
        "peers, ascending",
        "peers, xor",
    ),
)
