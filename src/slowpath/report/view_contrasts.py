# SPDX-License-Identifier: Apache-2.0
"""Contrasts as the page shows them: words, rounded numbers and pictures."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from markupsafe import Markup

from slowpath.core.cell_results import CellResult
from slowpath.core.result import Interval
from slowpath.core.results import ContrastResult, ContrastSide, Results
from slowpath.report import format as fmt
from slowpath.report.shown import MOST
from slowpath.report.svg import contrast_forest
from slowpath.report.svg.contrast_forest import DrawnRatio
from slowpath.report.svg.scale import LogScale
from slowpath.report.svg.sides import pairs_chart

MOST_UNMEASURED = 3  # of a group with a row each; more of them are one line for each reason
WORDS = ("slower", "faster", "same", "undecided", "not measured")


@dataclass(frozen=True, slots=True)
class SideView:
    """One side of a contrast."""

    cell: int
    value: str
    label: str
    phase: str
    time: str
    command: str | None


@dataclass(frozen=True, slots=True)
class ContrastView:
    """A contrast. `interval` has the interval, or "no interval" and the reason; `full`: its row opens to its pairs."""

    id: str
    title: str
    question: str
    detail: str
    verdict: str
    ratio: str
    interval: str
    a: SideView
    b: SideView
    track: Markup
    pairs: Markup | None
    facts: list[tuple[str, str]]
    pair_rows: list[tuple[str, str]]
    remedy: str | None
    suspect: list[str]
    opened: bool
    full: bool


@dataclass(frozen=True, slots=True)
class ContrastGroup:
    """The contrasts of a question on one axis. `unmeasured` has title and names of those without a row."""

    name: str
    question: str
    axis: Markup
    rows: list[ContrastView]
    counts: str
    unmeasured: list[tuple[str, str]]


def interval_words(contrast: ContrastResult) -> str:
    """Return the interval, such as `[2.55, 2.90], signed-rank 95 %`, or why there is none."""
    shown = fmt.ratio_interval(contrast.ratio, contrast.interval)
    return fmt.with_kind(shown, contrast.interval_kind or contrast.reason)


def word(contrast: ContrastResult) -> str:
    """Return the verdict, or that there is none."""
    return contrast.verdict or "not measured"


Cells = Mapping[int, CellResult]


def _cell_interval(side: ContrastSide, metric: str, cells: Cells) -> Interval | None:
    """Return the interval of a side's own estimate, which is used for rounding only."""
    cell = cells.get(side.cell)
    estimate = cell.estimate(metric, side.phase) if cell else None
    return estimate.interval if estimate else None


def _side(side: ContrastSide, value_s: float | None, metric: str, command: str | None, cells: Cells) -> SideView:
    shown = fmt.time(value_s, _cell_interval(side, metric, cells))
    return SideView(side.cell, side.value, side.label, side.phase, shown, command)


def _facts(contrast: ContrastResult) -> list[tuple[str, str]]:
    launches = contrast.launches
    together = "in the same launches" if contrast.within_launch else "in launches of their own"
    mixed = "interleaved in random order" if contrast.interleaved else "not interleaved: includes drift over time"
    facts = [
        ("Metric", fmt.metric_name(contrast.metric)),
        ("Differs in", contrast.axis.replace("_", " ")),
        ("Launch pairs", f"{launches}; both sides {together}, {mixed}" if launches else "none"),
    ]
    if contrast.p is not None:
        adjusted = f"{contrast.p_adjusted:.2g}" if contrast.p_adjusted is not None else fmt.MISSING
        family = f"{contrast.family_size or fmt.MISSING} contrasts ({contrast.family or 'no family'})"
        facts.append(("p", f"{contrast.p:.2g}; adjusted {adjusted} over {family}"))
    facts.append(("Called same", f"within {fmt.percent(contrast.minimum_effect, 0)}"))
    if contrast.reason:
        facts.append(("Why", contrast.reason))
    if contrast.more_pairs:
        facts.append(("To decide", f"about {fmt.plural(contrast.more_pairs, 'more launch pair')}"))
    if contrast.control:
        facts.append(("Control", "both sides are the same; expected: same"))
    return facts


def anchor(contrast_id: str) -> str:
    """Return an id for the contrast's place in the page: the text as one word that a link can contain."""
    return "contrast-" + quote(contrast_id, safe="").replace("%", "_")


def title(contrast: ContrastResult) -> str:
    """Return the comparison, such as `small against huge`; numbers get the name of their parameter."""
    values = [side.value for side in (contrast.b, contrast.a)]
    axis = contrast.axis.replace("_", " ")
    named = [f"{axis} {value}" if value.isdecimal() else value for value in values]
    return " against ".join(named)


