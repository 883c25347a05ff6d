# SPDX-License-Identifier: Apache-2.0
"""The findings of a diagnosis in one picture: how many times as long each takes, on one axis. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from slowpath.core.results import Finding
from slowpath.report import format as fmt
from slowpath.report.svg import contrast_forest
from slowpath.report.svg.contrast_forest import Ratio
from slowpath.stats.laws.choose import MINIMUM_EFFECT

_GRID = "findings-grid"


def forest(findings: Sequence[Finding]) -> str:
    """A section of HTML; empty where no finding has a ratio."""
    drawn = [one for one in findings if one.ratio is not None]
    if not drawn:
        return ""
    scale = contrast_forest.scale_of([_drawn(one) for one in drawn])
    rows = "".join(
        f'<div class="row"><span class="name"><b><a href="#{escape(one.id)}">{escape(one.rule)}</a></b> '
        f"{escape(one.title)}<small>{escape(one.where or '')}</small></span>"
        f'<span class="box">{contrast_forest.track(_drawn(one), scale, _GRID)}</span>'
        f'<span class="numbers"><b>{escape(fmt.ratio(one.ratio, one.interval))}</b> {escape(one.status)}'
        f"<small>{escape(_spread(one))}</small></span></div>"
        for one in drawn
    )
    axis = contrast_forest.axis(scale, _GRID)
    return (
        '<section class="strip forest" aria-label="Findings"><div class="row head"><span></span>'
        f'<div class="box">{axis}</div><span class="sub">slower by, interval, status</span></div>'
        f"{rows}</section>"
    )


def _drawn(finding: Finding) -> Ratio:
    title = f"{finding.title} against the fast side"
    return Ratio(title, finding.ratio, finding.interval, "slower", MINIMUM_EFFECT)


def _spread(finding: Finding) -> str:
    """The interval, and what a proven remedy takes away."""
    words = [fmt.ratio_interval(finding.ratio, finding.interval) or "no interval"]
    proven = next((one for one in finding.remedies if one.verdict == "proven"), None)
    if proven is not None and proven.removed_ratio:
        words.append(f"{proven.name}: removes {proven.removed_ratio.value:.0%}")
    return "; ".join(words)
