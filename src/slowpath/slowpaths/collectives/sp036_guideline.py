# SPDX-License-Identifier: Apache-2.0
"""SP036: a collective that is slower than an equivalent built from other MPI calls."""

from __future__ import annotations

import itertools
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.core.cell_results import CellResult
from slowpath.core.finding_results import ContrastResult
from slowpath.core.units import format_bytes, format_time, ratio_words
from slowpath.findings.facts import Difference, Facts, Ratio, once
from slowpath.findings.slow_path import (
    COLL_LIBRARY,
    COLLECTIVES,
    CollectivesPrice,
    Observation,
    ProgramRemedy,
    Remedy,
    SlowPath,
    observed,
)
from slowpath.mpi.guidelines import MADE_BY_OTHERS
from slowpath.stats.contrast import FEWEST_ROUNDS, ChosenProof, choosing, holm, medians, proof
from slowpath.stats.estimate import Floats

# Guidelines that a library violates: the best other way chosen on some launches, proven on the others. Pure.

WAY = "way"


LEAST = 1.05  # less is not worth another way


@dataclass(frozen=True, kw_only=True)
class Violation(Difference):
    """One collective, one other way, and the lengths at which the collective takes longer.

    slow, fast, slow_s, fast_s: at the length that the choosing launches show to lose most.  ratio: over all lengths of
    `ranges`, geometric mean, of the launches that prove.  p: the largest of these lengths, corrected for all that were
    tested.

    right: the mock-up's name.  ranges: [first, last] of neighbouring lengths, bytes; () where the
    collective has no length.  ranks: that call it; None: not recorded.
    rivals: other ways that were measured.  chose, proved: launches.  cells: all that it rests on.
    """

    collective: str
    right: str
    ranges: tuple[tuple[int, int], ...]
    ranks: int | None
    p: float
    rivals: int
    chose: int
    proved: int
    cells: tuple[int, ...]
    contrasts: tuple[str, ...]


METRICS = ("collective_work_s", "collective_own_s")  # the first that all cells of a line have

LENGTH = "message_bytes"

LIBRARY = "library"

_EFFORT = ("samples", "time_limit_s", "warmup_s", "validate")

_NO_LENGTH = ("barrier",)


@dataclass(frozen=True)
class OtherWay:
    """cell: that was measured.  times_s: of what takes the call's place, shape (rounds,)."""

    cell: CellResult
    times_s: Floats


@dataclass(frozen=True)
class WayPoint:
    """One length: the call itself, and by name what may take its place."""

    bytes: int
    base: OtherWay
    others: Mapping[str, OtherWay]


@dataclass(frozen=True)
class WayLine:
    """All points of one collective, the shortest first."""

    collective: str
    metric: str
    points: Sequence[WayPoint]


def way_lines(cells: Iterable[CellResult]) -> list[WayLine]:
    """Every line of every guideline that these cells hold."""
    found = []
    for group in _alike(cells):
        names = [name for name, _ in group if name != LIBRARY]
        found += _line(list(dict.fromkeys(names)), group)
    return found


def _alike(cells: Iterable[CellResult]) -> list[dict[tuple[str, int], CellResult]]:
    """Groups of cells that differ in the way and in their lengths alone: way and length -> cell."""
    groups: dict[tuple[object, ...], dict[tuple[str, int], CellResult]] = defaultdict(dict)
    for cell in cells:
        parameters = cell.parameters
        if parameters.get("pattern", "calls") != "calls" or WAY not in parameters:
            continue
        without = (WAY, LENGTH, *_EFFORT)
        rest = tuple(sorted((name, value) for name, value in parameters.items() if name not in without))
        place = (cell.mpi, cell.environment, cell.placement, cell.copy, rest)
        groups[place].setdefault((parameters[WAY], _length(cell)), cell)
    return list(groups.values())


def _length(cell: CellResult) -> int:
    """Bytes; 0 where the collective has none."""
    if cell.parameters.get("collective") in _NO_LENGTH:
        return 0
    return int(cell.parameters.get(LENGTH, "0"))


