# SPDX-License-Identifier: Apache-2.0
"""A program that stands still: which ranks are in which call at which place, for whom they wait, and who has not come.

Each rank writes down the call that it is about to make (schema/watch.json, current). Of a run that was stopped while
nothing moved this says why: ranks that wait for each other, collectives that don't fit, or ranks that have not come.
Nothing is claimed of whom a call waits for where the record does not say it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from slowpath.core.units import listed
from slowpath.watch.attributed import Attributed
from slowpath.watch.record.job import moved
from slowpath.watch.result_parts import Standing, Standstill, StandstillCause
from slowpath.watch.standing import RanksNow, Stand
from slowpath.watch.verdict import ranks_words

LEAST_QUIET_S: Final = 5.0  # from which a run that was stopped counts as standing still


def standstill(
    found: Attributed, until_s: float | None, least_s: float = LEAST_QUIET_S, was_stopped: bool = True
) -> Standstill | None:
    """Return why nothing moves; None: something moved in the last `least_s` seconds, or no rank waits in a call.

    Args: until_s: CLOCK_REALTIME until when the program ran by itself; None: not known.  was_stopped: see Standstill.
    """
    records = found.world.records
    moves = [moved(record.header, record.lanes, record.current) for record in records]
    known = [move for move in moves if move is not None]
    if until_s is None or not any(move.is_in_call for move in known):
        return None
    quiet_s = until_s - max(move.at_s for move in known)
    if quiet_s < least_s:
        return None
    ranks = RanksNow(found, until_s)
    cause, late, text = _why(ranks)
    every = tuple(
        Standing(
            rank=one.rank,
            doing=one.doing,
            call=one.call,
            place=one.place,
            seconds=max(one.for_s, 0.0),
            waits_for=tuple(sorted(one.waits_for)),
            text=one.words,
        )
        for one in ranks.by_rank.values()
    )
    return Standstill(
        quiet_s=quiet_s, cause=cause, late=tuple(sorted(late)), text=text, was_stopped=was_stopped, ranks=every
    )


def _why(ranks: RanksNow) -> tuple[StandstillCause, set[int], str]:
    """What keeps the ranks, those that have not come, and one sentence without a full stop."""
    return _mismatch(ranks) or _circle(ranks) or _missing(ranks) or ("not known", set(), _unknown(ranks))


def _mismatch(ranks: RanksNow) -> tuple[StandstillCause, set[int], str] | None:
    """Ranks that are in different collectives which have one number on one communicator."""
    groups: dict[tuple[int, int], dict[str, list[Stand]]] = {}
    for stand in ranks.by_rank.values():
        if stand.is_stuck and stand.group is not None and stand.group[2] >= 0:
            identity, call, number = stand.group
            groups.setdefault((identity, number), {}).setdefault(call, []).append(stand)
    for calls in groups.values():
        if len(calls) < 2:
            continue
        most, *others = sorted(calls.values(), key=len, reverse=True)
        few = others[0]
        text = (
            f"{ranks_words(one.rank for one in few)} {_verb(few, 'is', 'are')} in {few[0].where} while "
            f"{ranks_words(one.rank for one in most)} {_verb(most, 'is', 'are')} in {most[0].where}: all ranks "
            "must call the same collective"
        )
        return "mismatch", {one.rank for one in few}, text
    return None


def _circle(ranks: RanksNow) -> tuple[StandstillCause, set[int], str] | None:
    """The shortest circle of ranks that wait for each other."""
    edges = {
        rank: sorted(other for other in stand.waits_for if (one := ranks.by_rank.get(other)) and one.is_stuck)
        for rank, stand in ranks.by_rank.items()
        if stand.is_stuck
    }
    best: list[int] = []
    for start in edges:
        path = _way_back(edges, start)
        if path and (not best or len(path) < len(best)):
            best = path
        if best and len(best) <= 2:
            break
    if not best:
        return None
    stands = [ranks.by_rank[rank] for rank in best]
    if len(stands) == 1:
        return "circle", {best[0]}, f"rank {best[0]} waits for itself in {stands[0].where}"
    if len(stands) > 2 and len({(one.call, one.place) for one in stands}) == 1:
        text = (
            f"{ranks_words(best)} wait for each other in a circle, all in {stands[0].call} at {stands[0].place}: "
            f"{', '.join(f'{one.rank} for {then.rank}' for one, then in _round(stands)[:4])}"
            f"{' and so on' if len(stands) > 4 else ''}"
        )
    else:
        parts = [f"rank {one.rank} in {one.where} for rank {then.rank}" for one, then in _round(stands)]
        shown = parts[:3] + ([f"and {len(parts) - 3} more"] if len(parts) > 3 else [])
        text = f"{ranks_words(best)} wait for each other: {', '.join(shown)}"
    return "circle", set(best), text


def _round(stands: Sequence[Stand]) -> list[tuple[Stand, Stand]]:
    return list(zip(stands, [*stands[1:], stands[0]], strict=True))


def _way_back(edges: Mapping[int, Sequence[int]], start: int) -> list[int]:
    """The shortest way from a rank to itself, without its end; empty: there is none."""
    before: dict[int, int] = {}
    queue = [start]
    for rank in queue:
        for other in edges.get(rank, ()):
            if other == start:
                path = [rank]
                while path[-1] != start:
                    path.append(before[path[-1]])
                return path[::-1]
            if other not in before:
                before[other] = rank
                queue.append(other)
    return []


def _missing(ranks: RanksNow) -> tuple[StandstillCause, set[int], str] | None:
    """Ranks that others wait for and that wait for nobody: the call in which most ranks wait for one of them."""
    waiting: dict[tuple[str, str], list[Stand]] = {}
    for stand in ranks.by_rank.values():
        if stand.is_stuck and any(not ranks.by_rank[other].is_stuck for other in stand.waits_for):
            waiting.setdefault((str(stand.call), str(stand.place)), []).append(stand)
    if not waiting:
        return None
    stands = max(waiting.values(), key=len)
    late = {other for one in stands for other in one.waits_for if not ranks.by_rank[other].is_stuck}
    who = [ranks.by_rank[rank] for rank in sorted(late)]
    state = who[0].words if len(who) == 1 else _together(who)
    does = "does" if len(who) == 1 else "do"
    if stands[0].group is not None:
        text = (
            f"{ranks_words(late)} {does} not come to {stands[0].call} at {stands[0].place}, where "
            f"{ranks_words(one.rank for one in stands)} {_verb(stands, 'waits', 'wait')}: "
            f"{'it is' if len(who) == 1 else 'they are'} {state}"
        )
    else:
        more = f" (and {len(stands) - 1} more so)" if len(stands) > 1 else ""
        verb = "polls" if stands[0].doing == "polling" else "waits"
        are = f"{ranks_words(late)} {_verb(who, 'is', 'are')} {state}"
        text = f"rank {stands[0].rank}{more} {verb} in {stands[0].where}, but {are}"
    return "missing", late, text


def _together(stands: Sequence[Stand]) -> str:
    kinds = {one.doing for one in stands}
    if kinds == {"outside MPI"}:
        return "outside MPI"
    return "outside MPI, or at their end"


def _unknown(ranks: RanksNow) -> str:
    stuck = [stand for stand in ranks.by_rank.values() if stand.is_stuck]
    places: dict[str, list[int]] = {}
    for stand in stuck:
        places.setdefault(f"{stand.call}{stand.with_} at {stand.place}", []).append(stand.rank)
    shown = sorted(places.items(), key=lambda entry: -len(entry[1]))[:3]
    parts = [f"{ranks_words(found)} in {place}" for place, found in shown]
    return f"{listed(parts)}; for whom they wait is not known"


def _verb(stands: Sequence[Stand], one: str, many: str) -> str:
    return one if len(stands) == 1 else many
