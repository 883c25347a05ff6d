# SPDX-License-Identifier: Apache-2.0
"""Every pair of nodes, as the page shows it."""

from __future__ import annotations

from slowpath.core.results import NodePair, NodePairs, Results
from slowpath.report import format as fmt
from slowpath.report.figure import Figure, Table, heading
from slowpath.report.svg.matrix import Square, matrix


def pair_figures(results: Results) -> list[Figure]:
    """A matrix for each entry of results.json's `node_pairs`; [] without any."""
    return [_figure(one) for one in results.node_pairs]


def _figure(one: NodePairs) -> Figure:
    title = heading(one.metric, "over the other pairs") if one.metric else "Pairs of nodes: not measured"
    squares = {(pair.a, pair.b): Square(pair.ratio, _shown(pair), pair.verdict == "slower") for pair in one.pairs}
    return Figure(title, one.label, _table(one), picture=matrix(one.nodes, squares, f"{title}, {one.label}"))


def _shown(pair: NodePair) -> str:
    if pair.ratio is not None:
        return f"{pair.ratio:.3g}×"
    return fmt.time(pair.value_s) if pair.value_s is not None else fmt.MISSING


def _table(one: NodePairs) -> Table:
    head = ["Nodes", "Time", "Over the other pairs", "Verdict"]
    rows = []
    for pair in sorted(one.pairs, key=lambda pair: -(pair.ratio or 0.0)):
        time = fmt.quantity(pair.value_s, "s", pair.interval) if pair.value_s else fmt.MISSING
        ratio = fmt.ratio(pair.ratio, pair.ratio_interval) if pair.ratio else fmt.MISSING
        within = fmt.ratio_interval(pair.ratio, pair.ratio_interval) if pair.ratio else None
        shown = fmt.with_kind(within, pair.interval_kind) if within else pair.reason
        rows.append([f"{pair.a} and {pair.b}", time, f"{ratio} {shown}", pair.verdict or fmt.MISSING])
    return Table(head, rows)
