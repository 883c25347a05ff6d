# SPDX-License-Identifier: Apache-2.0
"""The n-th message from a buffer: sweeps of the repetition that cells carry, and gates in them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from slowpath.core.units import format_time
from slowpath.findings.evidence.compared import Cell
from slowpath.findings.evidence.lines import Line
from slowpath.findings.rule import Observation
from slowpath.findings.words import SPEAKING, cost_words, memory, ratio_words, sizes
from slowpath.stats.laws import constant, repetition
from slowpath.stats.laws.sweep import Sweep, make_sweep

if TYPE_CHECKING:
    from slowpath.findings.evidence.evidence import Evidence

FEWEST = 4  # messages from a buffer: two before and two behind a gate
# The second message follows a pause in which the first one's payload is compared, so that it meets colder caches than
# those behind it: what ends with it is no gate.
AFTER_PAUSE = 3
LAWS = (constant.LAW, repetition.LAW)
# Of the cells with enough messages, those that must open at the same use: noise opens a few, each at another one.
SHARE = 0.2


def gates(evidence: Evidence) -> list[Observation]:
    """Cells in which the messages before the n-th are slower, n above 3 (n = 2 is a first use) and the same in many.

    They become one finding, for which the cell speaks that knows the step best (merge).
    """
    lines: dict[str, int] = {}
    found: dict[tuple[str, float], list[tuple[Line, int]]] = {}
    for line in _lines(evidence):
        kind = memory([line.cells[0]])
        lines[kind] = lines.get(kind, 0) + 1
        if not _may_be_gate(line):
            continue
        law = line.among(LAWS)
        if law.name != "repetition" or not law.brackets or law.brackets[0].up_to <= AFTER_PAUSE:
            continue
        before = int(law.brackets[0].above) - 1
        if line.ratio(before, line.sweep.points - 1).beyond:
            found.setdefault((kind, law.brackets[0].up_to), []).append((line, before))
    observed = []
    for kind, of in lines.items():
        alike = max((cells for (one, _), cells in found.items() if one == kind), key=len, default=[])
        if len(alike) >= SHARE * of:
            observed += [_observation(evidence, line, before, f"{len(alike)} of {of}") for line, before in alike]
    return observed


def _may_be_gate(line: Line) -> bool:
    """Whether the messages that a gate keeps slow are slower than the last: fitting each cell's law takes seconds."""
    centre = line.centre_s
    return bool(centre[:AFTER_PAUSE].min() > (1 + line.minimum_effect) * centre[-1])


def _lines(evidence: Evidence) -> Iterator[Line]:
    for cell in evidence.cells.values():
        for metric in SPEAKING:
            entry = cell["metrics"].get(metric)
            if entry and (sweep := _sweep(entry, metric)) is not None:
                yield Line(sweep, (cell,) * sweep.points, evidence.minimum_effect)
                break


def _sweep(entry: Mapping[str, Any], metric: str) -> Sweep | None:
    """by_repetition of a metric: for each launch the median of the 1st, 2nd, ... message; null where not measured."""
    told: Sequence[Sequence[float | None]] | None = (entry.get("by_repetition") or {}).get("launch_values")
    if not told:
        return None
    length = min(len(launch) for launch in told)
    if length < FEWEST:
        return None
    times = np.array([[np.nan if v is None else v for v in launch[:length]] for launch in told], dtype=np.float64)
    if not np.isfinite(times).any(axis=0).all() or not (times[np.isfinite(times)] > 0).all():
        return None
    return make_sweep({"repetition": np.arange(1.0, length + 1)}, times, label=metric)


def _observation(evidence: Evidence, line: Line, before: int, share: str) -> Observation:
    cell: Cell = line.cells[0]
    metric = line.sweep.label
    law = line.among(LAWS)
    ratio = line.ratio(before, line.sweep.points - 1)
    slow_s, fast_s = float(line.centre_s[before]), float(line.centre_s[-1])
    opens = law.brackets[0].up_to
    text = (
        f"Messages from a fresh buffer are slow until the {opens:g}th use: the {before + 1}th takes "
        f"{ratio_words(ratio.value, ratio.interval)} as long as the last: {format_time(slow_s)} against "
        f"{format_time(fast_s)}; it costs {cost_words(law)}; {share} cells show it."
    )
    return Observation(
        about=f"first use, {memory([cell])}",
        place=evidence.place([cell], [f"{memory([cell])} memory", f"messages of {sizes([cell])}"]),
        text=text,
        metric=metric,
        phase="steady",
        ratio=ratio.value,
        interval=ratio.interval,
        excess_s=slow_s - fast_s,
        usual=evidence.users_own(cell),
        cells=(cell["cell"],),
        law=law,
        evidence=(f"{ratio_words(ratio.value, ratio.interval)}: the {before + 1}th message over the last of a buffer",),
        slow_cells=(cell["cell"],),
        fast_cells=(cell["cell"],),
    )
