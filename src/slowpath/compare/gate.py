# SPDX-License-Identifier: Apache-2.0
"""Whether a run may pass against its baseline: three answers, never a guess. Pure.

regression  slower by the rule of reports: interval above 1, ratio above 1 + minimum effect, adjusted p at most 0.05
pass        8 launches or more on both sides, and the one-sided 95 % bound of the ratio lies below 1 + minimum effect
undecided   everything else: a regression that could be there was not excluded

A cell that was flagged and measured again is judged by the new launches alone: its old ones were chosen because they
were slow (docs/reference/compare.md).
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence

import msgspec

from slowpath.compare.comparison import SCHEMA, Comparison, Row, chosen_metrics, compare
from slowpath.compare.match import Unmatched
from slowpath.compare.read import Source
from slowpath.core.cell_results import CellResult

MINIMUM_EFFECT = 0.05
LAUNCHES = 8
EXIT_CODES = {"pass": 0, "regression": 1, "undecided": 3}
Outcome = str  # a key of EXIT_CODES


class Again(msgspec.Struct, frozen=True):
    """What fresh launches show of a flagged row. p_holm: corrected over all flagged rows."""

    interleaved: bool  # with fresh launches of the baseline's MPI and engine; false: against its old values
    ratio: float
    interval: tuple[float, float] | None
    interval_kind: str
    a_value: float
    b_value: float
    launches: int
    p_holm: float | None
    verdict: str
    outcome: Outcome
    reason: str


class Judged(msgspec.Struct, frozen=True):
    """One row of the comparison and what the gate makes of it."""

    row: Row
    outcome: Outcome
    reason: str
    again: Again | None = None


class Gate(msgspec.Struct, frozen=True):
    """Everything that `slowpath gate` reports; its JSON is this, field by field."""

    schema: int
    kind: str
    outcome: Outcome
    exit_code: int
    comparison: Comparison
    rows: list[Judged]
    missing: list[Unmatched]  # measured in the baseline, not in the run: each makes the gate undecided
    wrong: list[Unmatched]  # cells of the run whose messages arrived with wrong bytes: each is a regression
    remeasured: str | None  # run folder of the fresh launches
    notes: list[str]


def gate(
    run: Source,
    baseline: Source,
    minimum_effect: float = MINIMUM_EFFECT,
    metrics: Collection[str] = (),
    phases: Sequence[str] = ("steady",),
) -> Gate:
    """The gate as the two runs stand. Arguments and errors: as `compare`; A is the baseline, B the run."""
    found = compare(baseline, run, minimum_effect, metrics, phases)
    rows = [judge_row(row, minimum_effect) for row in found.rows]
    missing = [one for one in found.only_a if one.status in ("ok", "partial")]
    missing += _unmeasured(baseline, found)
    wrong = [
        Unmatched(cell.cell, cell.label, cell.status, f"{cell.wrong_bytes} bytes arrived wrong")
        for cell in run.results.cells
        if cell.wrong_bytes
    ]
    notes = _notes(found)
    return settle(Gate(SCHEMA, "gate", "undecided", EXIT_CODES["undecided"], found, rows, missing, wrong, None, notes))


def judge_row(row: Row, minimum_effect: float) -> Judged:
    """The row by its own launches alone."""
    if row.verdict == "slower":
        return Judged(row, "regression", row.reason)
    outcome, reason = excluded(row.interval_90, min(row.a_launches, row.b_launches), minimum_effect)
    return Judged(row, outcome, reason if row.ratio is not None else row.reason)


def excluded(interval_90: tuple[float, float] | None, launches: int, minimum_effect: float) -> tuple[Outcome, str]:
    """Whether a regression of the minimum effect is excluded, by how many launches a side have."""
    if launches < LAUNCHES:
        return "undecided", f"{launches} launches on a side, a pass needs {LAUNCHES}; measure with --rounds {LAUNCHES}"
    if interval_90 is None:
        return "undecided", "no interval"
    if interval_90[1] < 1.0 + minimum_effect:
        return "pass", f"95 % sure that it is at most {100 * (interval_90[1] - 1):+.1f} %"
    return "undecided", f"it may be slower by up to {100 * (interval_90[1] - 1):.1f} %"


def settle(found: Gate) -> Gate:
    """The gate with its outcome, from its rows."""
    outcomes = {one.outcome for one in found.rows}
    if found.wrong or "regression" in outcomes:
        outcome = "regression"
    elif found.missing or "undecided" in outcomes or not found.rows:
        outcome = "undecided"
    else:
        outcome = "pass"
    return msgspec.structs.replace(found, outcome=outcome, exit_code=EXIT_CODES[outcome])


def flagged(found: Gate) -> list[Row]:
    """Rows to measure again before the gate fails."""
    return [one.row for one in found.rows if one.outcome == "regression"]


def with_again(found: Gate, again: Mapping[int, Again], folder: str, notes: Sequence[str]) -> Gate:
    """The gate after flagged rows were measured again. again: position in `flagged` -> what fresh launches show.

    A flagged row that fresh launches have nothing on stays what it was.
    """
    positions = itertools.count()
    rows = []
    for one in found.rows:
        fresh = again.get(next(positions)) if one.outcome == "regression" else None
        changed = {"outcome": fresh.outcome, "reason": fresh.reason, "again": fresh} if fresh else {}
        rows.append(msgspec.structs.replace(one, **changed))
    return settle(msgspec.structs.replace(found, rows=rows, remeasured=folder, notes=[*found.notes, *notes]))


def not_again(found: Gate, why: str) -> Gate:
    """The gate where flagged rows were to be measured again, and can't be: they are undecided."""
    rows = [
        msgspec.structs.replace(one, outcome="undecided", reason=why) if one.outcome == "regression" else one
        for one in found.rows
    ]
    return settle(msgspec.structs.replace(found, rows=rows, notes=[*found.notes, why]))


def _notes(found: Comparison) -> list[str]:
    if not found.rows:
        return ["nothing was compared"]
    common = found.common_ratio
    if common is not None and common < 1.0 - found.minimum_effect:
        return [f"the median of all ratios is {common:.3g}: what became slower against the others may still pass"]
    return []


def _unmeasured(baseline: Source, found: Comparison) -> list[Unmatched]:
    """Cells that are in both runs, were measured in the baseline, and have no value to compare in the run."""
    known = {one.cell for one in found.only_a} | {row.a_cell for row in found.rows}
    return [
        Unmatched(cell.cell, cell.label, cell.status, "the run has no value of it; see its report")
        for cell in baseline.results.cells
        if cell.cell not in known and _has_asked(cell, found)
    ]


def _has_asked(cell: CellResult, found: Comparison) -> bool:
    names = chosen_metrics([cell], found.metrics)
    return any(phase in cell.metrics[name].phases for name in names for phase in found.phases)