def _line(rights: Sequence[str], group: Mapping[tuple[str, int], CellResult]) -> list[WayLine]:
    """At most one: none where no length has both sides in the same launches."""
    metric = _metric(group.values())
    points = []
    for length in sorted({length for name, length in group if name == LIBRARY}):
        base = group[LIBRARY, length]
        base_s = _times_s(base, metric)
        if base_s is None:
            continue
        others = {}
        for name in rights:
            cell = group.get((name, length))
            times_s = _times_s(cell, metric) if cell else None
            if cell is not None and times_s is not None and times_s.size == base_s.size:
                others[name] = OtherWay(cell, times_s)
        if others:
            points.append(WayPoint(length, OtherWay(base, base_s), others))
    if not points:
        return []
    return [WayLine(points[0].base.cell.parameters["collective"], metric, points)]


def _metric(cells: Iterable[CellResult]) -> str:
    every = list(cells)
    return next((name for name in METRICS if all(name in cell.metrics for cell in every)), METRICS[-1])


def _times_s(cell: CellResult, metric: str) -> Floats | None:
    """Of each launch, steady."""
    found = cell.estimate(metric, "steady")
    return np.asarray(found.launch_values) if found is not None else None


SIGNIFICANCE = 0.05

AS_GOOD = 1.05  # ways within this of the best are taken to be as good: one that serves more lengths is preferred


@dataclass(frozen=True)
class _Candidate:
    """A length, and the way that the choosing launches name for it. place: of the point in its line."""

    line: WayLine
    place: int
    way: str
    chosen_ratio: float

    @property
    def point(self) -> WayPoint:
        return self.line.points[self.place]

    @property
    def times_s(self) -> tuple[Floats, Floats]:
        """Of the call and of the way, in the rounds that prove."""
        base_s, other_s = self.point.base.times_s, self.point.others[self.way].times_s
        proving = ~choosing(base_s.size)
        return base_s[proving], other_s[proving]


@dataclass(frozen=True)
class JudgedViolation:
    """A candidate and what the proving launches say of it. p: corrected; None: nothing can be said."""

    candidate: _Candidate
    proof: ChosenProof
    p: float | None

    def is_beyond(self, least: float) -> bool:
        """Whether the whole interval lies above `least`, and that is no chance."""
        interval = self.proof.interval
        return self.p is not None and self.p <= SIGNIFICANCE and interval is not None and interval[0] > least


@once
def violations(facts: Facts) -> list[Violation]:
    """All that users have who change nothing, those of one collective and way together."""
    found = judged_violations([cell for cell in facts.cells_of("coll") if facts.is_default(cell)], LEAST)
    groups: dict[tuple[int, str], list[JudgedViolation]] = defaultdict(list)
    for violation in found:
        if violation.is_beyond(LEAST):
            groups[id(violation.candidate.line), violation.candidate.way].append(violation)
    return [_violation(group, facts) for group in groups.values()]


def judged_violations(cells: Iterable[CellResult], least: float) -> list[JudgedViolation]:
    """Everything that the choosing launches name, tested on the others, with p corrected over each MPI.

    Args: least: ratio up to which a way is not worth naming.
    """
    by_mpi: dict[str | None, list[_Candidate]] = defaultdict(list)
    for line in way_lines(cells):
        for candidate in _candidates(line, least):
            by_mpi[candidate.point.base.cell.mpi].append(candidate)
    return [violation for candidates in by_mpi.values() for violation in _corrected(candidates, least)]


def _corrected(candidates: Sequence[_Candidate], least: float) -> Iterator[JudgedViolation]:
    proofs = [proof(*candidate.times_s, least) for candidate in candidates]
    known = [one.p for one in proofs if one.p is not None]
    corrected = iter(holm(known) if known else ())
    for candidate, found in zip(candidates, proofs, strict=True):
        yield JudgedViolation(candidate, found, None if found.p is None else float(next(corrected)))


def _candidates(line: WayLine, least: float) -> Iterator[_Candidate]:
    """By the choosing rounds: lengths at which some way takes less, in runs that one way serves."""
    chosen = [_chosen_ratios(point, least) for point in line.points]
    for run in _runs(chosen):
        ways = set.intersection(*({name for name, _ in _as_good(chosen[place])} for place in run))
        best = max(sorted(ways), key=lambda name: sum(math.log(chosen[place][name]) for place in run))
        for place in run:
            yield _Candidate(line, place, best, chosen[place][best])


def _chosen_ratios(point: WayPoint, least: float) -> dict[str, float]:
    """Way -> the call over it; empty where none is faster than that, or too few rounds were measured."""
    rounds = point.base.times_s.size
    if rounds < FEWEST_ROUNDS:
        return {}
    mask = choosing(rounds)
    base_s = float(np.median(point.base.times_s[mask]))
    others_s = medians([other.times_s for other in point.others.values()], mask)
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


