# SPDX-License-Identifier: Apache-2.0
"""What changes along a line: costs that grow with a number, protocol switches, paths that open at a later use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from slowpath.core.cell_results import CellResult, MetricResult
from slowpath.findings.evidence.evidence import CLEAR_RATIO, LAW_RATIO, Growth, LateFastPath, ProtocolSwitch
from slowpath.findings.evidence.words import SPEAKING, memory
from slowpath.findings.gather.contrasts import ratio_of
from slowpath.findings.gather.laws import named
from slowpath.findings.gather.lines import Line
from slowpath.stats.inputs import Floats
from slowpath.stats.laws import linear, segments, steps
from slowpath.stats.laws.found import Bracket, Coefficient, FittedLaw
from slowpath.stats.laws.sweep import Sweep, make_sweep

MESSAGE = "message_bytes"
GROWTH_METRICS = (*SPEAKING, "receive_s")
SWITCH_METRICS = ("half_round_trip_latency_s", "one_way_s", "send_barrier_s", "time_per_message_s")
WIDEST = 4.0  # of a bracket: further away the lines of both sides say nothing of its ends
MOST_WITHOUT = 0.2  # share of the launches in which a protocol's stretch may come out without a constant
FEWEST = 4  # messages from a buffer: two before and two behind the opening
# The second message follows a pause in which the first one's payload is compared, so that it meets colder caches than
# those behind it: what ends with it is no late path.
AFTER_PAUSE = 3
# Of the cells with enough messages, those that must open at the same use: noise opens a few, each at another one.
SHARE = 0.2
_SWITCH_LAWS = (linear.CONSTANT, linear.BY_BYTE, segments.LAW)
_LATE_LAWS = (linear.CONSTANT, steps.REPETITIONS)


def growths(lines: Iterable[Line], covariate: str, names: Sequence[str]) -> Iterator[Growth]:
    """Lines over a covariate that follow another of these laws than a constant, beyond the minimum effect.

    The slowest point is held against the one with the least of what is swept: what a user would compare with.
    """
    laws = named(names)
    for line in lines:
        values = line.sweep.covariates[covariate]
        slow, fast = line.slowest, int(values.argmin())
        ratio = line.picked_ratio(slow, fast)
        if not ratio.beyond or ratio.least < LAW_RATIO or (law := line.among(laws)).fits in (None, "constant"):
            continue
        yield Growth(
            slow=line.cells[slow],
            fast=line.cells[fast],
            metric=line.sweep.metric,
            slow_s=float(line.centre_s[slow]),
            fast_s=float(line.centre_s[fast]),
            ratio=ratio,
            phase=line.sweep.phase,
            slow_value=float(values[slow]),
            fast_value=float(values[fast]),
            law=law,
            cells=line.cells,
        )


def protocol_switches(lines: Iterable[Line]) -> Iterator[ProtocolSwitch]:
    """One for each line of message lengths with a clear switch; the clearest one comes first in its law."""
    for line in lines:
        lengths = line.sweep.covariates[MESSAGE]
        if line.cells[0].copy != 1 or len(set(lengths.tolist())) < line.sweep.points:
            continue
        law = line.among(_SWITCH_LAWS)
        clear = [
            one
            for bracket, before, after in _stretches(law)
            if (one := _switch(line, law, bracket, (before, after))) is not None
            if one.ratio.beyond and one.ratio.value >= CLEAR_RATIO
        ]
        if clear:
            yield max(clear, key=lambda one: one.ratio.value)


_Side = tuple[Coefficient, Coefficient]


def _stretches(law: FittedLaw) -> list[tuple[Bracket, _Side, _Side]]:
    """Of a law of segments: each limit with the terms of the stretches on both sides, where both are protocols: each
    takes some time for 0 bytes. A stretch without is a piece of a curve, as where a cache ends.
    """
    if law.fits != "segments":
        return []
    terms = list(zip(law.coefficients[::2], law.coefficients[1::2], strict=True))
    near = [bracket.up_to <= WIDEST * max(1.0, bracket.above) for bracket in law.brackets]
    every = zip(law.brackets, terms, terms[1:], strict=False)
    kept = [one for one, is_near in zip(every, near, strict=False) if is_near]
    return [one for one in kept if _has_latency(one[1]) and _has_latency(one[2])]


def _has_latency(side: _Side) -> bool:
    """Whether nearly all launches have a constant above 0, which no fit lets fall below."""
    return float(np.mean(np.array(side[0].launch_values) <= 0)) <= MOST_WITHOUT


def _switch(line: Line, law: FittedLaw, bracket: Bracket, sides: tuple[_Side, _Side]) -> ProtocolSwitch | None:
    """What either side's protocol takes for the first length behind the switch, launch by launch."""
    before, after = (_at(side, bracket.up_to) for side in sides)
    if not ((before > 0).all() and (after > 0).all()):
        return None
    rising = float(np.median(after)) > float(np.median(before))
    slow, fast = (after, before) if rising else (before, after)
    lengths = line.sweep.covariates[MESSAGE]
    ends = [line.cells[int(np.flatnonzero(lengths == end)[0])] for end in (bracket.up_to, bracket.above)]
    slow_cell, fast_cell = ends if rising else ends[::-1]
    others = [one for one in law.brackets if one is not bracket]
    return ProtocolSwitch(
        slow=slow_cell,
        fast=fast_cell,
        metric=line.sweep.metric,
        slow_s=float(np.median(slow)),
        fast_s=float(np.median(fast)),
        ratio=ratio_of(slow, fast, line.minimum_effect),
        law=replace(law, brackets=(bracket, *others)),
        rising=rising,
        cells=line.cells,
    )


