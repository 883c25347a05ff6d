# SPDX-License-Identifier: Apache-2.0
"""SP004: a faster path that opens only at the n-th use of a buffer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.core.cell_results import CellResult, MetricResult
from slowpath.core.finding_results import Rival
from slowpath.findings.facts import SPEAKING, Difference, Facts, memory, ratio_words, times_words, where_words
from slowpath.findings.laws import Line
from slowpath.findings.slow_path import WAITING, Observation, SlowPath, observed
from slowpath.findings.witness import cost_witness
from slowpath.stats.laws.known import CONSTANT, REPETITIONS
from slowpath.stats.laws.law import FittedLaw, Sweep, cost_words, make_sweep


@dataclass(frozen=True, kw_only=True)
class LateFastPath(Difference):
    """Messages from a fresh buffer that are slow before the `opens`-th use. agree: cells of `of` that show the same."""

    opens: float
    before: int  # the last slow message, counted from 1
    law: FittedLaw
    agree: int
    of: int


FEWEST = 4  # messages from a buffer: two before and two behind the opening

# The second message follows a pause in which the first one's payload is compared, so that it meets colder caches than
# those behind it: what ends with it is no late path.
AFTER_PAUSE = 3

# Of the cells with enough messages, those that must open at the same use: noise opens a few, each at another one.
SHARE = 0.2

_LATE_LAWS = (CONSTANT, REPETITIONS)


def late_fast_paths(facts: Facts) -> list[LateFastPath]:
    """Cells in which the messages before the n-th are slower, n above 3 (n = 2 is a first use) and the same in many."""
    lines: dict[str, int] = {}
    found: dict[tuple[str, float], list[tuple[Line, int]]] = {}
    for line in _uses(facts.every_cell, facts.minimum_effect):
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


def observe(facts: Facts) -> Sequence[Observation]:
    """Buffers whose first n - 1 messages are slow, n above 3; the cell that knows the step best speaks (merge)."""
    return [_observation(facts, path) for path in late_fast_paths(facts)]


def _observation(facts: Facts, one: LateFastPath) -> Observation:
    return observed(
        one,
        about=f"first use, {memory([one.slow])}",
        place=facts.place([one.slow], where_words([one.slow])),
        text=f"Messages from a new buffer are slow until its use {one.opens:g}: use {one.before} is "
        f"{ratio_words(one.ratio)} slower than the last: {times_words(one)}; cost: {cost_words(one.law)}; "
        f"{one.agree} of {one.of} cells agree.",
        affects_default=facts.is_default(one.slow),
        cells=(one.slow.cell,),
        law=one.law,
        evidence=(f"{ratio_words(one.ratio)}: message {one.before} over the last of a buffer",),
    )


_GRADUAL = Rival(name="clock of the processor", cause="The processor raises its clock while the first messages run.")

SLOW_PATH: SlowPath = SlowPath(
    code="SP004",
    name="late fast path",
    title="Messages from a new buffer are slow until its n-th use",
    what="Some libraries take their fast path for a buffer only after they have seen it several times: MPICH maps "
    "by XPMEM at the fifth use of an address.",
    needs="Times of the 1st to n-th message from fresh buffers: law 'repetition' with n above 3. Explained when "
    "system time or counted calls change at the same n.",
    remedy="Keep few buffers and use them often; send some messages before the time that counts.",
    observe=observe,
    cause="The library takes another path from the n-th use of a buffer on.",
    witnesses=cost_witness,
    kind="property",
    rivals=(_GRADUAL, WAITING),
)
