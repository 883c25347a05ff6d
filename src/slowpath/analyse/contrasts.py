# SPDX-License-Identifier: Apache-2.0
"""Contrasts and pairs of nodes in results.json. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

import msgspec
from msgspec.structs import replace

from slowpath.core.plan import Cell, Contrast, Environment, Placement, Plan, Side
from slowpath.core.results import (
    ContrastResult,
    ContrastSide,
    FailedNode,
    Line,
    NodePair,
    NodePairs,
    Reproduce,
    SkippedRow,
)
from slowpath.core.units import format_ratio, format_time
from slowpath.experiments.measured import Reduced
from slowpath.experiments.registry import not_comparable
from slowpath.findings.conclude import Offer
from slowpath.findings.slow_path import for_programs
from slowpath.slowpaths.registry import remedy_text
from slowpath.stats.contrast import ContrastEstimate, benjamini_hochberg, judge, paired, within_launch
from slowpath.stats.estimate import estimate_over_launches

# A pair is one round: the launch of a and the launch of b in the same randomised block, or the same launch where a and
# b differ in something that the engine changes inside a process.

_UNCHANGED = {"pages": "default", "way": "library"}  # what users have who change nothing

# (cell, metric, phase) -> round -> (launch number, what it measured)
Measured = Mapping[tuple[int, str, str], Mapping[int, tuple[int, Reduced]]]


@dataclass(frozen=True)
class _Paired:
    plan: Contrast
    family: str
    estimate: ContrastEstimate
    a_s: float
    b_s: float
    pairs: tuple[tuple[float, float], ...]
    same_launch: bool


def _compare(
    contrast: Contrast,
    cells: Mapping[int, Cell],
    measured: Measured,
    family: str,
    minimum_effect: float,
    interleaved: bool,
) -> _Paired | str:
    """The comparison, or why there is none.

    One launch says nothing about the spread between launches, so a run of one round decides nothing. A log is
    all that there will ever be: there the samples themselves are compared, and the interval's kind says so.
    """
    why = not_comparable(cells[contrast.a.cell].experiment, contrast.metric, contrast.axis)
    if why is not None:
        return why
    a = measured.get((contrast.a.cell, contrast.metric, contrast.a.phase), {})
    b = measured.get((contrast.b.cell, contrast.metric, contrast.b.phase), {})
    rounds = sorted(a.keys() & b.keys())
    if not rounds:
        empty = [side for side, values in ((contrast.a, a), (contrast.b, b)) if not values]
        return _why_empty(empty, cells) if empty else "never measured in one round"
    first, other = [a[r][1] for r in rounds], [b[r][1] for r in rounds]
    if len(rounds) == 1 and not interleaved:
        noise_ratio = max(first[0].repeats_ratio, other[0].repeats_ratio)
        estimate = within_launch(first[0].kept_s, other[0].kept_s, minimum_effect, noise_ratio=noise_ratio)
    else:
        estimate = paired([x.centre_s for x in first], [x.centre_s for x in other], minimum_effect)
    return _Paired(
        contrast,
        family,
        estimate,
        estimate_over_launches([x.centre_s for x in first]).value,
        estimate_over_launches([x.centre_s for x in other]).value,
        tuple((x.centre_s, y.centre_s) for x, y in zip(first, other, strict=True)),
        all(a[r][0] == b[r][0] for r in rounds),
    )


def _why_empty(sides: Sequence[Side], cells: Mapping[int, Cell]) -> str:
    reasons = list(dict.fromkeys(cells[side.cell].skip or "no samples" for side in sides))
    names = " and ".join(dict.fromkeys(f"'{side.value}'" for side in sides))
    return f"{names} not measured: {'; '.join(reasons)}"


def build_contrasts(
    plan: Plan,
    measured: Measured,
    interleaved: bool,
    suspects: Mapping[int, Sequence[str]],
    commands: Mapping[int, str | None],
) -> list[ContrastResult]:
    """Every contrast of the plan, judged within its family (experiment x metric) by Benjamini-Hochberg. Contrasts
    between MPIs are families of their own: a second MPI changes nothing of what is concluded about the first.

    Args: interleaved: the launches stand in randomised blocks, as this program orders them.
          suspects: cell -> what is doubtful about its values; shown next to each contrast that uses it.
          commands: cell -> the command line that measures it again.
    """
    cells = {cell.cell: cell for cell in plan.cells}
    named = [f"{cells[c.a.cell].experiment} {c.metric}{' between MPIs' * (c.axis == 'mpi')}" for c in plan.contrasts]
    results = [
        _compare(c, cells, measured, family, plan.minimum_effect, interleaved)
        for c, family in zip(plan.contrasts, named, strict=True)
    ]
    families: dict[str, list[_Paired]] = {}
    for result in results:
        if isinstance(result, _Paired) and result.estimate.p is not None:
            families.setdefault(result.family, []).append(result)
    adjusted: dict[str, float] = {}
    for family in families.values():
        p_values = [c.estimate.p for c in family if c.estimate.p is not None]
        for compared, p in zip(family, benjamini_hochberg(p_values), strict=True):
            adjusted[compared.plan.id] = float(p)
    sizes = {name: len(members) for name, members in families.items()}
    return [
        _entry(plan, cells, contrast, result, adjusted.get(contrast.id), sizes, interleaved, suspects, commands)
        for contrast, result in zip(plan.contrasts, results, strict=True)
    ]


def _entry(
    plan: Plan,
    cells: Mapping[int, Cell],
    contrast: Contrast,
    result: _Paired | str,
    p_adjusted: float | None,
    family_sizes: Mapping[str, int],
    interleaved: bool,
    suspects: Mapping[int, Sequence[str]],
    commands: Mapping[int, str | None],
) -> ContrastResult:
    doubts = dict.fromkeys(text for side in (contrast.a, contrast.b) for text in suspects.get(side.cell, ()))
    unmeasured = ContrastResult(
        id=contrast.id,
        group=contrast.group,
        question=contrast.question,
        axis=contrast.axis,
        a=_side(contrast.a, cells),
        b=_side(contrast.b, cells),
        where=_where(contrast, cells),
        default_side=_default_side(plan, cells, contrast),
        metric=contrast.metric,
        control=contrast.control,
        explains=contrast.explains,
        minimum_effect=plan.minimum_effect,
        suspect=list(doubts),
        interleaved=interleaved,
        reproduce=Reproduce(a=commands[contrast.a.cell], b=commands[contrast.b.cell]),
    )
    if isinstance(result, str):
        return msgspec.structs.replace(unmeasured, reason=result)
    measured = msgspec.structs.replace(
        unmeasured,
        a_value_s=result.a_s,
        b_value_s=result.b_s,
        family=result.family,
        family_size=family_sizes.get(result.family),
        launches=len(result.pairs),
        pairs=result.pairs,
        within_launch=result.same_launch,
    )
    return with_estimate(measured, result.estimate, p_adjusted)


def with_estimate(contrast: ContrastResult, estimate: ContrastEstimate, p_adjusted: float | None) -> ContrastResult:
    """The contrast, judged."""
    verdict = judge(estimate, p_adjusted)
    return msgspec.structs.replace(
        contrast,
        ratio=estimate.ratio,
        interval=estimate.interval,
        interval_kind=estimate.kind,
        level=estimate.level,
        verdict=verdict.word,
        reason=verdict.reason,
        p=estimate.p,
        p_adjusted=p_adjusted,
        more_pairs=verdict.more_pairs,
    )


def _side(side: Side, cells: Mapping[int, Cell]) -> ContrastSide:
    return ContrastSide(cell=side.cell, phase=side.phase, label=cells[side.cell].label, value=side.value)


def _where(contrast: Contrast, cells: Mapping[int, Cell]) -> str:
    a, b = (cells[side.cell].label.split(", ") for side in (contrast.a, contrast.b))
    return ", ".join(part for part in a if part in b)


def _default_side(plan: Plan, cells: Mapping[int, Cell], contrast: Contrast) -> Literal["a", "b"] | None:
    """The side ("a", "b") on which users are who change nothing; None when no side is theirs more than the other."""
    sides: dict[Literal["a", "b"], Side] = {"a": contrast.a, "b": contrast.b}
    if contrast.axis == "phase":
        chosen = [name for name, side in sides.items() if side.phase == "first"]
    elif contrast.axis == "environment":
        used = [(name, _environment(plan, cells, side)) for name, side in sides.items()]
        chosen = [name for name, environment in used if not environment.variables and not environment.unset]
    else:
        chosen = [name for name, side in sides.items() if _UNCHANGED.get(contrast.axis) == side.value]
    return chosen[0] if len(chosen) == 1 else None


def offers(plan: Plan) -> dict[str, Offer]:
    """Id of each contrast -> what moves the user: the campaign's remedy to side a, an environment's variables to b."""
    cells = {cell.cell: cell for cell in plan.cells}
    return {contrast.id: _offer(plan, cells, contrast) for contrast in plan.contrasts}


def _offer(plan: Plan, cells: Mapping[int, Cell], contrast: Contrast) -> Offer:
    if contrast.axis == "environment":
        return Offer(b=_exports(_environment(plan, cells, contrast.b)))
    return Offer(a=remedy_text(contrast.remedy) if contrast.remedy else None)


def _environment(plan: Plan, cells: Mapping[int, Cell], side: Side) -> Environment:
    """What the side's environment means under the side's MPI."""
    cell = cells[side.cell]
    return plan.environment(cell.environment, cell.mpi)


def _exports(environment: Environment) -> str | None:
    lines = [f"unset {name}" for name in environment.unset]
    lines += [f"export {name}={value}" for name, value in for_programs(environment.variables).items()]
    return "; ".join(lines) or None


# A pair is compared with the median of all other pairs of the same round, so that what holds for the whole network is
# in both and a bad link is not part of its own measure.

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
    failed = []
    for node in matrix.nodes:
        own = [pair for pair in matrix.pairs if node in (pair.a, pair.b)]
        if node not in seen and len(own) >= FEWEST_OTHERS:
            why = next((reasons[pair.cell] for pair in own if pair.cell in reasons), "not tried")
            failed.append(FailedNode(node=node, pairs=len(own), reason=why))
    return failed


def _matrix(
    plan: Plan,
    cells: Sequence[Cell],
    placements: Mapping[str, Placement],
    measured: Measured,
    labels: Mapping[int, str],
) -> NodePairs:
    metric = next((m for cell in cells for c, m, phase in measured if c == cell.cell and phase == PHASE), None)
    by_round = {cell.cell: _rounds(measured, cell.cell, metric) for cell in cells}
    estimates = {cell.cell: _against_others(cell.cell, by_round, plan.minimum_effect) for cell in cells}
    judged = [cell for cell, estimate in estimates.items() if estimate is not None and estimate.p is not None]
    p_values = [estimate.p for cell in judged if (estimate := estimates[cell]) is not None and estimate.p is not None]
    adjusted = dict(zip(judged, map(float, benjamini_hochberg(p_values)) if judged else (), strict=True))
    rows = [
        _row(cell, placements[cell.placement].hosts, by_round[cell.cell], estimates[cell.cell], adjusted.get(cell.cell))
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
    cell: Cell, hosts: Sequence[str], rounds: Mapping[int, float], estimate: ContrastEstimate | None, p: float | None
) -> NodePair:
    value = estimate_over_launches([rounds[n] for n in sorted(rounds)]) if rounds else None
    fewer = f"fewer than {FEWEST_OTHERS} other pairs"
    verdict = judge(estimate, p) if estimate is not None else None
    return NodePair(
        a=hosts[0],
        b=hosts[1],
        cell=cell.cell,
        launches=len(rounds),
        value_s=value.value if value else None,
        interval=value.interval if value else None,
        ratio=estimate.ratio if estimate else None,
        ratio_interval=estimate.interval if estimate else None,
        interval_kind=estimate.kind if estimate else None,
        verdict=verdict.word if verdict else None,
        reason=verdict.reason if verdict else (fewer if rounds else "not measured"),
    )


def _lines(matrix: NodePairs) -> list[Line]:
    slow = [pair for pair in matrix.pairs if pair.verdict == "slower"]
    judged = [pair for pair in matrix.pairs if pair.verdict is not None]
    if not slow:
        if not judged:
            return []
        text = f"{matrix.label}: none of {len(judged)} pairs of nodes is slower than the others."
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
        f"{matrix.label}: {where} is {most}{format_ratio(top.ratio or math.nan, half)}x {span} slower than the median "
        f"of the other pairs ({format_time(top.value_s or math.nan)}); {len(slow)} of {len(judged)} pairs are slower."
    )
    return [Line(level="slow", text=text, contrast=None)]


def _common_node(slow: Sequence[NodePair], nodes: Sequence[str]) -> str | None:
    """The node all of whose links are slow, if it alone explains them; with three nodes or fewer none can."""
    if len(slow) < len(nodes) - 1 or len(nodes) < 4:
        return None
    return next((node for node in nodes if all(node in (pair.a, pair.b) for pair in slow)), None)
