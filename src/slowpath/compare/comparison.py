# SPDX-License-Identifier: Apache-2.0
"""Comparison of two runs cell by cell: unpaired, over launches, corrected for the number of comparisons. Pure.

Source: Welch 1947, doi 10.1093/biomet/34.1-2.28; Benjamini and Hochberg 1995, doi 10.1111/j.2517-6161.1995.tb02031.x.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from slowpath.compare.comparable import Doubt, doubts
from slowpath.compare.facts import RunDifference, differences
from slowpath.compare.pairs import CellPair, Matching, Unmatched, chosen_metrics, has_ratio, match, why_no_pair
from slowpath.compare.read import RunSource, require_measured
from slowpath.compare.uncompared import Uncompared, coverage
from slowpath.core.cell_results import MetricEstimate
from slowpath.core.errors import UsageError
from slowpath.experiments.registry import experiment_named
from slowpath.stats import multiplicity
from slowpath.stats.contrast import ContrastEstimate, unpaired
from slowpath.stats.verdict import judge

SCHEMA = 1
FEWEST_LAUNCHES = 3  # on each side: two values show their spread too badly to decide (docs/internals/statistics.md)
PHASES = ("first", "steady")


class ComparisonRow(msgspec.Struct, frozen=True):
    """The comparison of a cell's metric and phase, B over A. Values are in `unit`; a ratio above 1 means B is worse."""

    label: str
    experiment: str
    metric: str
    phase: str
    unit: str
    better: str
    a_cell: int
    b_cell: int
    matched_by: str  # key | label
    differs: list[RunDifference]
    a_value: float
    b_value: float
    a_launches: int
    b_launches: int
    ratio: float | None
    interval: tuple[float, float] | None
    interval_kind: str
    level: float | None
    interval_90: tuple[float, float] | None  # what `same`, and a gate's pass, are judged by
    p: float | None
    p_adjusted: float | None
    family: str
    family_size: int
    verdict: str  # faster | slower | same | undecided
    reason: str
    more_launches: int | None  # on each side, where undecided


class RunNote(msgspec.Struct, frozen=True):
    """The run on one side of a comparison."""

    id: str
    path: str
    campaign: str
    started: str | None
    status: str


class Comparison(msgspec.Struct, frozen=True):
    """The result of `slowpath compare`, and the format of its JSON."""

    schema: int
    kind: str
    a: RunNote
    b: RunNote
    interleaved: bool
    caution: str  # what else a ratio between two runs contains
    minimum_effect: float
    metrics: list[str]  # as asked for; []: each cell's first one in seconds
    phases: list[str]
    differences: list[RunDifference]
    verdicts: dict[str, int]
    common_ratio: float | None  # median of all ratios, a slowdown common to all cells; null with fewer than 5
    rows: list[ComparisonRow]
    only_a: list[Unmatched]
    only_b: list[Unmatched]
    doubts: list[Doubt]  # differences between the runs that may explain a ratio
    uncompared: list[Uncompared]
    set_aside: int  # cells that were not to be compared: skipped in both runs, or without the chosen metrics
    notes: list[str]


@dataclass(frozen=True)
class _ComparedMetric:
    pair: CellPair
    metric: str
    phase: str
    a: MetricEstimate
    b: MetricEstimate
    estimate: ContrastEstimate | str  # or why there is none

    @property
    def family(self) -> str:
        return f"{self.pair.b.experiment} {self.metric}"


def compare(
    a: RunSource,
    b: RunSource,
    minimum_effect: float,
    metrics: Collection[str] = (),
    phases: Sequence[str] = PHASES,
    by_parts: bool = False,
) -> Comparison:
    """Compare run B with run A.

    Args:   minimum_effect: smallest relative difference that counts, 0 < x < 1.  metrics: names, or "all"; () takes
            each cell's first metric in seconds that both runs have.  phases: some of PHASES.  by_parts: where no metric
            is named, take all that an experiment names as its parts (Experiment.compared), as Cannon's computation.
    Raises: UsageError: a and b are the same run or copies, have no cell in common, or no cell has such a metric.
            RecordError: a run holds no measurement.
    """
    _check(a, b)
    require_measured(a)
    require_measured(b)
    matching = match(a.results, b.results)
    if not matching.pairs:
        raise UsageError(_nothing_shared(a, b, matching))
    found = [compared for pair in matching.pairs for compared in _pair(pair, minimum_effect, metrics, phases, by_parts)]
    if not found and metrics:
        raise UsageError(_no_metric(matching.pairs, metrics, phases))
    compared_pairs = list({id(compared.pair): compared.pair for compared in found}.values())
    rows, lacking = _judged(found), coverage(a.results, b.results, matching, metrics, phases)
    return Comparison(
        schema=SCHEMA,
        kind="comparison",
        a=_note(a),
        b=_note(b),
        interleaved=False,
        caution=_caution(a, b),
        minimum_effect=minimum_effect,
        metrics=list(metrics),
        phases=list(phases),
        differences=differences(a.run, b.run),
        verdicts={word: sum(row.verdict == word for row in rows) for word in ("slower", "faster", "same", "undecided")},
        common_ratio=_common(rows),
        rows=rows,
        only_a=matching.only_a,
        only_b=matching.only_b,
        doubts=doubts(a.results, b.results, compared_pairs, lacking.uncompared),
        uncompared=lacking.uncompared,
        set_aside=lacking.set_aside,
        notes=[*a.notes, *b.notes],
    )


def _check(a: RunSource, b: RunSource) -> None:
    same_folder = a.folder is not None and b.folder is not None and a.folder.resolve() == b.folder.resolve()
    if same_folder or a.path.resolve() == b.path.resolve():
        raise UsageError(f"{a.path} and {b.path} are the same run; name two runs")
    same_start = a.run.started is not None and (a.run.id, a.run.started) == (b.run.id, b.run.started)
    if same_start or (a.results.cells and a.results.cells == b.results.cells):
        raise UsageError(f"{b.path} is a copy of {a.path}: the same launches; name two runs")


