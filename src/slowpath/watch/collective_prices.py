# SPDX-License-Identifier: Apache-2.0
"""What a program's collectives cost more than what other calls make of them: cells of experiment coll. Pure.

Of a collective's cells in one run, every fourth launch chooses the best other way and the others price it, so that the
price is not too good for having been chosen (stats.chosen).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from msgspec.structs import replace

from slowpath.core.cell_results import CellResult
from slowpath.core.result import Interval
from slowpath.core.results import Results
from slowpath.mpi.guidelines import GUIDELINES
from slowpath.stats.chosen import FEWEST_ROUNDS, choosing
from slowpath.stats.inputs import Floats
from slowpath.watch.measured_prices import excess
from slowpath.watch.prices import LEAST_SHARE, NOT_MEASURED, Source, length_words
from slowpath.watch.results import CollectiveClass, SavingBasis

METRIC: Final = "collective_work_s"
LIBRARY: Final = "library"
REDUCING: Final = frozenset({"reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"})


@dataclass(frozen=True)
class CollectiveQuestion:
    """One kind of collective, worth a price. share: of the run.  ways: other calls that do the same.

    parameters: of its cells, all but `way`.
    """

    of: CollectiveClass
    share: float
    ways: tuple[str, ...]
    parameters: Mapping[str, str]


@dataclass(frozen=True)
class PricedCollective:
    """What one collective costs too much, seconds; never more than it takes in the program."""

    question: CollectiveQuestion
    way: str
    saved_s: float
    interval: Interval
    as_is_s: float
    basis: SavingBasis
    source: str

    @property
    def seconds(self) -> float:
        """A rank: each of its ranks takes part in every one."""
        return self.saved_s * self.question.of.count

    @property
    def class_result(self) -> CollectiveClass:
        """The kind of collective with its price."""
        return replace(
            self.question.of, way=self.way, saved_s=self.saved_s, saved_interval=self.interval, source=self.source
        )


def collective_questions(
    classes: Sequence[CollectiveClass], run_s: float
) -> tuple[list[CollectiveQuestion], list[str]]:
    """Those that take 1 % of the run or more, and a line for each that nothing can be held against."""
    found: list[CollectiveQuestion] = []
    left: list[str] = []
    for one in classes:
        share = one.work_s * one.count / run_s if run_s > 0 else 0.0
        if share < LEAST_SHARE:
            continue
        ways = dict.fromkeys(row.mockup for row in GUIDELINES if row.collective == one.collective and row.mockup)
        if ways:
            found.append(CollectiveQuestion(one, share, tuple(ways), _parameters(one)))
        else:
            left.append(f"SP036, {collective_words(one)}: no other calls are known that do the same")
    return found, left


def _parameters(one: CollectiveClass) -> dict[str, str]:
    """Neither op nor type is recorded: MPI_SUM of doubles, or of what is shorter where the length asks for it."""
    if one.collective == "barrier":
        return {"collective": one.collective}
    datatype = "double" if one.bytes % 8 == 0 else "int" if one.bytes % 4 == 0 else "byte"
    kind = {"datatype": datatype} if one.collective in REDUCING else {}
    return {"collective": one.collective, "message_bytes": str(one.bytes), **kind}


def collective_prices(
    questions: Sequence[CollectiveQuestion], sources: Sequence[Source]
) -> tuple[list[PricedCollective], list[str]]:
    """Prices whose intervals lie above zero, and a line for each kind without one.

    Args: sources: in the order of trust, the replay first.
    """
    priced: list[PricedCollective] = []
    unpriced: list[str] = []
    for question in questions:
        found = next(_answers(question, sources), None)
        if found is None:
            unpriced.append(f"SP036, {collective_words(question.of)}: {NOT_MEASURED}")
        elif found.interval[0] > 0:
            priced.append(found)
        else:
            unpriced.append(
                f"SP036, {collective_words(question.of)}: no faster by {found.way}, the best of {len(question.ways)} "
                "other ways"
            )
    return priced, unpriced


def _answers(question: CollectiveQuestion, sources: Sequence[Source]) -> Iterator[PricedCollective]:
    for source in sources:
        times = dict(_times(question, source.results))
        if LIBRARY in times and len(times) > 1 and (found := _priced(question, times, source)) is not None:
            yield found


def _times(question: CollectiveQuestion, results: Results) -> Iterator[tuple[str, tuple[CellResult, Floats]]]:
    """By way: the cell and the median of each launch."""
    ranks = {one.name: one.ranks or len(one.observed) for one in results.run.placements}
    for cell in results.cells:
        if cell.experiment != "coll" or ranks.get(cell.placement) != question.of.ranks:
            continue
        if any(cell.parameters.get(name) != value for name, value in {**_USUAL, **question.parameters}.items()):
            continue
        estimate = cell.estimate(METRIC, "steady")
        if estimate is not None:
            yield cell.parameters["way"], (cell, np.asarray(estimate.launch_values, dtype=np.float64))


_USUAL: Final = {
    "pattern": "calls",
    "start": "blocking",
    "shape": "elements",
    "op": "sum",
    "in_place": "off",
    "members": "all",
    "arrival": "together",
}


def _priced(
    question: CollectiveQuestion, times: Mapping[str, tuple[CellResult, Floats]], source: Source
) -> PricedCollective | None:
    cell, own_s = times[LIBRARY]
    others = {way: one for way, one in times.items() if way != LIBRARY and one[1].size == own_s.size}
    if own_s.size < FEWEST_ROUNDS or not others:
        return None
    chosen = choosing(own_s.size)
    way = min(sorted(others), key=lambda name: float(np.median(others[name][1][chosen])))
    there, other_s = others[way]
    found = excess(list(zip(other_s[~chosen].tolist(), own_s[~chosen].tolist(), strict=True)), slow_is_b=True)
    if found is None:
        return None
    most = question.of.work_s
    value, (low, high) = found
    return PricedCollective(
        question,
        way,
        min(value, most),
        (min(low, most), min(high, most)),
        float(np.median(own_s[~chosen])),
        source.basis,
        f"{source.folder}: cell {cell.cell} ({cell.label}) against cell {there.cell} ({there.label})"
        + (f", MPI_SUM of {question.parameters['datatype']}" if "datatype" in question.parameters else ""),
    )


def collective_words(one: CollectiveClass) -> str:
    """`12,000 MPI_Allreduce of 64 KiB on 2 ranks`."""
    length = "" if one.collective == "barrier" else f" of {length_words(one.bytes)}"
    return f"{one.count:,} {one.call}{length} on {one.ranks} ranks"
