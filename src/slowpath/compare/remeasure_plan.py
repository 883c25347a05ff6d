# SPDX-License-Identifier: Apache-2.0
"""The plan that measures flagged cells again, and what its launches show. Pure.

Where the baseline's MPI or engine is another one than the run's and still there, both are launched anew in interleaved
pairs: that takes all drift between the two dates away. Else there is nothing to put into the other half of a pair, and
fresh launches of the run's side stand against the baseline's old values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowpath.compare.comparison import Row
from slowpath.compare.gate import LAUNCHES, Again, excluded
from slowpath.compare.read import environment_of, placement_of
from slowpath.core.cell_results import CellResult
from slowpath.core.plan import PLAN_SCHEMA, Cell, Contrast, Environment, Placement, Plan, PlannedMpi, Side
from slowpath.core.results import PlacementResult, Results
from slowpath.stats import multiplicity
from slowpath.stats.contrast import ContrastEstimate, paired, unpaired
from slowpath.stats.estimate import estimate_over_launches
from slowpath.stats.verdict import judge

BASELINE, NOW = "baseline", "now"


def mpi_name(side: str, mpi: str | None) -> str:
    """What the plan calls the MPI of a side."""
    return f"{side} {mpi}" if mpi else side


def remeasure_plan(
    rows: Sequence[Row],
    run: Results,
    baseline: Results | None,
    identities: Mapping[str, str],
    ranks: int,
    seed: int,
    minimum_effect: float,
) -> Plan:
    """Flagged cells alone, in LAUNCHES rounds; the launches are left to `run.prepare.prepare_plan`.

    Args: rows: flagged, A the baseline.  baseline: None when its side can't be measured anew.
          identities: `mpi_name` -> identity of each MPI.
    """
    cells: list[Cell] = []
    numbers: dict[tuple[str, int], int] = {}
    for side, results, wanted in _sides(rows, run, baseline):
        for cell in results.cells:
            if cell.cell in wanted:
                numbers[side, cell.cell] = len(cells)
                cells.append(_cell(len(cells), side, cell))
    environments = [e for side, results, wanted in _sides(rows, run, baseline) for e in _set(side, results, wanted)]
    contrasts = [_contrast(i, row, numbers) for i, row in enumerate(rows)] if baseline else []
    return Plan(
        schema=PLAN_SCHEMA,
        campaign="gate",
        title="Flagged cells, measured again",
        ranks=ranks,
        rounds=LAUNCHES,
        seed=seed,
        minimum_effect=minimum_effect,
        environments=environments,
        placements=_placements(rows, run, baseline),
        cells=cells,
        contrasts=contrasts,
        launches=[],
        mpis=[PlannedMpi(name, identity) for name, identity in identities.items()],
    )


def _sides(rows: Sequence[Row], run: Results, baseline: Results | None) -> list[tuple[str, Results, set[int]]]:
    sides = [(NOW, run, {row.b_cell for row in rows})]
    return sides + ([(BASELINE, baseline, {row.a_cell for row in rows})] if baseline else [])


def _cell(number: int, side: str, cell: CellResult) -> Cell:
    return Cell(
        cell=number,
        key=cell.key,
        group=cell.group,
        label=f"{side}, {cell.label}",
        experiment=cell.experiment,
        parameters=dict(cell.parameters),
        environment=cell.environment,
        placement=cell.placement,
        copy=cell.copy,
        mpi=mpi_name(side, cell.mpi),
    )


def _set(side: str, results: Results, wanted: set[int]) -> list[Environment]:
    """The environments of the wanted cells, each under the side's own name of its MPI."""
    found: dict[tuple[str, str], Environment] = {}
    for cell in results.cells:
        if cell.cell in wanted:
            under, given = mpi_name(side, cell.mpi), environment_of(results.run, cell)
            variables, unset = (dict(given.variables), list(given.unset)) if given else ({}, [])
            found[cell.environment, under] = Environment(cell.environment, variables, mpi=under, unset=unset)
    return list(found.values())


def _placements(rows: Sequence[Row], run: Results, baseline: Results | None) -> list[Placement]:
    found: dict[str, Placement] = {}
    for _, results, wanted in _sides(rows, run, baseline):
        for cell in results.cells:
            given = placement_of(results.run, cell)
            if cell.cell in wanted and cell.placement not in found:
                found[cell.placement] = _placement(cell.placement, given)
    return list(found.values())


def _placement(name: str, given: PlacementResult | None) -> Placement:
    """As it was asked for; what an older run does not state has its default."""
    if given is None:
        return Placement(name)
    return Placement(
        name,
        given.bind or "core",
        given.spread,
        given.nodes,
        given.ranks_per_node,
        given.hosts or [],
        ranks=given.ranks,
    )


def _contrast(i: int, row: Row, numbers: Mapping[tuple[str, int], int]) -> Contrast:
    a = Side(numbers[BASELINE, row.a_cell], row.phase, BASELINE)
    b = Side(numbers[NOW, row.b_cell], row.phase, NOW)
    return Contrast(f"flagged-{i}", "flagged", "Is it slower than in the baseline?", "mpi", row.metric, a, b)


def confirm(
    rows: Sequence[Row], fresh: Mapping[int, tuple[Sequence[float], Sequence[float]]], interleaved: bool, least: float
) -> dict[int, Again]:
    """What fresh launches show, corrected by Holm over all flagged rows.

    Args: fresh: position in rows -> (launch values of the baseline, of the run), pairs when interleaved.
          least: minimum effect.
    """
    found = {i: (paired if interleaved else unpaired)(a, b, least) for i, (a, b) in fresh.items()}
    p_values = {i: one.p for i, one in found.items() if one.p is not None}
    p_holm: dict[int, float] = {}
    if p_values:
        p_holm = dict(zip(p_values, map(float, multiplicity.holm(list(p_values.values()))), strict=True))
    return {i: _again(rows[i], one, fresh[i], p_holm.get(i), interleaved) for i, one in found.items()}


def _again(
    row: Row,
    found: ContrastEstimate,
    values: tuple[Sequence[float], Sequence[float]],
    p_holm: float | None,
    interleaved: bool,
) -> Again:
    judged = judge(found, p_holm)
    inner = (found.equivalence.low, found.equivalence.high) if found.equivalence else None
    outcome, reason = (
        ("regression", judged.reason) if judged.word == "slower" else excluded(inner, found.n, found.minimum_effect)
    )
    return Again(
        interleaved=interleaved,
        ratio=found.ratio,
        interval=found.interval,
        interval_kind=found.kind,
        a_value=estimate_over_launches(values[0]).value,
        b_value=estimate_over_launches(values[1]).value,
        launches=found.n,
        p_holm=p_holm,
        verdict=judged.word,
        outcome=outcome,
        reason=f"measured again: {reason}",
    )
