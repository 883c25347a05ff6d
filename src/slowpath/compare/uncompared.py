# SPDX-License-Identifier: Apache-2.0
"""The cells of two runs that were not compared, each with its reason, and those that nobody asked for. Pure.

A cell of either side that has something to compare, or was to have it, and finds none on the other side is uncompared:
a gate must not pass over it. Set aside are cells that both runs skip, that count calls and take no times, and that have
nothing of the metrics which the user named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Literal

import msgspec

from slowpath.compare.chosen import chosen_metrics, why_no_pair
from slowpath.compare.match import Matching, Pair, Unmatched
from slowpath.core.cell_results import CellResult
from slowpath.core.results import Results

Side = Literal["a", "b"]


class Uncompared(msgspec.Struct, frozen=True):
    """A cell of one side that was not compared, or one metric and phase of it."""

    side: Side
    cell: int
    label: str
    status: str
    reason: str


class Coverage(msgspec.Struct, frozen=True):
    """What of two runs was not compared. set_aside: cells of both sides, counted once each."""

    uncompared: list[Uncompared]
    set_aside: int


def coverage(a: Results, b: Results, matching: Matching, metrics: Collection[str], phases: Sequence[str]) -> Coverage:
    """Of all cells of both runs.  Args: metrics, phases: as those of `compare`."""
    known: dict[Side, dict[int, str]] = {"a": _reasons(a), "b": _reasons(b)}
    found: list[Uncompared] = []
    aside = 0
    for pair in matching.pairs:
        gaps = list(_gaps(pair, metrics, phases))
        found += gaps
        if not gaps and not _has_row(pair, metrics, phases):
            silent = list(_silent(pair, metrics, phases))
            found += silent
            aside += not silent
    alone: tuple[tuple[Side, list[Unmatched]], ...] = (("a", matching.only_a), ("b", matching.only_b))
    for side, cells in alone:
        found += [Uncompared(side, c.cell, c.label, c.status, c.reason) for c in cells if c.status != "skipped"]
        aside += sum(c.status == "skipped" for c in cells)
    named = [
        msgspec.structs.replace(one, reason=f"{one.status}: {known[one.side][one.cell]}")
        if one.status in ("failed", "skipped") and one.cell in known[one.side]
        else one
        for one in found
    ]
    return Coverage(named, aside)


def _reasons(results: Results) -> dict[int, str]:
    """Cell -> why launches gave nothing, in the words of the launch; the first one of each."""
    return {row.cell: row.reason for row in reversed(results.skipped) if row.cell is not None}


def _gaps(pair: Pair, metrics: Collection[str], phases: Sequence[str]) -> Iterator[Uncompared]:
    """What one side has or should have, and the other lacks; metrics that are no pair."""
    a, b = pair.a, pair.b
    if "failed" in (a.status, b.status) or (a.status == "skipped") != (b.status == "skipped"):
        yield _of("b", b, _why_not(b)) if b.status in ("failed", "skipped") else _of("a", a, _why_not(a))
        return
    for name in dict.fromkeys([*chosen_metrics([a], metrics), *chosen_metrics([b], metrics)]):
        for phase in phases:
            in_a, in_b = (name in cell.metrics and phase in cell.metrics[name].phases for cell in (a, b))
            if in_a and in_b:
                if reason := why_no_pair(a, b, name, phase):
                    yield _of("b", b, reason)
            elif in_a:
                yield _of("b", b, _lacks(b, name, phase))
            elif in_b:
                yield _of("a", a, _lacks(a, name, phase))


def _silent(pair: Pair, metrics: Collection[str], phases: Sequence[str]) -> Iterator[Uncompared]:
    """Sides of a pair without a value of what is compared, though nobody asked to leave them out."""
    sides: tuple[tuple[Side, CellResult], ...] = (("a", pair.a), ("b", pair.b))
    for side, cell in sides:
        others = list(dict.fromkeys(phase for metric in cell.metrics.values() for phase in metric.phases))
        if cell.status == "skipped" or cell.witnessed or (cell.metrics and metrics):
            continue
        if cell.metrics:
            words = f"has no value of phase {' or '.join(phases)}, but of {' and '.join(others)}: --phase all"
            yield _of(side, cell, words)
        elif not cell.is_measured:
            why = next(iter(cell.absent.values()), cell.reason or "its launches hold no samples")
            yield _of(side, cell, f"has no value: {why}")


def _of(side: Side, cell: CellResult, reason: str) -> Uncompared:
    return Uncompared(side, cell.cell, cell.label, cell.status, reason)


def _lacks(cell: CellResult, metric: str, phase: str) -> str:
    why = cell.absent.get(metric) or cell.reason or "see its report"
    return f"has no value of {metric}, {phase}, which the other run has: {why}"


def _has_row(pair: Pair, metrics: Collection[str], phases: Sequence[str]) -> bool:
    return any(
        phase in cell.metrics[name].phases
        for cell in (pair.a, pair.b)
        for name in chosen_metrics([cell], metrics)
        for phase in phases
    )


def _why_not(cell: CellResult) -> str:
    return f"{cell.status}: {cell.reason or 'see its report'}"
