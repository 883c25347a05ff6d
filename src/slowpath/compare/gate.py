# SPDX-License-Identifier: Apache-2.0
"""The gate: whether a run passes against its baseline: pass, regression or undecided. Pure.

What each means, and in what two runs must agree: docs/how-to/gate-in-ci.md.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Literal

import msgspec

from slowpath.compare.comparison import INCOMPLETE, SHARED, Comparison, ComparisonRow, Doubt, Uncompared, compare, merge
from slowpath.compare.read import RunSource

SCHEMA = 6
MINIMUM_EFFECT = 0.1
EXCLUDED = 0.5  # slowdown that a pass excludes in each cell
LAUNCHES = 8
# By which all cells of equal runs may differ. Beyond, the machine is in another state, which slows down cells by unlike
# factors: of 43 pairs of equal runs 34 lay within 1.05 and 9 beyond 1.13, with single cells between 1.0 and 3.3.
MOST_SHARED = 0.1
# Of the cells, too noisy to exclude a slowdown; a pass names them. With more, other work slowed down single cells, too.
MOST_NOISY = 0.05
Undecided = Literal["undecided", "pass", "fail"]  # what the user takes an undecided gate for: --undecided
EXIT_CODES = {"pass": 0, "regression": 1, "undecided": 3}
Outcome = str  # a key of EXIT_CODES
NOISY = "noisy"


class JudgedRow(msgspec.Struct, frozen=True):
    """A row of the comparison with the gate's outcome, or `noisy`."""

    row: ComparisonRow
    outcome: Outcome
    reason: str

    @property
    def launches(self) -> int:
        """Return the launches of the side that has fewer."""
        return min(self.row.a_launches, self.row.b_launches)


class Gate(msgspec.Struct, frozen=True):
    """The result of `slowpath gate`, and the format of its JSON."""

    schema: int
    kind: str
    outcome: Outcome
    exit_code: int
    comparison: Comparison
    rows: list[JudgedRow]
    doubts: list[Doubt]  # reasons that make the gate undecided unless they are accepted
    wrong: list[Uncompared]  # cells whose messages arrived with wrong bytes: each is a regression
    notes: list[str]

    @property
    def open_kinds(self) -> list[str]:
        """Return the kinds of doubts that the user did not accept, each once."""
        return list(dict.fromkeys(doubt.kind for doubt in self.doubts if not doubt.accepted))

    @property
    def judges(self) -> bool:
        """Return whether rows were judged at all."""
        return set(self.open_kinds) <= {INCOMPLETE}

    @property
    def why_not_again(self) -> str | None:
        """Return why to measure the run again would decide nothing; None: it may."""
        fewest = min((judged.launches for judged in self.rows), default=0)
        unlike = ["what was measured" if kind == INCOMPLETE else kind for kind in self.open_kinds if kind != SHARED]
        few = f"a cell has {fewest} of {LAUNCHES} launches" if fewest < LAUNCHES else None
        apart = f"the runs differ in {', '.join(unlike)}" if unlike else few
        return "messages arrived with wrong bytes" if self.wrong else apart


