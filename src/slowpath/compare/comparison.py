# SPDX-License-Identifier: Apache-2.0
"""Two runs compared, cell by cell: unpaired, over launches, corrected for how many there are. Pure.

Source: Welch 1947, doi 10.1093/biomet/34.1-2.28; Benjamini and Hochberg 1995, doi 10.1111/j.2517-6161.1995.tb02031.x.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from slowpath.compare.chosen import chosen_metrics, has_ratio, why_no_pair
from slowpath.compare.comparable import Doubt, doubts
from slowpath.compare.facts import Difference, differences
from slowpath.compare.match import Matching, Pair, Unmatched, match
from slowpath.compare.read import Source, require_measured
from slowpath.compare.uncompared import Uncompared, coverage
from slowpath.core.cell_results import MetricEstimate
from slowpath.core.errors import UsageError
from slowpath.stats import multiplicity
from slowpath.stats.contrast import ContrastEstimate, unpaired
from slowpath.stats.verdict import judge

SCHEMA = 1
FEWEST_LAUNCHES = 3  # on each side: two values show their spread too badly to decide (docs/internals/statistics.md)
PHASES = ("first", "steady")


class Row(msgspec.Struct, frozen=True):
    """One metric and phase of one cell: B over A. Values in `unit`; ratio above 1: B is worse (takes longer)."""

    label: str
    experiment: str
    metric: str
    phase: str
    unit: str
    better: str
    a_cell: int
    b_cell: int
    matched_by: str  # key | label
    differs: list[Difference]
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
    """Which run a side is."""

    id: str
    path: str
    campaign: str
    started: str | None
    status: str


class Comparison(msgspec.Struct, frozen=True):
    """Everything that `slowpath compare` reports; its JSON is this, field by field."""

    schema: int
    kind: str
    a: RunNote
    b: RunNote
    interleaved: bool
    caution: str  # what a ratio between two runs contains besides
    minimum_effect: float
    metrics: list[str]  # as asked for; []: each cell's first one in seconds
    phases: list[str]
    differences: list[Difference]
    verdicts: dict[str, int]
    common_ratio: float | None  # median of all ratios: what everything became slower by; null with fewer than 5
    rows: list[Row]
    only_a: list[Unmatched]
    only_b: list[Unmatched]
    doubts: list[Doubt]  # what the runs do not share, so that a ratio holds more than the code
    uncompared: list[Uncompared]
    set_aside: int  # cells that neither run was asked to compare: skipped in both, or without the asked metrics
    notes: list[str]


@dataclass(frozen=True)
class _Compared:
    pair: Pair
    metric: str
    phase: str
    a: MetricEstimate
    b: MetricEstimate
    estimate: ContrastEstimate | str  # or why there is none

    @property
    def family(self) -> str:
        return f"{self.pair.b.experiment} {self.metric}"


def compare(
    a: Source,
    b: Source,
    minimum_effect: float,
    metrics: Collection[str] = (),
    phases: Sequence[str] = PHASES,
) -> Comparison:
    """B against A.

    Args:   minimum_effect: smallest relative difference that counts, 0 < x < 1.  metrics: names, or "all"; (): of each
            cell the first one in seconds that both runs have.  phases: of PHASES.
    Raises: UsageError: a and b are one run or copies of it, no cell is in both, or no cell has such a metric.
            RecordError: in one of them nothing was measured.
    """
    _check(a, b)
    require_measured(a)
    require_measured(b)
    matching = match(a.results, b.results)
    if not matching.pairs:
        raise UsageError(_nothing_shared(a, b, matching))
    found = [one for pair in matching.pairs for one in _pair(pair, minimum_effect, metrics, phases)]
    if not found and metrics:
        raise UsageError(_no_metric(matching.pairs, metrics, phases))
    compared = list({id(one.pair): one.pair for one in found}.values())
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
        doubts=doubts(a.results, b.results, compared, lacking.uncompared),
        uncompared=lacking.uncompared,
        set_aside=lacking.set_aside,
        notes=[*a.notes, *b.notes],
    )


def _check(a: Source, b: Source) -> None:
    same_folder = a.folder is not None and b.folder is not None and a.folder.resolve() == b.folder.resolve()
    if same_folder or a.path.resolve() == b.path.resolve():
        raise UsageError(f"{a.path} and {b.path} are the same run; name two runs")
    same_start = a.run.started is not None and (a.run.id, a.run.started) == (b.run.id, b.run.started)
    if same_start or (a.results.cells and a.results.cells == b.results.cells):
        raise UsageError(f"{b.path} is a copy of {a.path}: the same launches; name two runs")


def _pair(pair: Pair, minimum_effect: float, metrics: Collection[str], phases: Sequence[str]) -> Iterator[_Compared]:
    for metric in chosen_metrics((pair.a, pair.b), metrics):
        mine, yours = pair.a.metrics[metric], pair.b.metrics[metric]
        for phase in phases:
            if phase in mine.phases and phase in yours.phases and not why_no_pair(pair.a, pair.b, metric, phase):
                a, b = mine.phases[phase], yours.phases[phase]
                yield _Compared(pair, metric, phase, a, b, _estimate(a, b, mine.better == "higher", minimum_effect))


def _estimate(
    a: MetricEstimate, b: MetricEstimate, higher_is_better: bool, minimum_effect: float
) -> ContrastEstimate | str:
    values = (a.launch_values, b.launch_values)
    if not all(values):
        return "a side has no value of a launch"
    if not all(has_ratio(value) for side in values for value in side):
        return "a launch has a value that is zero, negative or not finite, so no ratio exists"
    one, other = ([1 / v for v in side] if higher_is_better else side for side in values)
    return unpaired(one, other, minimum_effect)


def _judged(found: Sequence[_Compared]) -> list[Row]:
    families: dict[str, list[_Compared]] = {}
    for one in found:
        if _p(one) is not None:
            families.setdefault(one.family, []).append(one)
    adjusted: dict[int, float] = {}
    for family in families.values():
        p_values = [p for p in map(_p, family) if p is not None]
        for one, value in zip(family, multiplicity.benjamini_hochberg(p_values), strict=True):
            adjusted[id(one)] = float(value)
    return [_row(one, adjusted.get(id(one)), len(families.get(one.family, ()))) for one in found]


def _p(one: _Compared) -> float | None:
    """None also where there are too few launches for any verdict: such a row is no member of its family."""
    few = min(len(one.a.launch_values), len(one.b.launch_values)) < FEWEST_LAUNCHES
    return None if few or isinstance(one.estimate, str) else one.estimate.p


def _row(one: _Compared, p_adjusted: float | None, family_size: int) -> Row:
    pair, found = one.pair, one.estimate
    verdict, reason, more = _verdict(one, p_adjusted)
    known = None if isinstance(found, str) else found
    inner = known.equivalence if known else None
    return Row(
        label=pair.b.label,
        experiment=pair.b.experiment,
        metric=one.metric,
        phase=one.phase,
        unit=pair.b.metrics[one.metric].unit,
        better=pair.b.metrics[one.metric].better,
        a_cell=pair.a.cell,
        b_cell=pair.b.cell,
        matched_by=pair.by,
        differs=pair.differs,
        a_value=one.a.value,
        b_value=one.b.value,
        a_launches=len(one.a.launch_values),
        b_launches=len(one.b.launch_values),
        ratio=known.ratio if known else None,
        interval=known.interval if known else None,
        interval_kind=found if isinstance(found, str) else found.kind,
        level=known.level if known else None,
        interval_90=(inner.low, inner.high) if inner else None,
        p=known.p if known else None,
        p_adjusted=p_adjusted,
        family=one.family,
        family_size=family_size,
        verdict=verdict,
        reason=reason,
        more_launches=more,
    )


def _verdict(one: _Compared, p_adjusted: float | None) -> tuple[str, str, int | None]:
    found = one.estimate
    if isinstance(found, str):
        return "undecided", found, None
    fewest = min(len(one.a.launch_values), len(one.b.launch_values))
    judged = judge(found, p_adjusted)
    if fewest < FEWEST_LAUNCHES:
        return "undecided", f"{fewest} launches on a side; at least {FEWEST_LAUNCHES} are needed", judged.more_pairs
    return judged.word, judged.reason, judged.more_pairs


def _common(rows: Sequence[Row]) -> float | None:
    ratios = [row.ratio for row in rows if row.ratio is not None]
    return statistics.median(ratios) if len(ratios) >= 5 else None


def _caution(a: Source, b: Source) -> str:
    when = f"A began {a.run.started or 'at an unknown time'}, B {b.run.started or 'at an unknown time'}"
    return (
        f"Not interleaved: {when}. Each ratio includes whatever else changed between the two runs, drift of the "
        "machine too; its interval does not."
    )


def _note(source: Source) -> RunNote:
    run = source.run
    return RunNote(run.id, str(source.path), run.campaign, run.started, run.status)


def _nothing_shared(a: Source, b: Source, matching: Matching) -> str:
    example = next((f" (for example '{one.label}': {one.reason})" for one in matching.only_b), "")
    return f"{a.path} and {b.path} have no cell in common{example}; compare runs of one campaign"


def _no_metric(pairs: Sequence[Pair], metrics: Collection[str], phases: Sequence[str]) -> str:
    known = sorted({name for pair in pairs for name in pair.a.metrics.keys() & pair.b.metrics.keys()})
    asked = " or ".join(metrics)
    return (
        f"no cell of both runs has {asked} in phase {' or '.join(phases)}; they have: {', '.join(known) or 'nothing'}"
    )
