# SPDX-License-Identifier: Apache-2.0
"""Guidelines that a library violates: the best other way chosen on some launches, proven on the others. Pure.

Neighbouring lengths that one way serves make one range. All that the choosing launches name is tested together (Holm),
each MPI for itself: a second one changes nothing of what is concluded about the first.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.core.cell_results import CellResult
from slowpath.core.results import ContrastResult
from slowpath.findings.evidence.collectives import Cliff
from slowpath.findings.evidence.evidence import CLEAR_RATIO, Ratio
from slowpath.findings.evidence.violations import LEAST, SPLIT, WAY, Violation
from slowpath.findings.gather.other_ways import Line, Point, lines
from slowpath.findings.gather.source import Source
from slowpath.stats.chosen import FEWEST_ROUNDS, ChosenProof, choosing, medians, proof
from slowpath.stats.inputs import Floats
from slowpath.stats.multiplicity import holm

SIGNIFICANCE = 0.05
AS_GOOD = 1.05  # ways within this of the best are taken to be as good: one that serves more lengths is preferred


@dataclass(frozen=True)
class _Candidate:
    """A length, and the way that the choosing launches name for it. place: of the point in its line."""

    line: Line
    place: int
    way: str
    chosen_ratio: float

    @property
    def point(self) -> Point:
        return self.line.points[self.place]

    @property
    def times_s(self) -> tuple[Floats, Floats]:
        """Of the call and of the way, in the rounds that prove."""
        base_s, other_s = self.point.base.times_s, self.point.others[self.way].times_s
        proving = ~choosing(base_s.size)
        return base_s[proving], other_s[proving]


@dataclass(frozen=True)
class Judged:
    """A candidate and what the proving launches say of it. p: corrected; None: nothing can be said."""

    candidate: _Candidate
    proof: ChosenProof
    p: float | None

    def is_beyond(self, least: float) -> bool:
        """Whether the whole interval lies above `least`, and that is no chance."""
        interval = self.proof.interval
        return self.p is not None and self.p <= SIGNIFICANCE and interval is not None and interval[0] > least


def violations(source: Source) -> list[Violation]:
    """All that users have who change nothing, those of one collective and way together."""
    found = judged([cell for cell in source.cells_of("coll") if source.is_default(cell)], LEAST)
    groups: dict[tuple[int, str], list[Judged]] = defaultdict(list)
    for one in found:
        if one.is_beyond(LEAST):
            groups[id(one.candidate.line), one.candidate.way].append(one)
    every = [_violation(group, source) for group in groups.values()]
    by_mockup = {cell for one in every if one.axis == WAY for cell in one.cells}
    return [one for one in every if not _is_reported(source, one, by_mockup)]


def _is_reported(source: Source, one: Violation, by_mockup: Container[int]) -> bool:
    """Whether another fact speaks for it: a mock-up or a cliff for a length in pieces (SP037), a decided contrast for
    one that is started as a persistent call (SP042).
    """
    if one.axis == SPLIT:
        return one.slow.cell in by_mockup or any(other.slow.cell == one.slow.cell for other in source.facts(Cliff))
    if (one.axis, one.left) != ("start", "persistent"):
        return False
    decided = source.slowdowns("start", phase="steady")
    return any(other.slow.cell == one.slow.cell and other.ratio.least >= CLEAR_RATIO for other in decided)


def judged(cells: Iterable[CellResult], least: float) -> list[Judged]:
    """Everything that the choosing launches name, tested on the others, with p corrected over each MPI.

    Args: least: ratio up to which a way is not worth naming.
    """
    by_mpi: dict[str | None, list[_Candidate]] = defaultdict(list)
    for line in lines(cells):
        for one in _candidates(line, least):
            by_mpi[one.point.base.cell.mpi].append(one)
    return [one for candidates in by_mpi.values() for one in _corrected(candidates, least)]


def _corrected(candidates: Sequence[_Candidate], least: float) -> Iterator[Judged]:
    proofs = [proof(*one.times_s, least) for one in candidates]
    known = [one.p for one in proofs if one.p is not None]
    corrected = iter(holm(known) if known else ())
    for candidate, found in zip(candidates, proofs, strict=True):
        yield Judged(candidate, found, None if found.p is None else float(next(corrected)))


def _candidates(line: Line, least: float) -> Iterator[_Candidate]:
    """By the choosing rounds: lengths at which some way takes less, in runs that one way serves."""
    chosen = [_chosen_ratios(point, least) for point in line.points]
    for run in _runs(chosen):
        ways = set.intersection(*({name for name, _ in _as_good(chosen[place])} for place in run))
        best = max(sorted(ways), key=lambda name: sum(math.log(chosen[place][name]) for place in run))
        for place in run:
            yield _Candidate(line, place, best, chosen[place][best])


def _chosen_ratios(point: Point, least: float) -> dict[str, float]:
    """Way -> the call over it; empty where none is faster than that, or too few rounds were measured."""
    rounds = point.base.times_s.size
    if rounds < FEWEST_ROUNDS:
        return {}
    mask = choosing(rounds)
    base_s = float(np.median(point.base.times_s[mask]))
    others_s = medians([one.times_s for one in point.others.values()], mask)
    ratios = {name: base_s / float(other_s) for name, other_s in zip(point.others, others_s, strict=True)}
    return ratios if max(ratios.values()) > least else {}


def _as_good(ratios: Mapping[str, float]) -> list[tuple[str, float]]:
    best = max(ratios.values())
    return [(name, ratio) for name, ratio in ratios.items() if ratio * AS_GOOD >= best]


def _runs(chosen: Sequence[Mapping[str, float]]) -> Iterator[list[int]]:
    """Neighbouring places that share a way as good as the best at each of them."""
    run: list[int] = []
    shared: set[str] = set()
    for place, ratios in enumerate(chosen):
        here = {name for name, _ in _as_good(ratios)} if ratios else set()
        if run and not shared & here:
            yield run
            run = []
        if here:
            shared = shared & here if run else here
            run.append(place)
    if run:
        yield run


def _violation(group: Sequence[Judged], source: Source) -> Violation:
    """Of lengths of one line that one way serves."""
    candidates = [one.candidate for one in group]
    line, way = candidates[0].line, candidates[0].way
    top = max(candidates, key=lambda one: one.chosen_ratio)
    base_s, other_s = (np.exp(np.mean([np.log(one.times_s[side]) for one in candidates], axis=0)) for side in (0, 1))
    over_all = proof(base_s, other_s, LEAST)
    slow_s, fast_s = (float(np.median(times_s)) for times_s in top.times_s)
    rounds = top.point.base.times_s.size
    cells = [cell for one in candidates for cell in (one.point.base.cell, one.point.others[way].cell)]
    return Violation(
        slow=top.point.base.cell,
        fast=top.point.others[way].cell,
        metric=line.metric,
        slow_s=slow_s,
        fast_s=fast_s,
        ratio=Ratio(over_all.ratio, over_all.interval, beyond=True),
        collective=line.collective,
        axis=line.axis,
        left=line.left,
        right=way,
        ranges=_ranges(line, [one.place for one in candidates]),
        ranks=_ranks(source, top.point.base.cell),
        p=max(one.p for one in group if one.p is not None),
        rivals=len({name for one in candidates for name in one.point.others}) - 1,
        chose=int(choosing(rounds).sum()),
        proved=int((~choosing(rounds)).sum()),
        cells=tuple(dict.fromkeys(cell.cell for cell in cells)),
        contrasts=_contrasts(source.contrasts, line.axis, candidates),
    )


def _ranges(line: Line, places: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """[first, last] length of neighbouring places; () for a collective without a length."""
    found = []
    for _, members in itertools.groupby(enumerate(places), key=lambda one: one[1] - one[0]):
        lengths = [line.points[place].bytes for _, place in members]
        if lengths[-1] > 0:
            found.append((lengths[0], lengths[-1]))
    return tuple(found)


def _ranks(source: Source, cell: CellResult) -> int | None:
    """That call the collective."""
    place = next((one for one in source.run.placements if one.name == cell.placement), None)
    ranks = (place.ranks or len(place.observed)) if place else 0
    members = cell.parameters.get("members", "all")
    return min(ranks, int(members)) if members.isdecimal() and ranks else ranks or None


def _contrasts(contrasts: Sequence[ContrastResult], axis: str, candidates: Sequence[_Candidate]) -> tuple[str, ...]:
    """Of the calls at these lengths with any way: one finding speaks for them all."""
    own = {one.point.base.cell.cell for one in candidates}
    return tuple(one.id for one in contrasts if one.axis == axis and own & {one.a.cell, one.b.cell})
