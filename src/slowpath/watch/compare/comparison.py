# SPDX-License-Identifier: Apache-2.0
"""Two sides of watches compared, and judged by a gate. Pure.

What is counted is exact; times have an interval only with several watches a side. Source of the intervals: Welch 1947,
as for runs (docs/how-to/gate-in-ci.md).
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Sequence

import msgspec

from slowpath.compare.comparable import Doubt
from slowpath.compare.facts import RunDifference
from slowpath.compare.gate import EXIT_CODES, INCOMPLETE, LAUNCHES, Outcome
from slowpath.core.errors import UsageError
from slowpath.stats import multiplicity
from slowpath.stats.contrast import ContrastEstimate, unpaired
from slowpath.stats.verdict import judge
from slowpath.watch.compare.measures import Measure, WatchSide, measures
from slowpath.watch.results import WatchedProgram, WatchResults

SCHEMA = 1
FEWEST_WATCHES = 3  # on each side, as launches of runs
ONE = "described: {} watch{} on a side, an interval needs {}"


class WatchRow(msgspec.Struct, frozen=True):
    """One number: B over A. Values are medians over watches; a_share, b_share: of the whole of that name."""

    of: str
    name: str
    is_exact: bool
    is_judged: bool  # by a gate
    a: float | None  # None: no watch of this side has it
    b: float | None
    a_range: tuple[float, float] | None
    b_range: tuple[float, float] | None
    a_share: float | None
    b_share: float | None
    ratio: float | None
    interval: tuple[float, float] | None
    interval_90: tuple[float, float] | None
    p_adjusted: float | None
    verdict: str  # counted: same | more | fewer | varies. Times: described | slower | faster | same | undecided
    reason: str


class WatchNote(msgspec.Struct, frozen=True):
    """Which watches a side is."""

    path: str
    watches: tuple[str, ...]
    program: str
    started: str


class WatchComparison(msgspec.Struct, frozen=True):
    """Everything that `slowpath compare` reports of watches; its JSON is this, field by field."""

    schema: int
    kind: str
    a: WatchNote
    b: WatchNote
    minimum_effect: float
    differences: list[RunDifference]
    doubts: list[Doubt]
    findings: dict[str, list[str]]  # only in A, only in B, in both: their ids
    rows: list[WatchRow]


def compare_watches(a: WatchSide, b: WatchSide, minimum_effect: float) -> WatchComparison:
    """B against A.  Raises: UsageError: both are one."""
    if a.path.resolve() == b.path.resolve():
        raise UsageError(f"{a.path} and {b.path} are the same; name two watches")
    rows = _rows(a.watches, b.watches, minimum_effect)
    return WatchComparison(
        SCHEMA, "watch comparison", _note(a), _note(b), minimum_effect, _differences(a, b), _doubts(a, b),
        _findings(a.watches, b.watches), rows,
    )  # fmt: skip


def _note(side: WatchSide) -> WatchNote:
    program = side.watches[0].program
    return WatchNote(str(side.path), side.names, program.program, program.started)


def _facts(program: WatchedProgram) -> dict[str, str]:
    return {
        "program": program.program,
        "command": " ".join(program.command),
        "ranks": str(program.ranks),
        "hosts": str(len(program.hosts)),
        "MPI": program.library,
        "thread level": str(program.thread_level or "not known"),
    }


def _differences(a: WatchSide, b: WatchSide) -> list[RunDifference]:
    mine, yours = _facts(a.watches[0].program), _facts(b.watches[0].program)
    return [RunDifference(name, mine[name], yours[name]) for name in mine if mine[name] != yours[name]]


_KIND = {"program": "settings", "command": "settings", "ranks": "placement", "hosts": "placement", "MPI": "mpi"}


def _doubts(a: WatchSide, b: WatchSide) -> list[Doubt]:
    """What keeps two sides from being held against each other, by the kinds of runs."""
    facts = [(name, _facts(results.program)) for name, side in (("A", a), ("B", b)) for results in side.watches]
    found = []
    for fact, kind in _KIND.items():
        values = list(dict.fromkeys(known[fact] for _, known in facts))
        if len(values) > 1:
            found.append(Doubt(kind, f"{fact}: {values[0]} and {values[1]}", fact=fact))
    for name, side in (("A", a), ("B", b)):
        for folder, results in zip(side.names, side.watches, strict=True):
            why = _incomplete(results)
            found += [Doubt("incomplete", f"{name}, {folder}: {why}")] if why else []
    return found


def _incomplete(results: WatchResults) -> str | None:
    program = results.program
    if program.recorded_ranks < max(1, program.ranks):
        return f"{program.recorded_ranks} of {program.ranks} ranks left a record"
    if program.signal is not None or program.exit_code:
        return "the program failed"
    cut = sum(rank.ended in ("killed", "without finalize") for rank in results.ranks)
    return f"{cut} ranks ended without MPI_Finalize" if cut else None


def _findings(a: Sequence[WatchResults], b: Sequence[WatchResults]) -> dict[str, list[str]]:
    mine, yours = ({found.id for results in side for found in results.findings} for side in (a, b))
    return {"only_a": sorted(mine - yours), "only_b": sorted(yours - mine), "both": sorted(mine & yours)}


def _rows(a: Sequence[WatchResults], b: Sequence[WatchResults], minimum_effect: float) -> list[WatchRow]:
    """One for each number of either side; p of times corrected over those of one name."""
    mine, yours = ([{(m.of, m.name): m for m in measures(results)} for results in side] for side in (a, b))
    keys = dict.fromkeys(key for by_key in (*mine, *yours) for key in by_key)
    found = [_row([by_key[key] for by_key in mine if key in by_key], [by_key[key] for by_key in yours if key in by_key],
                  (len(a), len(b)), minimum_effect) for key in keys]  # fmt: skip
    families: dict[tuple[str, bool], list[int]] = {}
    for place, (row, estimate) in enumerate(found):
        if estimate is not None and estimate.p is not None:
            families.setdefault((row.name, row.is_judged), []).append(place)
    adjusted: dict[int, float] = {}
    for members in families.values():
        values = [estimate.p for place in members if (estimate := found[place][1]) and estimate.p is not None]
        adjusted |= zip(members, map(float, multiplicity.benjamini_hochberg(values)), strict=True)
    return [_judged(row, estimate, adjusted.get(place)) for place, (row, estimate) in enumerate(found)]


def _row(
    a: list[Measure], b: list[Measure], watches: tuple[int, int], minimum_effect: float
) -> tuple[WatchRow, ContrastEstimate | None]:
    known = [*a, *b]
    exact = all(measure.is_exact for measure in known)
    # What a watch lacks it did not do: 0 of it was counted. A time that is missing is missing.
    filled = watches if exact else (0, 0)
    one, other = _values(a, filled[0]), _values(b, filled[1])
    low, high = (statistics.median(side) if side else None for side in (one, other))
    shares = _share(a), _share(b)
    if exact and shares != (None, None):
        shares = shares[0] or 0.0, shares[1] or 0.0
    verdict, reason = _counted(one, other) if exact else _timed(one, other)
    row = WatchRow(
        of=known[0].of,
        name=known[0].name,
        is_exact=exact,
        is_judged=any(m.is_judged for m in known),
        a=low,
        b=high,
        a_range=_range(one),
        b_range=_range(other),
        a_share=shares[0],
        b_share=shares[1],
        ratio=high / low if low and high is not None else None,
        interval=None,
        interval_90=None,
        p_adjusted=None,
        verdict=verdict,
        reason=reason,
    )
    return row, None if exact else _estimate(one, other, minimum_effect)


def _judged(row: WatchRow, estimate: ContrastEstimate | None, p_adjusted: float | None) -> WatchRow:
    if estimate is None:
        return row
    found, inner = judge(estimate, p_adjusted), estimate.equivalence
    return msgspec.structs.replace(
        row,
        ratio=estimate.ratio,
        interval=estimate.interval,
        interval_90=(inner.low, inner.high) if inner else None,
        p_adjusted=p_adjusted,
        verdict=found.word,
        reason=found.reason,
    )


def _values(side: list[Measure], watches: int) -> list[float]:
    """Those that are there, and 0 for each other one of `watches`."""
    return [measure.value for measure in side] + [0.0] * (watches - len(side))


def _range(values: Sequence[float]) -> tuple[float, float] | None:
    return (min(values), max(values)) if values else None


def _share(side: list[Measure]) -> float | None:
    found = [measure.share for measure in side if measure.share is not None]
    return statistics.median(found) if found else None


def _counted(a: Sequence[float], b: Sequence[float]) -> tuple[str, str]:
    if len({*a, *b}) == 1:
        return "same", "counted"
    if min(b) > max(a):
        return "more", "counted"
    if max(b) < min(a):
        return "fewer", "counted"
    return "varies", "the counts of one side lie within the range of the other"


def _timed(a: Sequence[float], b: Sequence[float]) -> tuple[str, str]:
    fewest = min(len(a), len(b))
    if fewest < FEWEST_WATCHES:
        return "described", ONE.format(fewest, "" if fewest == 1 else "es", FEWEST_WATCHES)
    return "undecided", "no interval: a value is 0"


def _estimate(a: Sequence[float], b: Sequence[float], minimum_effect: float) -> ContrastEstimate | None:
    if min(len(a), len(b)) < FEWEST_WATCHES or min([*a, *b], default=0.0) <= 0:
        return None
    return unpaired(a, b, minimum_effect)


GATE_SCHEMA = 1


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
        kinds = (doubt.kind for doubt in self.doubts if not doubt.accepted and doubt.kind != INCOMPLETE)
        return list(dict.fromkeys(kinds))


def gate_watches(run: WatchSide, baseline: WatchSide, minimum_effect: float, accept: Collection[str] = ()) -> WatchGate:
    """The gate as the watches stand.  Args: accept: kinds of doubts in spite of which to judge.  Raises: UsageError."""
    found = compare_watches(baseline, run, minimum_effect)
    doubts = [msgspec.structs.replace(doubt, accepted=doubt.kind in accept) for doubt in found.doubts]
    fewest = min(len(run.watches), len(baseline.watches))
    with_times = fewest >= FEWEST_WATCHES
    rows = [_judge(row, fewest, minimum_effect) for row in found.rows if row.is_judged and (row.is_exact or with_times)]
    about = "calls, bytes and seconds" if with_times else "calls and bytes"
    gate = WatchGate(GATE_SCHEMA, "watch gate", "undecided", EXIT_CODES["undecided"], about, found, rows, doubts)
    if gate.unlike:
        why = f"not judged: {', '.join(gate.unlike)} differ"
        return msgspec.structs.replace(gate, rows=[WatchJudged(judged.row, "undecided", why) for judged in rows])
    outcomes = {judged.outcome for judged in rows}
    outcome = "pass"
    if "regression" in outcomes:
        outcome = "regression"
    elif "undecided" in outcomes or not rows or any(not doubt.accepted for doubt in doubts):
        outcome = "undecided"
    return msgspec.structs.replace(gate, outcome=outcome, exit_code=EXIT_CODES[outcome])


def _judge(row: WatchRow, fewest: int, minimum_effect: float) -> WatchJudged:
    return _counted_failure(row, minimum_effect) if row.is_exact else _timed_failure(row, fewest, minimum_effect)


def _counted_failure(row: WatchRow, minimum_effect: float) -> WatchJudged:
    """By the ranges: what no watch of one side shares with any of the other is a difference."""
    high_a, (low_b, high_b) = (row.a_range or (0.0, 0.0))[1], row.b_range or (0.0, 0.0)
    if high_b <= high_a * (1 + minimum_effect):
        return WatchJudged(row, "pass", "counted")
    if low_b > high_a * (1 + minimum_effect):
        return WatchJudged(row, "regression", "counted")
    return WatchJudged(row, "undecided", "its count varies between watches of one side")


def _timed_failure(row: WatchRow, fewest: int, minimum_effect: float) -> WatchJudged:
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