def _violation(group: Sequence[JudgedViolation], facts: Facts) -> Violation:
    """Of lengths of one line that one way serves."""
    candidates = [violation.candidate for violation in group]
    line, way = candidates[0].line, candidates[0].way
    top = max(candidates, key=lambda one: one.chosen_ratio)
    shared = min(candidate.times_s[0].size for candidate in candidates)  # rounds: long cells are in fewer launches
    base_s, other_s = (
        np.exp(np.mean([np.log(candidate.times_s[side][:shared]) for candidate in candidates], axis=0))
        for side in (0, 1)
    )
    over_all = proof(base_s, other_s, LEAST)
    slow_s, fast_s = (float(np.median(times_s)) for times_s in top.times_s)
    rounds = top.point.base.times_s.size
    cells = [cell for candidate in candidates for cell in (candidate.point.base.cell, candidate.point.others[way].cell)]
    return Violation(
        slow=top.point.base.cell,
        fast=top.point.others[way].cell,
        metric=line.metric,
        slow_s=slow_s,
        fast_s=fast_s,
        ratio=Ratio(over_all.ratio, over_all.interval, beyond=True),
        collective=line.collective,
        right=way,
        ranges=_ranges(line, [candidate.place for candidate in candidates]),
        ranks=_ranks(facts, top.point.base.cell),
        p=max(violation.p for violation in group if violation.p is not None),
        rivals=len({name for candidate in candidates for name in candidate.point.others}) - 1,
        chose=int(choosing(rounds).sum()),
        proved=int((~choosing(rounds)).sum()),
        cells=tuple(dict.fromkeys(cell.cell for cell in cells)),
        contrasts=_contrasts(facts.contrasts, candidates),
    )