def _at(side: _Side, length: float) -> Floats:
    """Time of a message of this length by one stretch's line, in each launch."""
    constant_s, each_s = (np.array(term.launch_values, dtype=np.float64) for term in side)
    times: Floats = constant_s + each_s * length
    return times


def late_fast_paths(cells: Iterable[CellResult], minimum_effect: float) -> list[LateFastPath]:
    """Cells in which the messages before the n-th are slower, n above 3 (n = 2 is a first use) and the same in many."""
    lines: dict[str, int] = {}
    found: dict[tuple[str, float], list[tuple[Line, int]]] = {}
    for line in _uses(cells, minimum_effect):
        kind = memory([line.cells[0]])
        lines[kind] = lines.get(kind, 0) + 1
        if (opening := _opening(line)) is not None:
            found.setdefault((kind, opening[0]), []).append((line, opening[1]))
    late = []
    for kind, of in lines.items():
        alike = max((some for (one, _), some in found.items() if one == kind), key=len, default=[])
        if len(alike) >= SHARE * of:
            late += [_late(line, before, len(alike), of) for line, before in alike]
    return late


def _opening(line: Line) -> tuple[float, int] | None:
    """(the use at which the fast path opens, index of the last slow one); None: there is none.

    Fitting each cell's law takes seconds, so first whether the messages that a late path keeps slow are slower at all.
    """
    centre = line.centre_s
    if not centre[:AFTER_PAUSE].min() > (1 + line.minimum_effect) * centre[-1]:
        return None
    last = line.sweep.points - 1
    if not any(line.ratio(use, last).beyond for use in range(AFTER_PAUSE - 1, last)):
        return None  # as the last slow one has to be, whichever it is
    law = line.choose(_LATE_LAWS).winner  # what it predicts is asked of the few that agree
    if law is None or law.name != "repetition" or not law.brackets or law.brackets[0].up_to <= AFTER_PAUSE:
        return None
    before = int(law.brackets[0].above) - 1
    return (law.brackets[0].up_to, before) if line.ratio(before, line.sweep.points - 1).beyond else None


def _uses(cells: Iterable[CellResult], minimum_effect: float) -> Iterator[Line]:
    """Of each cell with enough messages from a buffer the line over the use."""
    for cell in cells:
        for metric in SPEAKING:
            entry = cell.metrics.get(metric)
            if entry and (sweep := _use_sweep(entry, metric)) is not None:
                yield Line(sweep, (cell,) * sweep.points, minimum_effect)
                break


def _use_sweep(entry: MetricResult, metric: str) -> Sweep | None:
    """by_repetition of a metric: for each launch the median of the 1st, 2nd, ... message."""
    rows = entry.by_repetition.launch_values if entry.by_repetition else []
    length = min((len(launch) for launch in rows), default=0)
    if length < FEWEST:
        return None
    times = np.array([launch[:length] for launch in rows], dtype=np.float64)
    if not np.isfinite(times).any(axis=0).all() or not (times[np.isfinite(times)] > 0).all():
        return None
    return make_sweep({"repetition": np.arange(1.0, length + 1)}, times, label=metric)


def _late(line: Line, before: int, agree: int, of: int) -> LateFastPath:
    law = line.among(_LATE_LAWS)
    return LateFastPath(
        slow=line.cells[0],
        fast=line.cells[0],
        metric=line.sweep.label,
        slow_s=float(line.centre_s[before]),
        fast_s=float(line.centre_s[-1]),
        ratio=line.ratio(before, line.sweep.points - 1),
        opens=law.brackets[0].up_to,
        before=before + 1,
        law=law,
        agree=agree,
        of=of,
    )