def _pair(
    pair: CellPair, minimum_effect: float, metrics: Collection[str], phases: Sequence[str], by_parts: bool
) -> Iterator[_ComparedMetric]:
    parts = experiment_named(pair.b.experiment).compared if by_parts and not metrics else ()
    for metric in chosen_metrics((pair.a, pair.b), metrics or parts):
        mine, yours = pair.a.metrics[metric], pair.b.metrics[metric]
        for phase in phases:
            if phase in mine.phases and phase in yours.phases and not why_no_pair(pair.a, pair.b, metric, phase):
                a, b = mine.phases[phase], yours.phases[phase]
                yield _ComparedMetric(
                    pair, metric, phase, a, b, _estimate(a, b, mine.better == "higher", minimum_effect)
                )


def _estimate(
    a: MetricEstimate, b: MetricEstimate, higher_is_better: bool, minimum_effect: float
) -> ContrastEstimate | str:
    values = (a.launch_values, b.launch_values)
    if not all(values):
        return "a side has no launch with a value"
    if not all(has_ratio(value) for side in values for value in side):
        return "a launch has a value that is zero, negative or not finite, so no ratio exists"
    values_a, values_b = ([1 / v for v in side] if higher_is_better else side for side in values)
    return unpaired(values_a, values_b, minimum_effect)


def _judged(found: Sequence[_ComparedMetric]) -> list[ComparisonRow]:
    families: dict[str, list[_ComparedMetric]] = {}
    for compared in found:
        if _p(compared) is not None:
            families.setdefault(compared.family, []).append(compared)
    adjusted: dict[int, float] = {}
    for family in families.values():
        p_values = [p for p in map(_p, family) if p is not None]
        for compared, value in zip(family, multiplicity.benjamini_hochberg(p_values), strict=True):
            adjusted[id(compared)] = float(value)
    return [
        _comparison_row(compared, adjusted.get(id(compared)), len(families.get(compared.family, ())))
        for compared in found
    ]


def _p(compared: _ComparedMetric) -> float | None:
    """Return the p value, or None if there is none or too few launches for a verdict. Such rows don't join a family."""
    few = min(len(compared.a.launch_values), len(compared.b.launch_values)) < FEWEST_LAUNCHES
    return None if few or isinstance(compared.estimate, str) else compared.estimate.p


def _comparison_row(compared: _ComparedMetric, p_adjusted: float | None, family_size: int) -> ComparisonRow:
    pair, found = compared.pair, compared.estimate
    verdict, reason, more = _verdict(compared, p_adjusted)
    known = None if isinstance(found, str) else found
    inner = known.equivalence if known else None
    return ComparisonRow(
        label=pair.b.label,
        experiment=pair.b.experiment,
        metric=compared.metric,
        phase=compared.phase,
        unit=pair.b.metrics[compared.metric].unit,
        better=pair.b.metrics[compared.metric].better,
        a_cell=pair.a.cell,
        b_cell=pair.b.cell,
        matched_by=pair.by,
        differs=pair.differs,
        a_value=compared.a.value,
        b_value=compared.b.value,
        a_launches=len(compared.a.launch_values),
        b_launches=len(compared.b.launch_values),
        ratio=known.ratio if known else None,
        interval=known.interval if known else None,
        interval_kind=found if isinstance(found, str) else found.kind,
        level=known.level if known else None,
        interval_90=(inner.low, inner.high) if inner else None,
        p=known.p if known else None,
        p_adjusted=p_adjusted,
        family=compared.family,
        family_size=family_size,
        verdict=verdict,
        reason=reason,
        more_launches=more,
    )


def _verdict(compared: _ComparedMetric, p_adjusted: float | None) -> tuple[str, str, int | None]:
    found = compared.estimate
    if isinstance(found, str):
        return "undecided", found, None
    fewest = min(len(compared.a.launch_values), len(compared.b.launch_values))
    judged = judge(found, p_adjusted)
    if fewest < FEWEST_LAUNCHES:
        return "undecided", f"{fewest} launches on a side, at least {FEWEST_LAUNCHES} are needed", judged.more_pairs
    return judged.word, judged.reason, judged.more_pairs


def _common(rows: Sequence[ComparisonRow]) -> float | None:
    ratios = [row.ratio for row in rows if row.ratio is not None]
    return statistics.median(ratios) if len(ratios) >= 5 else None


def _caution(a: RunSource, b: RunSource) -> str:
    when = f"A began {a.run.started or 'at an unknown time'}, B {b.run.started or 'at an unknown time'}"
    return (
        f"Not interleaved: {when}. The ratios, but not their intervals, include everything else that changed "
        "between the runs, such as drift."
    )


def _note(source: RunSource) -> RunNote:
    run = source.run
    return RunNote(run.id, str(source.path), run.campaign, run.started, run.status)


def _nothing_shared(a: RunSource, b: RunSource, matching: Matching) -> str:
    example = next((f" (for example '{cell.label}': {cell.reason})" for cell in matching.only_b), "")
    return f"{a.path} and {b.path} have no cell in common{example}; compare runs of one campaign"


def _no_metric(pairs: Sequence[CellPair], metrics: Collection[str], phases: Sequence[str]) -> str:
    known = sorted({name for pair in pairs for name in pair.a.metrics.keys() & pair.b.metrics.keys()})
    asked = " or ".join(metrics)
    return (
        f"the runs share no cell with {asked} in phase {' or '.join(phases)}; they have: "
        f"{', '.join(known) or 'nothing'}"
    )