def _ranges(line: WayLine, places: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """[first, last] length of neighbouring places; () for a collective without a length."""
    found = []
    for _, members in itertools.groupby(enumerate(places), key=lambda one: one[1] - one[0]):
        lengths = [line.points[place].bytes for _, place in members]
        if lengths[-1] > 0:
            found.append((lengths[0], lengths[-1]))
    return tuple(found)


def _ranks(facts: Facts, cell: CellResult) -> int | None:
    """That call the collective."""
    place = next((placement for placement in facts.run.placements if placement.name == cell.placement), None)
    ranks = (place.ranks or len(place.observed)) if place else 0
    members = cell.parameters.get("members", "all")
    return min(ranks, int(members)) if members.isdecimal() and ranks else ranks or None


def _contrasts(contrasts: Sequence[ContrastResult], candidates: Sequence[_Candidate]) -> tuple[str, ...]:
    """Of the calls at these lengths with any way: one finding speaks for them all."""
    own = {candidate.point.base.cell.cell for candidate in candidates}
    return tuple(
        contrast.id for contrast in contrasts if contrast.axis == WAY and own & {contrast.a.cell, contrast.b.cell}
    )


DISTURBED = 0.2  # of the calls that a rank came late to
# Of 2 ranks, the low end of the ratio from which on it is a fault. In 341 findings of healthy machines (MPICH 5.0.2,
# Open MPI 5.0.11, Intel MPI 2021.18.1; 16 to 64 cores) the largest low end is 3.4: exscan of MPICH.
FAULT = 6.0


def observe(facts: Facts) -> Sequence[Observation]:
    """One observation for each collective and the way that is proven for some of its lengths."""
    return [_observation(facts, violation) for violation in violations(facts)]


def _observation(facts: Facts, one: Violation) -> Observation:
    spans = _where(one)
    where = f", for {spans}" if one.ranges else f" {spans}".rstrip()
    times = f"{format_time(one.slow_s)} vs {format_time(one.fast_s)}"
    # A ratio of several lengths is not that of the two times, which are of one.
    if len({end for ends in one.ranges for end in ends}) > 1:
        shown = f"; at {_bytes(one)} {times}"
    else:
        shown = f": {times}" + (f" at {_bytes(one)}" if one.ranges else "")
    ratio = ratio_words(one.ratio.value, one.ratio.interval)
    doubts = tuple(filter(None, (_disturbed(cell) for cell in (one.slow, one.fast))))
    return observed(
        one,
        about=_about(one),
        place=facts.place([one.slow, one.fast], [one.collective, *([spans] if spans else [])]),
        text=f"The library's own {one.collective} takes {ratio} what its {one.right} takes{where}{shown}.",
        affects_default=True,
        cells=one.cells,
        contrasts=one.contrasts,
        axis=WAY,
        evidence=_evidence(one, ratio),
        doubts=doubts,
        is_sure_fault=one.ranks == 2 and not doubts and (one.ratio.interval or (0.0,))[0] >= FAULT,
    )


def _where(one: Violation) -> str:
    """`64 KiB to 1 MiB on 4 ranks`."""
    spans = [" to ".join(dict.fromkeys(format_bytes(end) for end in ends)) for ends in one.ranges]
    ranks = f"on {one.ranks} ranks" if one.ranks else ""
    return f"{' and '.join(spans)} {ranks}".strip()


def _bytes(one: Violation) -> str:
    return format_bytes(int(one.slow.parameters["message_bytes"]))


def _disturbed(cell: CellResult) -> str | None:
    """Late starts: the times are those of the other calls, where these are enough."""
    found = cell.repetitions
    if found is None or not found.late or found.late < DISTURBED * found.all:
        return None
    return f"a rank arrived late in {found.late} of {found.all} calls of '{cell.label}' for an unmeasured reason"


def _about(one: Violation) -> str:
    """The same over runs, whatever the lengths come out as."""
    ranks = f", {one.ranks} ranks" if one.ranks else ""
    return f"{one.collective} against {one.right}{ranks}"


def _evidence(one: Violation, ratio: str) -> tuple[str, ...]:
    lines = [
        f"{ratio}: chosen among {one.rivals + 1} ways in {one.chose} launches, compared with the library in "
        f"{one.proved} others; p {one.p:.2g} after Holm's correction",
        "later calls only: the set-up by the first call (workspace, communicators) is not included",
    ]
    if one.ranks:
        rows = [
            {
                "collective": one.collective,
                "ranks": [one.ranks, one.ranks],
                "bytes": list(ends),
                "mockup": one.right,
            }
            for ends in one.ranges or ((0, 0),)
        ]
        lines.append(f"tuning.json: {', '.join(json.dumps(row) for row in rows)}")
    return tuple(lines)


REPLACED_COLLECTIVE = Remedy(
    "replaced collective",
    "Preload libslowpath-coll.so with the tuning.json row in the evidence: it calls the mock-up instead of the "
    "library's collective, in this range only.",
    ("way",),
    side_effects=("a mock-up's first call on a communicator sets up its workspace",),
    sources=("docs/results/collectives.md",),
    variables={"SLOWPATH_COLL": "tuning.json"},
    replaces_calls=True,
    untried="needs more than one run; slowpath diagnose tries it if libslowpath-coll.so is next to the engine",
    phrase="tuned collectives (slowpath tune)",
)

PROGRAM_COLLECTIVES = ProgramRemedy(
    COLLECTIVES,
    "Replace collectives that the replay found slow by equivalents built from other MPI calls.",
    "collectives report",
    "docs/results/collectives.md",
    preload=COLL_LIBRARY,
    screened=False,
)

SLOW_PATH: SlowPath = SlowPath(
    code="SP036",
    name="guideline violated",
    title="A collective is slower than an equivalent built from other MPI calls",
    what="A collective can be made of other calls, as a broadcast of a scatter and an allgather. The library's own "
    "call should never be slower than such a mock-up (docs/results/collectives.md).",
    needs="Both ways as interleaved cells of the same launches, 4 rounds or more: every fourth round chooses the "
    "best mock-up of neighbouring lengths, the others prove it, beyond 5 %. From 6 times on it is a fault.",
    remedy="Let libslowpath-coll.so replace the collective for this range, by the row of tuning.json in the "
    "evidence; or force another algorithm of the library.",
    observe=observe,
    cause="The library's own other calls do the same in less time.",
    hypotheses=(
        "another algorithm of the library would be faster here",
        "the library has no other algorithm for this collective",
    ),
    needs_law=False,
    kind="opportunity",
    probes=(*(f"{collective} by other calls" for collective in MADE_BY_OTHERS),),
    remedies=(REPLACED_COLLECTIVE,),
    program_remedies=(PROGRAM_COLLECTIVES,),
    prices_collectives=CollectivesPrice(
        metric="collective_work_s",
        remedy="collectives by other calls",
        text="Let libslowpath-coll.so make {what} for this length and number of ranks.",
        side_effects=("later calls only: the first call on a communicator sets up its own memory",),
        tries=PROGRAM_COLLECTIVES.key,
    ),
)
