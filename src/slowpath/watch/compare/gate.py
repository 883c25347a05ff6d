# SPDX-License-Identifier: Apache-2.0
"""May a watched program pass against its baseline? Counts are judged exactly, times only with several watches a side.

Pure. A is the baseline, B what is judged.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from slowpath.compare.comparable import Doubt
from slowpath.compare.gate import EXIT_CODES, INCOMPLETE, LAUNCHES, Outcome
from slowpath.watch.compare.comparison import FEWEST_WATCHES, WatchComparison, WatchRow, compare_watches
from slowpath.watch.compare.read import Side

SCHEMA = 1


class WatchJudged(msgspec.Struct, frozen=True):
    """One row, and what the gate makes of it."""

    row: WatchRow
    outcome: Outcome
    reason: str


class WatchGate(msgspec.Struct, frozen=True):
    """Everything that `slowpath gate` reports of watches; its JSON is this, field by field."""

    schema: int
    kind: str
    outcome: Outcome
    exit_code: int
    judged: str  # what the outcome is about
    comparison: WatchComparison
    rows: list[WatchJudged]
    doubts: list[Doubt]

    @property
    def unlike(self) -> list[str]:
        """Kinds of doubts for which no row was judged."""
        kinds = (one.kind for one in self.doubts if not one.accepted and one.kind != INCOMPLETE)
        return list(dict.fromkeys(kinds))


def gate_watches(run: Side, baseline: Side, minimum_effect: float, accept: Collection[str] = ()) -> WatchGate:
    """The gate as the watches stand.  Args: accept: kinds of doubts in spite of which to judge.  Raises: UsageError."""
    found = compare_watches(baseline, run, minimum_effect)
    doubts = [msgspec.structs.replace(one, accepted=one.kind in accept) for one in found.doubts]
    fewest = min(len(run.watches), len(baseline.watches))
    with_times = fewest >= FEWEST_WATCHES
    rows = [_judge(row, fewest, minimum_effect) for row in found.rows if row.is_judged and (row.is_exact or with_times)]
    about = "calls, bytes and seconds" if with_times else "calls and bytes"
    gate = WatchGate(SCHEMA, "watch gate", "undecided", EXIT_CODES["undecided"], about, found, rows, doubts)
    if gate.unlike:
        why = f"not judged: {', '.join(gate.unlike)} differ"
        return msgspec.structs.replace(gate, rows=[WatchJudged(one.row, "undecided", why) for one in rows])
    outcomes = {one.outcome for one in rows}
    outcome = "pass"
    if "regression" in outcomes:
        outcome = "regression"
    elif "undecided" in outcomes or not rows or any(not one.accepted for one in doubts):
        outcome = "undecided"
    return msgspec.structs.replace(gate, outcome=outcome, exit_code=EXIT_CODES[outcome])


def _judge(row: WatchRow, fewest: int, minimum_effect: float) -> WatchJudged:
    return _counted(row, minimum_effect) if row.is_exact else _timed(row, fewest, minimum_effect)


def _counted(row: WatchRow, minimum_effect: float) -> WatchJudged:
    """By the ranges: what no watch of one side shares with any of the other is a difference."""
    high_a, (low_b, high_b) = (row.a_range or (0.0, 0.0))[1], row.b_range or (0.0, 0.0)
    if high_b <= high_a * (1 + minimum_effect):
        return WatchJudged(row, "pass", "counted")
    if low_b > high_a * (1 + minimum_effect):
        return WatchJudged(row, "regression", "counted")
    return WatchJudged(row, "undecided", "its count varies between watches of one side")


def _timed(row: WatchRow, fewest: int, minimum_effect: float) -> WatchJudged:
    if row.verdict == "slower":
        return WatchJudged(row, "regression", row.reason)
    if fewest < LAUNCHES:
        return WatchJudged(row, "undecided", f"{fewest} watches on a side, a pass needs {LAUNCHES}")
    if row.interval_90 is None:
        return WatchJudged(row, "undecided", row.reason)
    most = 100 * (row.interval_90[1] - 1)
    if row.interval_90[1] < 1 + minimum_effect:
        return WatchJudged(row, "pass", f"95 % sure that it is at most {most:+.1f} %")
    return WatchJudged(row, "undecided", f"it may be slower by up to {most:.1f} %")