def common(contrast: ContrastResult) -> str:
    """Return what both sides share, or their labels if nothing is recorded and the title does not name them."""
    a, b = contrast.a, contrast.b
    labels = list(dict.fromkeys(side.label for side in (b, a) if side.label != side.value))
    first = ["first message"] if a.phase == b.phase == "first" else []
    return ", ".join([found for found in [contrast.where or " / ".join(labels)] if found] + first)


def questions(contrasts: Sequence[ContrastResult]) -> list[str]:
    """Return the distinct questions of a group. A single one is its heading; several stand at their contrasts."""
    return list(dict.fromkeys(contrast.question for contrast in contrasts))


def _ratio(contrast: ContrastResult) -> DrawnRatio:
    """Return the ratio as the forest draws it."""
    return DrawnRatio(
        f"{contrast.b.value} against {contrast.a.value}",
        contrast.ratio,
        contrast.interval,
        word(contrast),
        contrast.minimum_effect,
        contrast.interval_kind or contrast.reason or "no interval",
    )


def _view(contrast: ContrastResult, cells: Cells, scale: LogScale, grid: str, opened: bool, full: bool) -> ContrastView:
    metric, commands = contrast.metric, contrast.reproduce
    return ContrastView(
        anchor(contrast.id),
        title(contrast),
        contrast.question,
        common(contrast),
        word(contrast),
        fmt.ratio(contrast.ratio, contrast.interval),
        interval_words(contrast),
        _side(contrast.a, contrast.a_value_s, metric, commands.a, cells),
        _side(contrast.b, contrast.b_value_s, metric, commands.b, cells),
        contrast_forest.track(_ratio(contrast), scale, grid),
        pairs_chart(contrast) if full else None,
        _facts(contrast),
        [(fmt.time(x), fmt.time(y)) for x, y in contrast.pairs],
        contrast.remedy,
        contrast.suspect,
        opened and full,
        full,
    )


def _counts(contrasts: Sequence[ContrastResult]) -> str:
    found = [(sum(word(c) == verdict for c in contrasts), verdict) for verdict in WORDS]
    return ", ".join(f"{count} {verdict}" for count, verdict in found if count)


def groups(results: Results, most_full: int = MOST) -> list[ContrastGroup]:
    """Return all contrasts grouped by the campaign's contrast, in the order of the results.

    Args: most_full: number of contrasts that open to their pairs.
    """
    cells = {cell.cell: cell for cell in results.cells}
    opened = {line.contrast for line in results.verdict.lines if line.level == "slow"}
    full = _full(results, most_full)
    by_group: dict[str, list[ContrastResult]] = {}
    for contrast in results.contrasts:
        by_group.setdefault(contrast.group, []).append(contrast)
    return [_group(f"grid-{i}", name, rows, cells, opened, full) for i, (name, rows) in enumerate(by_group.items())]


def rows_of(found: Sequence[ContrastGroup]) -> set[str]:
    """Return the anchors of the contrasts that have a row."""
    return {row.id for group in found for row in group.rows}


def _full(results: Results, most: int) -> set[str]:
    """Return the ids of contrasts that open: those of verdict and findings, then decided ones, then others."""
    named = {line.contrast for line in results.verdict.lines} | {
        c for finding in results.findings for c in finding.contrasts
    }
    order = sorted(
        results.contrasts, key=lambda contrast: (contrast.id not in named, contrast.verdict not in ("slower", "faster"))
    )
    return {contrast.id for contrast in order[:most]}


def _group(
    grid: str,
    name: str,
    contrasts: Sequence[ContrastResult],
    cells: Cells,
    opened: Collection[str | None],
    full: Collection[str],
) -> ContrastGroup:
    left = [contrast for contrast in contrasts if contrast.verdict is None]
    left = left if len(left) > MOST_UNMEASURED else []
    shown = [contrast for contrast in contrasts if contrast not in left]
    scale = contrast_forest.scale_of([_ratio(contrast) for contrast in shown])
    rows = [_view(contrast, cells, scale, grid, contrast.id in opened, contrast.id in full) for contrast in shown]
    asked = questions(contrasts)
    heading = asked[0] if len(asked) == 1 else name
    return ContrastGroup(name, heading, contrast_forest.axis(scale, grid), rows, _counts(contrasts), _unmeasured(left))


def _unmeasured(left: Sequence[ContrastResult]) -> list[tuple[str, str]]:
    """Return titles such as `12 not measured: no samples of a and b`, each with the names of its contrasts."""
    reasons: dict[str, list[ContrastResult]] = {}
    for contrast in left:
        reasons.setdefault(contrast.reason or "no reason was recorded", []).append(contrast)
    return [
        (f"{len(some)} not measured: {why}", "; ".join(f"{title(contrast)}: {common(contrast)}" for contrast in some))
        for why, some in reasons.items()
    ]
