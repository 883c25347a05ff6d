# SPDX-License-Identifier: Apache-2.0
"""SP036: a collective that is slower than an equivalent built from other MPI calls."""

from __future__ import annotations

import itertools
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.core.cell_results import CellResult
from slowpath.core.plan import is_effort
from slowpath.core.units import format_bytes, format_time, ratio_words
from slowpath.findings.facts import Difference, Facts, Slowdown, ratio_of
from slowpath.findings.slow_path import (
    Observation,
    Remedy,
    SlowPath,
    observed,
)
from slowpath.mpi.guidelines import MADE_BY_OTHERS
from slowpath.slowpaths.remedies import page_of

WAY, LENGTH, LIBRARY = "way", "message_bytes", "library"
LEAST = 1.05  # less is not worth another way
_NO_LENGTH = ("barrier",)


@dataclass(frozen=True, kw_only=True)
class Violation(Difference):
    """One collective, one other way, and the lengths at which the collective takes longer.

    slow, fast, slow_s, fast_s: at the length that loses most.  ratio: over all lengths of `ranges`, geometric mean.
    right: the mock-up's name.  ranges: [first, last] of neighbouring lengths, bytes; () where the collective has no
    length.  ranks: that call it; None: not recorded.  cells: all that it rests on.
    """

    collective: str
    right: str
    ranges: tuple[tuple[int, int], ...]
    ranks: int | None
    cells: tuple[int, ...]
    contrasts: tuple[str, ...]


def violations(facts: Facts) -> Iterator[Violation]:
    """All that users have who change nothing: at each length the way that serves most lengths of its line."""
    lines: dict[tuple[object, ...], dict[str, dict[int, Slowdown]]] = defaultdict(lambda: defaultdict(dict))
    for slowdown in facts.slowdowns(WAY, phase="steady"):
        if slowdown.slow_value == LIBRARY and facts.as_found(slowdown.slow) and slowdown.ratio.least > LEAST:
            lines[_line(facts, slowdown.slow)][slowdown.fast_value][_length(slowdown.slow)] = slowdown
    for ways in lines.values():
        left = {length for lengths in ways.values() for length in lengths}
        while left:
            worth = {
                name: sum(math.log(each[at].ratio.value) for at in each if at in left) for name, each in ways.items()
            }
            way = max(sorted(ways), key=worth.__getitem__)
            chosen = {length: slowdown for length, slowdown in sorted(ways[way].items()) if length in left}
            yield _violation(facts, way, chosen)
            left -= chosen.keys()


def _line(facts: Facts, cell: CellResult) -> tuple[object, ...]:
    without = (WAY, LENGTH)
    rest = {k: v for k, v in cell.parameters.items() if k not in without and not is_effort(facts.roles, k)}
    return cell.mpi, cell.environment, cell.placement, cell.copy, tuple(sorted(rest.items()))


def _length(cell: CellResult) -> int:
    return 0 if cell.parameters.get("collective") in _NO_LENGTH else int(cell.parameters.get(LENGTH, "0"))


def _violation(facts: Facts, way: str, chosen: Mapping[int, Slowdown]) -> Violation:
    slowdowns = list(chosen.values())
    top = max(slowdowns, key=lambda slowdown: slowdown.ratio.value)
    every = [contrast for contrast in facts.contrasts if contrast.axis == WAY]
    own = {slowdown.slow.cell for slowdown in slowdowns}
    base_s, other_s = (
        np.exp(np.mean([np.log(times_s) for times_s in side], axis=0))
        for side in zip(*_launches(slowdowns), strict=True)
    )
    return Violation(
        slow=top.slow,
        fast=top.fast,
        metric=top.metric,
        slow_s=top.slow_s,
        fast_s=top.fast_s,
        ratio=ratio_of(base_s, other_s, facts.minimum_effect),
        collective=top.slow.parameters["collective"],
        right=way,
        ranges=_ranges(facts, top.slow, list(chosen)),
        ranks=_ranks(facts, top.slow),
        cells=tuple(dict.fromkeys(cell.cell for slowdown in slowdowns for cell in (slowdown.slow, slowdown.fast))),
        contrasts=tuple(contrast.id for contrast in every if own & {contrast.a.cell, contrast.b.cell}),
    )


def _launches(slowdowns: Sequence[Slowdown]) -> list[tuple[Sequence[float], Sequence[float]]]:
    """Of the call and of the way; long cells are in fewer launches, so that the first ones alone count."""
    rows = []
    for slowdown in slowdowns:
        sides = [cell.estimate(slowdown.metric, "steady") for cell in (slowdown.slow, slowdown.fast)]
        rows.append([estimate.launch_values for estimate in sides if estimate is not None])
    shared = min(len(times) for row in rows for times in row)
    return [(slow[:shared], fast[:shared]) for slow, fast in rows]


