# SPDX-License-Identifier: Apache-2.0
"""Two sides of watches compared: what is counted is exact, times have an interval only with several watches a side.

Pure. Source of the intervals: Welch 1947, as for runs (docs/reference/compare.md).
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import msgspec

from slowpath.compare.comparable import Doubt
from slowpath.compare.facts import Difference
from slowpath.core.errors import UsageError
from slowpath.stats import multiplicity
from slowpath.stats.contrast import ContrastEstimate, unpaired
from slowpath.stats.verdict import judge
from slowpath.watch.compare.measures import Measure, measures
from slowpath.watch.compare.read import Side
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
    differences: list[Difference]
    doubts: list[Doubt]
    findings: dict[str, list[str]]  # only in A, only in B, in both: their ids
    rows: list[WatchRow]


def compare_watches(a: Side, b: Side, minimum_effect: float) -> WatchComparison:
    """B against A.  Raises: UsageError: both are one."""
    if a.path.resolve() == b.path.resolve():
        raise UsageError(f"{a.path} and {b.path} are the same; name two watches")
    rows = _rows(a.watches, b.watches, minimum_effect)
    return WatchComparison(
        SCHEMA, "watch comparison", _note(a), _note(b), minimum_effect, _differences(a, b), _doubts(a, b),
        _findings(a.watches, b.watches), rows,
    )  # fmt: skip


def _note(side: Side) -> WatchNote:
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


def _differences(a: Side, b: Side) -> list[Difference]:
    mine, yours = _facts(a.watches[0].program), _facts(b.watches[0].program)
    return [Difference(name, mine[name], yours[name]) for name in mine if mine[name] != yours[name]]


_KIND = {"program": "settings", "command": "settings", "ranks": "placement", "hosts": "placement", "MPI": "mpi"}


def _doubts(a: Side, b: Side) -> list[Doubt]:
    """What keeps two sides from being held against each other, by the kinds of runs."""
    facts = [(name, _facts(one.program)) for name, side in (("A", a), ("B", b)) for one in side.watches]
    found = []
    for fact, kind in _KIND.items():
        values = list(dict.fromkeys(known[fact] for _, known in facts))
        if len(values) > 1:
            found.append(Doubt(kind, f"{fact}: {values[0]} and {values[1]}"))
    for name, side in (("A", a), ("B", b)):
        for folder, one in zip(side.names, side.watches, strict=True):
            why = _incomplete(one)
            found += [Doubt("incomplete", f"{name}, {folder}: {why}")] if why else []
    return found


def _incomplete(one: WatchResults) -> str | None:
    program = one.program
    if program.recorded_ranks < max(1, program.ranks):
        return f"{program.recorded_ranks} of {program.ranks} ranks left a record"
    if program.signal is not None or program.exit_code:
        return "the program failed"
    cut = sum(rank.ended in ("killed", "without finalize") for rank in one.ranks)
    return f"{cut} ranks ended without MPI_Finalize" if cut else None


def _findings(a: Sequence[WatchResults], b: Sequence[WatchResults]) -> dict[str, list[str]]:
    mine, yours = ({found.id for one in side for found in one.findings} for side in (a, b))
    return {"only_a": sorted(mine - yours), "only_b": sorted(yours - mine), "both": sorted(mine & yours)}


def _rows(a: Sequence[WatchResults], b: Sequence[WatchResults], minimum_effect: float) -> list[WatchRow]:
    """One for each number of either side; p of times corrected over those of one name."""
    mine, yours = ([{(m.of, m.name): m for m in measures(one)} for one in side] for side in (a, b))
    keys = dict.fromkeys(key for one in (*mine, *yours) for key in one)
    found = [_row([one[key] for one in mine if key in one], [one[key] for one in yours if key in one],
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
    exact = all(one.is_exact for one in known)
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
    return [one.value for one in side] + [0.0] * (watches - len(side))


def _range(values: Sequence[float]) -> tuple[float, float] | None:
    return (min(values), max(values)) if values else None


def _share(side: list[Measure]) -> float | None:
    found = [one.share for one in side if one.share is not None]
    return statistics.median(found) if found else None


def _counted(a: Sequence[float], b: Sequence[float]) -> tuple[str, str]:
    if len({*a, *b}) == 1:
        return "same", "counted"
    if min(b) > max(a):
        return "more", "counted"
    if max(b) < min(a):
        return "fewer", "counted"
    return "varies", "the counts of one side lie within those of the other"


def _timed(a: Sequence[float], b: Sequence[float]) -> tuple[str, str]:
    fewest = min(len(a), len(b))
    if fewest < FEWEST_WATCHES:
        return "described", ONE.format(fewest, "" if fewest == 1 else "es", FEWEST_WATCHES)
    return "undecided", "no interval: a value is 0"


def _estimate(a: Sequence[float], b: Sequence[float], minimum_effect: float) -> ContrastEstimate | None:
    if min(len(a), len(b)) < FEWEST_WATCHES or min([*a, *b], default=0.0) <= 0:
        return None
    return unpaired(a, b, minimum_effect)
