# SPDX-License-Identifier: Apache-2.0
"""Which of many settings is responsible, by taking away sets of them: what to take away next, and what follows. Pure.

A slowdown that goes without all settings goes without some smallest set of them. Few settings are taken away one by
one, all in one campaign. Of many, each has a number, and for each binary digit those with a 0 are taken away and those
with a 1: one setting alone leaves exactly one of the two fast at each digit, and the digits are its number. So a single
one among 64 takes 12 sets in place of 64, all at once, in place of 6 campaigns one after the other. What one setting
does not explain is searched by leaving parts of a set in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

# What taking a set away does: the slowdown goes, remains, goes in part; no launch works; the times do not decide.
Outcome = Literal["gone", "stays", "partly", "failed", "unclear"]
Set = frozenset[int]
Seen = Mapping[Set, Outcome]

MOST_PARTS = 6  # of a set, which are left in one by one


@dataclass(frozen=True)
class Responsible:
    """sets: each is as small as can be, and without any one of them it is as fast as without any setting. Two of them:
    it is slow only where both are there.
    """

    sets: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class ToTry:
    """Sets to take away next, in one campaign.  again: they were tried, and noise hid the outcome."""

    sets: tuple[Set, ...]
    again: bool = False


class _Missing(Exception):
    """An outcome that the search needs and that is not there."""

    def __init__(self, sets: Sequence[Set], again: bool) -> None:
        super().__init__()
        self.to_try = ToTry(tuple(sets), again)


def search(count: int, seen: Seen) -> Responsible | ToTry:
    """What is responsible, or what to try.

    Args: count: of settings, 1 or more, without all of which the slowdown goes.  seen: set that was taken away ->
          outcome.
    """
    every = frozenset(range(count))
    known: dict[Set, Outcome] = {**seen, every: "gone", frozenset(): "stays"}
    try:
        return Responsible(tuple(tuple(sorted(one)) for one in _found(every, known)))
    except _Missing as missing:
        return missing.to_try


def first_sets(count: int) -> tuple[Set, ...]:
    """What is taken away first: each alone, or by binary digits of its number where these are fewer sets."""
    if is_one_by_one(count):
        return tuple(frozenset({number}) for number in range(count))
    halves = ((digit, value) for digit in range((count - 1).bit_length()) for value in (0, 1))
    return tuple(frozenset(n for n in range(count) if n >> digit & 1 == value) for digit, value in halves)


def is_one_by_one(count: int) -> bool:
    """Whether so many settings are taken away one by one."""
    return count <= 2 * (count - 1).bit_length() or count == 1


def _found(every: Set, known: Mapping[Set, Outcome]) -> list[Set]:
    if len(every) == 1:
        return [every]
    first = first_sets(len(every))
    _look(known, first)
    gone = [one for one in first if known[one] == "gone"]
    if is_one_by_one(len(every)):
        if gone:
            return gone
    elif (reported := _reported_by_digits(every, known)) is not None:
        return reported
    smallest = _smallest(min((every, *gone), key=len), known)
    rest = every - smallest
    _look(known, [rest])
    return [smallest, _smallest(rest, known)] if rest and known[rest] == "gone" else [smallest]


def _reported_by_digits(every: Set, known: Mapping[Set, Outcome]) -> list[Set] | None:
    """One setting, or two: at digits in which two differ, both halves are gone where one will do, and neither where
    both have to go.

    Returns: None where it takes more than two, or some of it is gone in part.
    """
    digits = range((len(every) - 1).bit_length())
    halves = {(d, v): frozenset(n for n in every if n >> d & 1 == v) for d in digits for v in (0, 1)}
    gone = {place: known[some] == "gone" for place, some in halves.items()}
    if "partly" in [known[some] for some in halves.values()]:
        return None
    alike = [(d, v) for (d, v), one in gone.items() if one and not gone[d, 1 - v]]
    apart = [d for d in digits if gone[d, 0] == gone[d, 1]]
    fitting = every.intersection(*(halves[place] for place in alike))
    if not apart:
        return [fitting] if fitting else None
    if len({gone[d, 0] for d in apart}) > 1:
        return None
    one_will_do, first = gone[apart[0], 0], fitting & halves[apart[0], 0]
    sets = {d: first & halves[d, 0] for d in apart[1:]}
    tried = {d: some if one_will_do else every - some for d, some in sets.items()}
    _look(known, list(tried.values()))
    zero = {d: (known[some] == "gone") == one_will_do for d, some in tried.items()}
    one = [n for n in first if all((n >> d & 1 == 0) == is_zero for d, is_zero in zero.items())]
    other = [n ^ sum(1 << d for d in apart) for n in one]
    if len(one) != 1 or other[0] not in every:
        return None
    return _confirmed(frozenset(one), frozenset(other), one_will_do, known)


def _confirmed(one: Set, other: Set, one_will_do: bool, known: Mapping[Set, Outcome]) -> list[Set] | None:
    """Two settings, taken away alone and together."""
    _look(known, [one, other] if one_will_do else [one, other, one | other])
    alone = [known[some] == "gone" for some in (one, other)]
    if one_will_do:
        return [one, other] if all(alone) else None
    return [one | other] if known[one | other] == "gone" and not any(alone) else None


def _look(known: Mapping[Set, Outcome], wanted: Sequence[Set]) -> None:
    """Raises: _Missing: some are not known, or unclear."""
    unknown = [one for one in wanted if one not in known]
    if unknown:
        raise _Missing(unknown, again=False)
    unclear = [one for one in wanted if known[one] == "unclear"]
    if unclear:
        raise _Missing(unclear, again=True)


def _smallest(start: Set, known: Mapping[Set, Outcome]) -> Set:
    """The smallest part of `start` without which it is fast: nothing of it can be left in.

    Raises: _Missing.
    """
    current = start
    while len(current) > 1:
        parts = _parts(current, MOST_PARTS)
        idle = _idle(current, parts, known)
        if not idle and len(parts) < len(current):
            idle = _idle(current, _parts(current, len(current)), known)
        if not idle:
            return current
        left = current.difference(*idle)
        if left:
            _look(known, [left])
        current = left if left and known[left] == "gone" else current - idle[0]
    return current


def _idle(current: Set, parts: Sequence[Set], known: Mapping[Set, Outcome]) -> list[Set]:
    """Parts that can be left in: it is fast without the others alone."""
    _look(known, [current - part for part in parts])
    return [part for part in parts if known[current - part] == "gone"]


def _parts(current: Set, most: int) -> list[Set]:
    ordered = sorted(current)
    count = min(len(ordered), most)
    return [frozenset(ordered[number::count]) for number in range(count)]