def gate(
    run: RunSource,
    baseline: RunSource,
    minimum_effect: float = MINIMUM_EFFECT,
    metrics: Collection[str] = (),
    phases: Sequence[str] = ("steady",),
    accept: Collection[str] = (),
    excluded: float = EXCLUDED,
    again: RunSource | None = None,
) -> Gate:
    """Judge a run against a baseline. Other arguments and errors are those of `compare`, with the baseline as A.

    Args: accept: kinds of doubts, of ACCEPTABLE, that don't prevent a judgement.  excluded: slowdown that a pass
          excludes in each cell.  again: later launches, which alone judge suspects: not the chance that chose them.
    """
    excluded = max(excluded, minimum_effect)
    comparison = compare(baseline, run, minimum_effect, metrics, phases, expects_equal=True)
    notes = list[str]()
    if again is not None:
        suspects = suspects_of(comparison, excluded)
        repeated = compare(baseline, again, minimum_effect, metrics, phases, expects_equal=True)
        changed = _moved(repeated)
        comparison = comparison if changed else merge(comparison, repeated, suspects)
        used = f"is not used: {changed[0].reason}" if changed else f"judges {len(suspects)} of {len(comparison.rows)}"
        notes.append(f"What was measured again ({again.path}) {used}.")
    doubts = [*comparison.doubts, *_moved(comparison)]
    doubts = [msgspec.structs.replace(each, accepted=each.kind in accept) for each in doubts]
    rows = [judge_row(row, excluded) for row in comparison.rows]
    slower = [each for each in rows if each.outcome == "regression"]
    may_be_chance = MOST_NOISY * len(rows) > 1 and (again is None or changed)  # as in 2 of 20 pairs of equal runs
    if may_be_chance and len(slower) == 1 and (slower[0].row.interval or (0.0,))[0] < 1 + excluded / 2:
        rows[rows.index(slower[0])] = JudgedRow(slower[0].row, "undecided", "slower, but alone; --again decides")
    if unlike := list(dict.fromkeys(d.kind for d in doubts if not d.accepted and d.kind != INCOMPLETE)):
        rows = [JudgedRow(row, "undecided", f"not judged: {', '.join(unlike)} differ") for row in comparison.rows]
    noisy = sum(each.outcome == NOISY for each in rows)
    unknown = {NOISY} if noisy > MOST_NOISY * len(rows) else set[str]()
    unknown |= {"regression"} if noisy > max(2, MOST_NOISY * len(rows)) else set()
    rows = [JudgedRow(each.row, "undecided", each.reason) if each.outcome in unknown else each for each in rows]
    wrong = [
        Uncompared("b", cell.cell, cell.label, cell.status, f"{cell.wrong_bytes} bytes arrived wrong")
        for cell in (*run.results.cells, *(again.results.cells if again else ()))
        if cell.wrong_bytes
    ]
    outcomes = {judged.outcome for judged in rows}
    outcome = "pass"
    if wrong or "regression" in outcomes:
        outcome = "regression"
    elif "undecided" in outcomes or not rows or any(not doubt.accepted for doubt in doubts):
        outcome = "undecided"
    notes += [] if rows else ["nothing was compared"]
    notes += [f"{comparison.set_aside} cells ignored, without a value in both runs"] if comparison.set_aside else []
    return Gate(SCHEMA, "gate", outcome, EXIT_CODES[outcome], comparison, rows, doubts, wrong, notes)


def suspects_of(comparison: Comparison, excluded: float = EXCLUDED) -> set[int]:
    """Return cells of A whose slowdown may be more than half of what a pass excludes; all where the machine changed."""
    suspects = {row.a_cell for row in comparison.rows if judge_row(row, excluded / 2).outcome != "pass"}
    return {row.a_cell for row in comparison.rows} if _moved(comparison) else suspects


def _moved(comparison: Comparison) -> list[Doubt]:
    return [Doubt(SHARED, factor.sentence) for factor in comparison.factors if factor.differs(MOST_SHARED)]


def final_exit_code(outcome: Outcome, undecided: Undecided) -> int:
    """Return the exit code of a gate, where the user says what an undecided one counts as."""
    taken: dict[Undecided, Outcome] = {"undecided": "undecided", "pass": "pass", "fail": "regression"}
    return EXIT_CODES[taken[undecided] if outcome == "undecided" else outcome]


def of_nearest(gates: Sequence[Gate]) -> Gate:
    """Return the gate whose baseline found the machine most like the run did, by the times of work without MPI."""

    def distance(judged: Gate) -> tuple[bool, float]:
        yardsticks = [factor.yardstick_ratio for factor in judged.comparison.factors if factor.yardstick_ratio]
        apart = max((abs(math.log(ratio)) for ratio in yardsticks), default=math.inf)
        return not set(judged.open_kinds) <= {SHARED, INCOMPLETE}, apart

    nearest = min(gates, key=distance)
    words = f"Nearest of {len(gates)} baselines, by work without MPI: {nearest.comparison.a.path}."
    return msgspec.structs.replace(nearest, notes=[*nearest.notes, words] if len(gates) > 1 else nearest.notes)


def judge_row(row: ComparisonRow, excluded: float) -> JudgedRow:
    """Judge a row.  Args: excluded: slowdown that a pass excludes."""
    launches = min(row.a_launches, row.b_launches)
    few = f"{launches} of {LAUNCHES} launches on a side; use --rounds {LAUNCHES}"
    if row.verdict == "slower" and (launches >= LAUNCHES or (row.ratio or 0) > 1 + excluded):
        return JudgedRow(row, "regression", row.reason)
    if row.ratio is None or launches < LAUNCHES:
        return JudgedRow(row, "undecided", row.reason if row.ratio is None else few)
    if row.interval_90 is None and row.a_value == row.b_value:
        return JudgedRow(row, "pass", "all launches take the same time, to the tick of the clock")
    if row.interval is None or row.interval_90 is None:
        return JudgedRow(row, "undecided", "no interval")
    most_percent = 100 * (row.interval_90[1] - 1)
    if most_percent < 100 * excluded:
        return JudgedRow(row, "pass", f"slower by at most {most_percent:+.1f} % with 95 % confidence")
    is_suspect = row.interval[0] > 1 + MINIMUM_EFFECT
    return JudgedRow(row, "undecided" if is_suspect else NOISY, f"slower by up to {most_percent:.1f} %")
