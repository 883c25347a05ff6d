# SPDX-License-Identifier: Apache-2.0
"""The gate: whether a run passes against its baseline, in three answers. Pure.

regression  slower as in reports: interval above 1, ratio above 1 + minimum effect, adjusted p at most 0.05
pass        8 launches or more on both sides, and the one-sided 95 % bound of the ratio lies below 1 + minimum effect
undecided   everything else: a regression is not excluded

The two runs must be comparable first (compare.comparable). No row is judged if machine, library, engine, placement or
settings differ. If one side lacks launches or cells, a regression still counts, but a pass does not. The user can
accept each of these kinds by name.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

import msgspec

from slowpath.compare.comparison import Comparison, ComparisonRow, Doubt, Unmatched, compare
from slowpath.compare.read import RunSource

SCHEMA = 3
MINIMUM_EFFECT = 0.05
LAUNCHES = 8
INCOMPLETE = "incomplete"
Undecided = Literal["undecided", "pass", "fail"]  # what the user takes an undecided gate for: --undecided
EXIT_CODES = {"pass": 0, "regression": 1, "undecided": 3}
Outcome = str  # a key of EXIT_CODES


class JudgedRow(msgspec.Struct, frozen=True):
    """A row of the comparison with the gate's outcome."""

    row: ComparisonRow
    outcome: Outcome
    reason: str


class Gate(msgspec.Struct, frozen=True):
    """The result of `slowpath gate`, and the format of its JSON."""

    schema: int
    kind: str
    outcome: Outcome
    exit_code: int
    comparison: Comparison
    rows: list[JudgedRow]
    doubts: list[Doubt]  # reasons that make the gate undecided unless they are accepted
    wrong: list[Unmatched]  # cells of the run whose messages arrived with wrong bytes: each is a regression
    notes: list[str]


def gate(
    run: RunSource,
    baseline: RunSource,
    minimum_effect: float = MINIMUM_EFFECT,
    metrics: Collection[str] = (),
    phases: Sequence[str] = ("steady",),
    accept: Collection[str] = (),
) -> Gate:
    """Judge a run against a baseline. Other arguments and errors are those of `compare`, with the baseline as A.

    Args: accept: kinds of doubts, of ACCEPTABLE, that don't prevent a judgement.
    """
    found = compare(baseline, run, minimum_effect, metrics, phases)
    doubts = [msgspec.structs.replace(doubt, accepted=doubt.kind in accept) for doubt in found.doubts]
    rows = [judge_row(row, minimum_effect) for row in found.rows]
    if unlike := list(dict.fromkeys(doubt.kind for doubt in doubts if not doubt.accepted and doubt.kind != INCOMPLETE)):
        rows = [JudgedRow(row, "undecided", f"not judged: {', '.join(unlike)} differ") for row in found.rows]
    wrong = [
        Unmatched(cell.cell, cell.label, cell.status, f"{cell.wrong_bytes} bytes arrived wrong")
        for cell in run.results.cells
        if cell.wrong_bytes
    ]
    notes = _notes(found)
    return settle(Gate(SCHEMA, "gate", "undecided", EXIT_CODES["undecided"], found, rows, doubts, wrong, notes))


def final_exit_code(outcome: Outcome, undecided: Undecided) -> int:
    """Return the exit code of a gate, where the user says what an undecided one counts as."""
    taken: dict[Undecided, Outcome] = {"undecided": "undecided", "pass": "pass", "fail": "regression"}
    return EXIT_CODES[taken[undecided] if outcome == "undecided" else outcome]


def judges(found: Gate) -> bool:
    """Return whether rows were judged at all."""
    return all(doubt.accepted or doubt.kind == INCOMPLETE for doubt in found.doubts)


def judge_row(row: ComparisonRow, minimum_effect: float) -> JudgedRow:
    """Judge a row by its own launches."""
    if row.verdict == "slower":
        return JudgedRow(row, "regression", row.reason)
    outcome, reason = excluded(row.interval_90, min(row.a_launches, row.b_launches), minimum_effect)
    return JudgedRow(row, outcome, reason if row.ratio is not None else row.reason)


def excluded(interval_90: tuple[float, float] | None, launches: int, minimum_effect: float) -> tuple[Outcome, str]:
    """Return whether a regression of the minimum effect is excluded, and the reason.

    Args: interval_90: two-sided 90 % interval of the ratio.  launches: fewest launches on a side.
    """
    if launches < LAUNCHES:
        return (
            "undecided",
            f"{launches} launches on a side, but a pass needs {LAUNCHES}; measure with --rounds {LAUNCHES}",
        )
    if interval_90 is None:
        return "undecided", "no interval"
    if interval_90[1] < 1.0 + minimum_effect:
        return "pass", f"slower by at most {100 * (interval_90[1] - 1):+.1f} % with 95 % confidence"
    return "undecided", f"it may be slower by up to {100 * (interval_90[1] - 1):.1f} %"


def settle(found: Gate) -> Gate:
    """Return the gate with the outcome that follows from its rows."""
    outcomes = {judged.outcome for judged in found.rows}
    if found.wrong or "regression" in outcomes:
        outcome = "regression"
    elif "undecided" in outcomes or not found.rows or any(not doubt.accepted for doubt in found.doubts):
        outcome = "undecided"
    else:
        outcome = "pass"
    return msgspec.structs.replace(found, outcome=outcome, exit_code=EXIT_CODES[outcome])


def _notes(found: Comparison) -> list[str]:
    if not found.rows:
        return [*found.notes, "nothing was compared"]
    common, notes = found.common_ratio, list(found.notes)
    if common is not None and common < 1.0 - found.minimum_effect:
        notes.append(f"the median of all ratios is {common:.3g}: cells slower than the others may still pass")
    if found.set_aside:
        notes.append(f"{found.set_aside} cells ignored: skipped in both runs, or without a value to compare")
    return notes
