# SPDX-License-Identifier: Apache-2.0
"""Whether a run may pass against its baseline: three answers, never a guess. Pure.

regression  slower by the rule of reports: interval above 1, ratio above 1 + minimum effect, adjusted p at most 0.05
pass        8 launches or more on both sides, and the one-sided 95 % bound of the ratio lies below 1 + minimum effect
undecided   everything else: a regression that could be there was not excluded

Before any row is judged, the two runs have to be comparable (compare.comparable): on unlike machines, under another
library, engine, placement or other settings no row is judged at all; with launches or cells that one side lacks, a
regression is one, and a pass is none. The user can accept each of these kinds by name.

A cell that was flagged and measured again is judged by the new launches alone: its old ones were chosen because they
were slow (docs/reference/compare.md).
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence

import msgspec

from slowpath.compare.comparable import Doubt
from slowpath.compare.comparison import Comparison, Row, compare
from slowpath.compare.match import Unmatched
from slowpath.compare.read import Source

SCHEMA = 2
MINIMUM_EFFECT = 0.05
LAUNCHES = 8
INCOMPLETE = "incomplete"
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
    doubts: list[Doubt]  # what makes the gate undecided before any row does, unless accepted
    wrong: list[Unmatched]  # cells of the run whose messages arrived with wrong bytes: each is a regression
    remeasured: str | None  # run folder of the fresh launches
    notes: list[str]


def gate(
    run: Source,
    baseline: Source,
    minimum_effect: float = MINIMUM_EFFECT,
    metrics: Collection[str] = (),
    phases: Sequence[str] = ("steady",),
    accept: Collection[str] = (),
) -> Gate:
    """The gate as the two runs stand. Arguments and errors: as `compare`; A is the baseline, B the run.

    Args: accept: kinds of doubts, of ACCEPTABLE, in spite of which to judge.
    """
    found = compare(baseline, run, minimum_effect, metrics, phases)
    doubts = [msgspec.structs.replace(one, accepted=one.kind in accept) for one in found.doubts]
    rows = [judge_row(row, minimum_effect) for row in found.rows]
    if unlike := list(dict.fromkeys(one.kind for one in doubts if not one.accepted and one.kind != INCOMPLETE)):
        rows = [Judged(row, "undecided", f"not judged: {', '.join(unlike)} differ") for row in found.rows]
    wrong = [
        Unmatched(cell.cell, cell.label, cell.status, f"{cell.wrong_bytes} bytes arrived wrong")
        for cell in run.results.cells
        if cell.wrong_bytes
    ]
    notes = _notes(found)
    return settle(Gate(SCHEMA, "gate", "undecided", EXIT_CODES["undecided"], found, rows, doubts, wrong, None, notes))


def judges(found: Gate) -> bool:
    """Whether rows were judged at all."""
    return all(one.accepted or one.kind == INCOMPLETE for one in found.doubts)


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
    elif "undecided" in outcomes or not found.rows or any(not one.accepted for one in found.doubts):
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
        return [*found.notes, "nothing was compared"]
    common, notes = found.common_ratio, list(found.notes)
    if common is not None and common < 1.0 - found.minimum_effect:
        notes.append(f"the median of all ratios is {common:.3g}: what became slower against the others may still pass")
    if found.set_aside:
        notes.append(f"{found.set_aside} cells set aside: skipped by both runs, or without a value of what is compared")
    return notes
