# SPDX-License-Identifier: Apache-2.0
"""The panel of a run as a laboratory report shows it: one row for each kind of call. Pure."""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence

from slowpath.analyse.deviations import calls_of, place_of
from slowpath.analyse.reference import Item, Judged, scale_class
from slowpath.core.finding_results import PanelRow

FIRST = "first use"


def kind_of_call(item: Item) -> str:
    """What a time is of, in words: `MPI_Send + Recv, long`, `MPI_Comm_dup, first use`."""
    calls = calls_of(item)
    if item.metric == "receive_s":  # holds the send for which it waits, and is not about it
        calls = frozenset(call for call in calls if place_of(call) > 0)
    # A program reads the first call in full, and knows the prefix of the others.
    names = re.sub(r"(?<=\+ )MPI_(Win_)?", "", " + ".join(sorted(calls, key=lambda call: (place_of(call), call))))
    words = item.metric.removesuffix("_s").replace("_", " ")
    is_first_use = item.traits["experiment"] == "first_use"
    if is_first_use and item.traits.get("pattern") == "init" and names in ("", "MPI_Init"):
        return names or f"job start: {words}"  # once in a job
    size = scale_class(item.traits)[1]
    sizes = [size] if size != "none" and not is_first_use else []
    return ", ".join([names or words, *sizes, *([FIRST] if item.phase == "first" else [])])


def panel_rows(judged: Sequence[Judged]) -> list[PanelRow]:
    """One row for each kind of call: those outside and undecided ones by ratio, others by name, first uses last.

    A row's numbers are medians over the times that lie outside, or over all where none does.
    """
    kinds: dict[str, list[Judged]] = defaultdict(list)
    for entry in judged:
        if entry.item.value > 0 < entry.reference.median:
            kinds[kind_of_call(entry.item)].append(entry)
    return sorted((_row(name, entries) for name, entries in kinds.items()), key=_rank)


def _rank(row: PanelRow) -> tuple[int, float, bool, str]:
    place = ("slower", "undecided", "inside").index(row.standing)
    return place, -row.ratio if place < 2 else 0.0, row.name.endswith(FIRST), row.name


def _row(name: str, entries: Sequence[Judged]) -> PanelRow:
    outside = [entry for entry in entries if entry.side == "slower"]
    shown = sorted(outside or entries, key=lambda entry: entry.ratio)
    typical = shown[len(shown) // 2]
    return PanelRow(
        name=name,
        cells=_cells(entries),
        outside=_cells(outside),
        ratio=typical.ratio,
        worst_ratio=shown[-1].ratio,
        low_ratio=statistics.median(entry.reference.low / entry.reference.median for entry in shown),
        high_ratio=statistics.median(entry.reference.high / entry.reference.median for entry in shown),
        limit_ratio=statistics.median(entry.limit / entry.reference.median for entry in shown),
        value_s=typical.item.value,
        source=typical.reference.source,
        runs=typical.reference.runs,
    )


def _cells(entries: Iterable[Judged]) -> int:
    return len({entry.item.cell for entry in entries})


def without_reference(measured: Iterable[Item], judged: Sequence[Judged]) -> dict[str, int]:
    """Kinds of calls of which a cell was measured that no healthy run has, and how many such cells."""
    known = {entry.item.key for entry in judged}
    missing: dict[str, set[int]] = defaultdict(set)
    for item in measured:
        if item.key not in known:
            missing[kind_of_call(item)].add(item.cell)
    return {name: len(cells) for name, cells in sorted(missing.items())}