def _ranges(facts: Facts, cell: CellResult, lengths: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """[first, last] of lengths that are neighbours among those measured; () for a collective without a length."""
    line = _line(facts, cell)
    alike = (cell for cell in facts.cells_of("coll") if WAY in cell.parameters and _line(facts, cell) == line)
    place = {length: number for number, length in enumerate(sorted({_length(cell) for cell in alike}))}
    spans = []
    for _, group in itertools.groupby(enumerate(lengths), key=lambda numbered: place[numbered[1]] - numbered[0]):
        own = [length for _, length in group]
        if own[-1] > 0:
            spans.append((own[0], own[-1]))
    return tuple(spans)


def _ranks(facts: Facts, cell: CellResult) -> int | None:
    place = facts.run.placement_of(cell.placement)
    ranks = (place.ranks or len(place.observed)) if place else 0
    members = cell.parameters.get("members", "all")
    return min(ranks, int(members)) if members.isdecimal() and ranks else ranks or None


DISTURBED = 0.2  # of the calls that a rank came late to
# Of 2 ranks, the low end of the ratio from which on it is a fault. In 341 findings of healthy machines (MPICH 5.0.2,
# Open MPI 5.0.11, Intel MPI 2021.18.1; 16 to 64 cores) the largest low end is 3.4: exscan of MPICH.
FAULT = 6.0


def observe(facts: Facts) -> Sequence[Observation]:
    """One observation for each collective and the way that is proven for some of its lengths."""
    return [_observation(facts, violation) for violation in violations(facts)]


def _observation(facts: Facts, violation: Violation) -> Observation:
    spans = _where(violation)
    where = f", for {spans}" if violation.ranges else f" {spans}".rstrip()
    times = f"{format_time(violation.slow_s)} vs {format_time(violation.fast_s)}"
    # A ratio of several lengths is not that of the two times, which are of one.
    if len({end for ends in violation.ranges for end in ends}) > 1:
        shown = f"; at {_bytes(violation)} {times}"
    else:
        shown = f": {times}" + (f" at {_bytes(violation)}" if violation.ranges else "")
    ratio = ratio_words(violation.ratio.value, violation.ratio.interval)
    doubts = tuple(filter(None, (_disturbed(cell) for cell in (violation.slow, violation.fast))))
    return observed(
        violation,
        about=_about(violation),
        place=facts.place([violation.slow, violation.fast], [violation.collective, *([spans] if spans else [])]),
        text=f"The library's {violation.collective} is {ratio} slower than its {violation.right}{where}{shown}.",
        affects_default=True,
        cells=violation.cells,
        contrasts=violation.contrasts,
        axis=WAY,
        evidence=_evidence(violation, ratio),
        doubts=doubts,
        is_sure_fault=violation.ranks == 2 and not doubts and (violation.ratio.interval or (0.0,))[0] >= FAULT,
    )


def _where(violation: Violation) -> str:
    spans = [" to ".join(dict.fromkeys(format_bytes(end) for end in ends)) for ends in violation.ranges]
    ranks = f"on {violation.ranks} ranks" if violation.ranks else ""
    return f"{' and '.join(spans)} {ranks}".strip()


def _bytes(violation: Violation) -> str:
    return format_bytes(int(violation.slow.parameters["message_bytes"]))


def _disturbed(cell: CellResult) -> str | None:
    """Late starts: the times are those of the other calls, where these are enough."""
    repetitions = cell.repetitions
    if repetitions is None or not repetitions.late or repetitions.late < DISTURBED * repetitions.all:
        return None
    calls = f"{repetitions.late} of {repetitions.all} calls of '{cell.label}'"
    return f"a rank arrived late in {calls}"


def _about(violation: Violation) -> str:
    """The same over runs, whatever the lengths come out as."""
    ranks = f", {violation.ranks} ranks" if violation.ranks else ""
    return f"{violation.collective} against {violation.right}{ranks}"


def _evidence(violation: Violation, ratio: str) -> tuple[str, ...]:
    lines = [
        f"{ratio}: over these lengths, in interleaved launches",
    ]
    if violation.ranks:
        ranks = [violation.ranks] * 2
        rows = [
            {"collective": violation.collective, "ranks": ranks, "bytes": list(ends), "mockup": violation.right}
            for ends in violation.ranges or ((0, 0),)
        ]
        lines.append(f"tuning.json: {', '.join(json.dumps(row) for row in rows)}")
    return tuple(lines)


REPLACED_COLLECTIVE = Remedy(
    "replaced collective",
    "Preload libslowpath-coll.so with the tuning.json row in the evidence.",
    ("way",),
    variables={"SLOWPATH_COLL": "tuning.json"},
    replaces_calls=True,
    is_tried=False,
    phrase="tuned collectives (slowpath tune)",
)

SLOW_PATH: SlowPath = SlowPath(
    observe=observe,
    needs_law=False,
    kind="opportunity",
    probes=(*(f"{collective} by other calls" for collective in MADE_BY_OTHERS),),
    remedies=(REPLACED_COLLECTIVE,),
    **page_of("SP036"),
)
