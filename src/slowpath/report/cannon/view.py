# SPDX-License-Identifier: Apache-2.0
"""Cannon's algorithm, as the page shows it: the advice, curves over n, where the time goes, timelines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from slowpath.core.cannon_results import CannonBest, CannonBlas, CannonGroup
from slowpath.core.results import Results
from slowpath.report import format as fmt
from slowpath.report.cannon.curves import curve_figures
from slowpath.report.cannon.parts import part_figures
from slowpath.report.cannon.scaling import scaling_figures, scaling_note
from slowpath.report.cannon.timelines import other_timeline_figures, timeline_figures
from slowpath.report.cannon.words import PARTS, variant_name
from slowpath.report.figure import Figure, Table

# A page is smaller than 1 MB (docs/reference/report.md), and a run over many numbers of ranks has many timelines.
MOST_TIMELINE_BYTES = 60_000


@dataclass(frozen=True, slots=True)
class GroupView:
    """One group of results.json's `cannon`. legend: class and words of each part that occurs.

    left_out: timelines for which the page has no room.
    """

    label: str
    advice: str
    facts: list[tuple[str, str]]
    best: Table
    curves: list[Figure]
    parts: list[Figure]
    timelines: list[Figure]
    other_timelines: list[Figure]
    legend: list[tuple[str, str, str]]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class CannonView:
    """The section. scaling: panels over the number of ranks; empty: the run has one number."""

    groups: list[GroupView]
    scaling: list[Figure]
    scaling_note: str


def cannon_view(results: Results) -> CannonView | None:
    """None: a run without cells of the experiment cannon."""
    if results.cannon is None:
        return None
    groups = [_group(group, number) for number, group in enumerate(results.cannon.groups)]
    groups = _within_the_page(groups)
    return CannonView(groups, scaling_figures(results.cannon.scaling), scaling_note(results.cannon.scaling))


def _within_the_page(groups: list[GroupView]) -> list[GroupView]:
    """As many timelines as the page has room for: the chosen ones of every group before the others of any."""
    left = MOST_TIMELINE_BYTES

    def fitting(figures: list[Figure]) -> list[Figure]:
        nonlocal left
        kept = []
        for figure in figures:
            if (size := len(figure.picture or "")) <= left:
                left -= size
                kept.append(figure)
        return kept

    chosen = [fitting(one.timelines) for one in groups]
    others = [fitting(one.other_timelines) for one in groups]
    return [
        replace(
            one,
            timelines=first,
            other_timelines=rest,
            left_out=len(one.timelines) + len(one.other_timelines) - len(first) - len(rest),
        )
        for one, first, rest in zip(groups, chosen, others, strict=True)
    ]


def _group(group: CannonGroup, number: int) -> GroupView:
    occurring = {part for one in group.variants for point in one.points for part in point.parts_s}
    legend = [(f"p-{part}", part, words) for part, words in PARTS.items() if part in occurring and part != "generate"]
    advice = group.advice or f"{fmt.MISSING} no advice: {group.advice_reason}"
    return GroupView(group.label, advice, _facts(group), _best(group), curve_figures(group),
                       part_figures(group, number), timeline_figures(group), other_timeline_figures(group),
                       legend)  # fmt: skip


def _facts(group: CannonGroup) -> list[tuple[str, str]]:
    grid, blas = group.grid, group.blas
    why = group.setup_reason or "not recorded"
    facts = [("Ranks", str(group.ranks))]
    facts.append(("Grid", f"{grid.rows} × {grid.columns}, {fmt.plural(grid.steps, 'step')}" if grid
                  else f"{fmt.MISSING} {why}"))  # fmt: skip
    facts.append(("BLAS", _blas(blas) if blas else f"{fmt.MISSING} {why}"))
    own = "each rank has its own, so exposed shares count"
    facts.append(("Cores", own if group.ranks_have_cores else f"shared: {group.ranks_have_cores_reason}"))
    facts.append(("Repetitions", _disturbed(group)))
    facts.append(("Clock", _clock(group)))
    remarks = {one.variant: point.remark for one in group.variants for point in one.points[-1:] if point.remark}
    facts += [(variant_name(name), words) for name, words in remarks.items()]
    return facts


def _blas(blas: CannonBlas) -> str:
    known = [
        blas.name,
        blas.core and f"for {blas.core}",
        blas.threads and fmt.plural(blas.threads, "thread"),
    ]
    return ", ".join(str(one) for one in [*known, blas.compiled_for] if one)


def _clock(group: CannonGroup) -> str:
    found = group.clock
    if found is None:
        return f"{fmt.MISSING} {group.clock_reason}"
    lowest, median, highest = (
        fmt.quantity(hz / 1e9, "GHz") for hz in (found.lowest_hz, found.median_hz, found.highest_hz)
    )
    how = "by a loop of counted additions" if found.source == "counted loop" else f"as {found.source} reports"
    return f"{median} after a repetition, from {lowest} to {highest}, {how}"


def _disturbed(group: CannonGroup) -> str:
    """How many repetitions of the group's cells were disturbed; they are counted, never dropped."""
    found = group.repetitions
    if found is None:
        return f"{fmt.MISSING} which were disturbed was not reported"
    disturbed = f"{found.all - found.clean} of {found.all} were disturbed"
    return f"{disturbed}; a launch stands for its clean ones where there are enough"


def _best(group: CannonGroup) -> Table:
    rows = []
    across: Mapping[int, CannonBest] = {one.n: one for one in group.best_across_nodes}
    for one in group.best:
        rows.append([str(one.n), *_winner(one), *_winner(across.get(one.n))])
    head = ["n", "Best", "Tied with it", "Best across nodes", "Tied with it"]
    return Table(head, rows)


def _winner(one: CannonBest | None) -> tuple[str, str]:
    if one is None:
        return f"{fmt.MISSING} not compared", ""
    if one.variant is None:
        return f"{fmt.MISSING} {one.reason}", ""
    return variant_name(one.variant), ", ".join(variant_name(name) for name in one.same) or "none"
