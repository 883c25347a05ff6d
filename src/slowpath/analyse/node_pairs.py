# SPDX-License-Identifier: Apache-2.0
"""Every pair of nodes: which link is slow against the others (`node_pairs` of results.json). Pure.

A pair is compared with the median of all other pairs of the same round, so that what holds for the whole network is in
both and a bad link is not part of its own measure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

from msgspec.structs import replace

from slowpath.analyse.contrasts import Measured
from slowpath.core.plan import Cell, Placement, Plan
from slowpath.core.results import FailedNode, Line, NodePair, NodePairs, SkippedRow
from slowpath.core.units import format_ratio, format_time
from slowpath.stats.contrast import ContrastEstimate, benjamini_hochberg, judge, paired
from slowpath.stats.estimate import estimate_over_launches

FEWEST_OTHERS = 2
PHASE = "steady"


def node_pairs(
    plan: Plan, measured: Measured, labels: Mapping[int, str], skipped: Sequence[SkippedRow] = ()
) -> list[NodePairs]:
    """One matrix for each group of cells that differ in their pair of nodes alone; [] without any. Copies are controls.

    labels: cell -> label, as in results.json.  skipped: why cells were not measured.
    """
    placements = {placement.name: placement for placement in plan.placements if len(placement.hosts) == 2}
    groups: dict[tuple[object, ...], list[Cell]] = {}
    for cell in plan.cells:
        if cell.placement in placements and cell.copy == 1:
            of = placements[cell.placement].of
            key = (cell.group, cell.experiment, tuple(sorted(cell.parameters.items())), cell.environment, cell.mpi, of)
            groups.setdefault(key, []).append(cell)
    reasons = {row.cell: row.reason for row in reversed(skipped) if row.cell is not None}
    matrices = [_matrix(plan, cells, placements, measured, labels) for cells in groups.values()]
    return [replace(matrix, failed_nodes=_failed_nodes(matrix, reasons) or None) for matrix in matrices]


def pair_lines(matrices: Sequence[NodePairs]) -> list[Line]:
    """Lines of the verdict: the slow links of each matrix, or that there are none."""
    failed = {node.node: node for matrix in matrices for node in matrix.failed_nodes or ()}
    lines = [_failed_line(node) for node in failed.values()]
    return [*lines, *(line for matrix in matrices for line in _lines(matrix))]


def _failed_line(node: FailedNode) -> Line:
    text = f"{node.node}: all {node.pairs} pairs with it failed: {node.reason}"
    return Line(level="warning", text=text, contrast=None)


def _failed_nodes(matrix: NodePairs, reasons: Mapping[int, str]) -> list[FailedNode]:
    """Nodes no pair of which was measured, though others were; one pair alone does not say which node it was."""
    seen = {node for pair in matrix.pairs if pair.launches for node in (pair.a, pair.b)}
    if not seen:
        return []
    found = []
    for node in matrix.nodes:
        own = [pair for pair in matrix.pairs if node in (pair.a, pair.b)]
        if node not in seen and len(own) >= FEWEST_OTHERS:
            why = next((reasons[pair.cell] for pair in own if pair.cell in reasons), "no launch with it was tried")
            found.append(FailedNode(node=node, pairs=len(own), reason=why))
    return found


def _matrix(
    plan: Plan,
    cells: Sequence[Cell],
    placements: Mapping[str, Placement],
    measured: Measured,
    labels: Mapping[int, str],
) -> NodePairs:
    metric = next((m for cell in cells for c, m, phase in measured if c == cell.cell and phase == PHASE), None)
    by_round = {cell.cell: _rounds(measured, cell.cell, metric) for cell in cells}
    found = {cell.cell: _against_others(cell.cell, by_round, plan.minimum_effect) for cell in cells}
    judged = [cell for cell, one in found.items() if one is not None and one.p is not None]
    p_values = [one.p for cell in judged if (one := found[cell]) is not None and one.p is not None]
    adjusted = dict(zip(judged, map(float, benjamini_hochberg(p_values)) if judged else (), strict=True))
    rows = [
        _row(cell, placements[cell.placement].hosts, by_round[cell.cell], found[cell.cell], adjusted.get(cell.cell))
        for cell in cells
    ]
    common = [part for part in labels[cells[0].cell].split(", ") if part not in (cells[0].placement, "copy 1")]
    return NodePairs(
        label=", ".join(common) or cells[0].group,
        group=cells[0].group,
        metric=metric,
        nodes=list(dict.fromkeys(host for cell in cells for host in placements[cell.placement].hosts)),
        minimum_effect=plan.minimum_effect,
        pairs=rows,
    )


def _rounds(measured: Measured, cell: int, metric: str | None) -> dict[int, float]:
    if metric is None:
        return {}
    return {number: reduced.centre_s for number, (_, reduced) in measured.get((cell, metric, PHASE), {}).items()}


def _against_others(
    cell: int, by_round: Mapping[int, Mapping[int, float]], minimum_effect: float
) -> ContrastEstimate | None:
    """This pair over the median of all other pairs, round by round; None with fewer than FEWEST_OTHERS of them."""
    others, own = [], []
    for number, value in sorted(by_round[cell].items()):
        there = [rounds[number] for other, rounds in by_round.items() if other != cell and number in rounds]
        if len(there) >= FEWEST_OTHERS:
            others.append(median(there))
            own.append(value)
    return paired(others, own, minimum_effect) if own else None


def _row(
    cell: Cell, hosts: Sequence[str], rounds: Mapping[int, float], found: ContrastEstimate | None, p: float | None
) -> NodePair:
    value = estimate_over_launches([rounds[n] for n in sorted(rounds)]) if rounds else None
    fewer = f"there are fewer than {FEWEST_OTHERS} other pairs to compare with"
    verdict = judge(found, p) if found is not None else None
    return NodePair(
        a=hosts[0],
        b=hosts[1],
        cell=cell.cell,
        launches=len(rounds),
        value_s=value.value if value else None,
        interval=value.interval if value else None,
        ratio=found.ratio if found else None,
        ratio_interval=found.interval if found else None,
        interval_kind=found.kind if found else None,
        verdict=verdict.word if verdict else None,
        reason=verdict.reason if verdict else (fewer if rounds else "not measured"),
    )


def _lines(matrix: NodePairs) -> list[Line]:
    slow = [pair for pair in matrix.pairs if pair.verdict == "slower"]
    judged = [pair for pair in matrix.pairs if pair.verdict is not None]
    if not slow:
        if not judged:
            return []
        text = f"{matrix.label}: of {len(judged)} pairs of nodes none is slower than the others beyond doubt."
        return [Line(level="ok", text=text, contrast=None)]
    worst = sorted(slow, key=lambda pair: -(pair.ratio or 0.0))
    top = worst[0]
    node = _common_node(slow, matrix.nodes)
    where = f"every link of {node}" if node else f"the link between {top.a} and {top.b}"
    low, high = top.ratio_interval or (math.nan, math.nan)  # a decided pair has one
    half = (high - low) / 2
    span = f"[{format_ratio(low, half)}, {format_ratio(high, half)}]"
    most = "up to " if len(slow) > 1 else ""
    text = (
        f"{matrix.label}: {where} takes {most}{format_ratio(top.ratio or math.nan, half)} times as long {span} as the "
        f"median of the other pairs ({format_time(top.value_s or math.nan)}); "
        f"{len(slow)} of {len(judged)} pairs are slower."
    )
    return [Line(level="slow", text=text, contrast=None)]


def _common_node(slow: Sequence[NodePair], nodes: Sequence[str]) -> str | None:
    """The node all of whose links are slow, if it alone explains them; with three nodes or fewer none can."""
    if len(slow) < len(nodes) - 1 or len(nodes) < 4:
        return None
    return next((node for node in nodes if all(node in (pair.a, pair.b) for pair in slow)), None)
