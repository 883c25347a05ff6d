# SPDX-License-Identifier: Apache-2.0
"""The cells of two runs that were not compared, each with its reason. Pure.

A cell is uncompared if it has values, or should have, and the other side has no matching ones: a gate must report it.
Cells are set aside if both runs skip them, if they count calls instead of taking times, or if they have none of the
metrics that the user named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Literal

import msgspec

from slowpath.compare.pairs import CellPair, Matching, Unmatched, chosen_metrics, why_no_pair
from slowpath.core.cell_results import CellResult
from slowpath.core.results import Results

Side = Literal["a", "b"]


class Uncompared(msgspec.Struct, frozen=True):
    """A cell of one side, or a metric and phase of it, that was not compared."""

    side: Side
    cell: int
    label: str
    status: str
    reason: str


class UncomparedCells(msgspec.Struct, frozen=True):
    """All uncompared cells of two runs, and the number of cells of both sides that were set aside."""

    uncompared: list[Uncompared]
    set_aside: int


def coverage(
    a: Results, b: Results, matching: Matching, metrics: Collection[str], phases: Sequence[str]
) -> UncomparedCells:
    """Return which cells of two runs are not compared.  Args: metrics, phases: those of `compare`."""
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
        msgspec.structs.replace(cell, reason=f"{cell.status}: {known[cell.side][cell.cell]}")
        if cell.status in ("failed", "skipped") and cell.cell in known[cell.side]
        else cell
        for cell in found
    ]
    return UncomparedCells(named, aside)


def _reasons(results: Results) -> dict[int, str]:
    """Return, by cell, why its launches gave no value: the first reason that a launch states."""
    return {row.cell: row.reason for row in reversed(results.skipped) if row.cell is not None}


def _gaps(pair: CellPair, metrics: Collection[str], phases: Sequence[str]) -> Iterator[Uncompared]:
    """Yield what one side has, or should have, and the other lacks, and metrics that can't be compared."""
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


def _silent(pair: CellPair, metrics: Collection[str], phases: Sequence[str]) -> Iterator[Uncompared]:
    """Yield the sides of a pair without a value to compare, unless the user left them out."""
    sides: tuple[tuple[Side, CellResult], ...] = (("a", pair.a), ("b", pair.b))
    for side, cell in sides:
        others = list(dict.fromkeys(phase for metric in cell.metrics.values() for phase in metric.phases))
        if cell.status == "skipped" or cell.witnessed or (cell.metrics and metrics):
            continue
        if cell.metrics:
            words = f"has no value of phase {' or '.join(phases)}, only of {' and '.join(others)}: use --phase all"
            yield _of(side, cell, words)
        elif not cell.is_measured:
            why = next(iter(cell.absent.values()), cell.reason or "its launches hold no samples")
            yield _of(side, cell, f"has no value: {why}")


def _of(side: Side, cell: CellResult, reason: str) -> Uncompared:
    return Uncompared(side, cell.cell, cell.label, cell.status, reason)


def _lacks(cell: CellResult, metric: str, phase: str) -> str:
    why = cell.absent.get(metric) or cell.reason or "see its report"
    return f"has no value of {metric}, {phase}, but the other run has one: {why}"


def _has_row(pair: CellPair, metrics: Collection[str], phases: Sequence[str]) -> bool:
    return any(
        phase in cell.metrics[name].phases
        for cell in (pair.a, pair.b)
        for name in chosen_metrics([cell], metrics)
        for phase in phases
    )


def _why_not(cell: CellResult) -> str:
    return f"{cell.status}: {cell.reason or 'see its report'}"
