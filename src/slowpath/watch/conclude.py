# SPDX-License-Identifier: Apache-2.0
"""A watch with what was measured for it: findings, what they would save together, and the verdict. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from msgspec.structs import replace

from slowpath.findings.program_pattern import Floats, Ints, ProgramCalls, grouped
from slowpath.mpi.libraries import named_in
from slowpath.slowpaths.program.excess import IN_BLOCKS
from slowpath.slowpaths.sp015_datatype import SLOW_PATH as DATATYPES
from slowpath.watch.findings import most_called, priced_patterns
from slowpath.watch.messages import Load, loads_of
from slowpath.watch.patterns import patterns_of, why_words
from slowpath.watch.prices import Price, PriceQuestion, PriceSource, prices_of, questions_of
from slowpath.watch.results import Account, AccountName, MessageClass, WatchResults
from slowpath.watch.verdict import run_seconds, verdict_of
from slowpath.watch.what_if import KeptOrder


@dataclass(frozen=True)
class Watched:
    """What conclusions need. results: without findings.  kept, calls: the order of the calls, and these as slow paths
    look at them.  variables: that were set for the program.
    """

    results: WatchResults
    kept: KeptOrder
    calls: ProgramCalls
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Asking:
    """What is to be priced in a program. loads: kinds of its messages."""

    loads: tuple[Load, ...]
    questions: tuple[PriceQuestion, ...]


def asking(results: WatchResults, kept: KeptOrder | None) -> Asking:
    """What the replay has to measure, the most costly first."""
    pairs = None if kept is None else kept.pairs[(kept.pairs >= 0).all(axis=1)]
    loads = loads_of(results.classes, results.calls, pairs)
    questions = questions_of(loads, run_seconds(results), len(results.ranks))
    return Asking(tuple(loads), tuple(questions))


def concluded(watched: Watched, sources: Sequence[PriceSource] = (), watch: str = "WATCH") -> WatchResults:
    """Findings and verdict.  Args: sources: replays, the newest first.  watch: its folder, for commands to copy."""
    results, calls = watched.results, watched.calls
    asked = asking(results, watched.kept)
    prices = prices_of(asked.questions, sources)
    moved = _moved(watched.kept, asked.loads)
    library = named_in(results.program.library)
    name, version = (library[0].name, library[1]) if library else (None, None)
    priced = priced_patterns(prices.known, calls, moved, name, version)
    patterns = patterns_of(calls, watched.kept.order, results.sites, priced)
    measured = {site for finding in patterns.findings if finding.rule == DATATYPES.code for site in finding.sites}
    most = most_called(results.classes, results.sites)
    told_s = max((finding.saved_s or 0.0 for finding in patterns.findings), default=0.0)
    order = watched.kept.order if 2 * told_s <= sum(kind.time_s for kind in most) else None  # a change says more
    made = replace(
        results,
        most=why_words(calls, results.sites, most, order),
        findings=tuple(
            finding for finding in patterns.findings if finding.name != IN_BLOCKS or not measured & set(finding.sites)
        ),
        saved_s=patterns.saved_s,
        saved_interval=patterns.interval,
        not_measured=min(
            prices.missing_share, sum(account.share for account in results.accounts if account.name in _WITHIN)
        ),
        accounts=with_excess(results.accounts, excess_s(prices.known, calls, moved, len(results.ranks))),
    )
    return replace(made, verdict=verdict_of(made, watch))


def _moved(kept: KeptOrder, loads: Sequence[Load]) -> Ints:
    number = {(_class(load.sender), _class(load.receiver)): i for i, load in enumerate(loads)}
    which, first = grouped(kept.pairs[:, 0], kept.pairs[:, 1])
    kinds = np.array([number.get((int(s), int(r)), -1) for s, r in kept.pairs[first].tolist()], dtype=np.int64)
    message = kept.order.done[:, 1]
    kind = kinds[which[message]] if len(kept.pairs) else np.full(message.size, -1)
    return np.stack([kept.order.done[:, 0], kind], axis=1)[kind >= 0]


def _class(side: MessageClass | None) -> int:
    return -1 if side is None else side.id


_WITHIN: Final[tuple[AccountName, ...]] = ("moving bytes", "call overhead")  # what holds slow transfers


def excess_s(prices: Sequence[Price], calls: ProgramCalls, moved: Ints, ranks: int) -> Floats:
    """What each rank's calls take beyond the cells of their messages, shape (ranks,): of calls all of whose messages
    have one.
    """
    as_is_s = np.full(int(moved[:, 1].max(initial=-1)) + 1, np.nan)
    for price in prices:
        row, number = price.question.row, price.question.number
        if number < as_is_s.size and (row is None or row.phase == "steady"):
            as_is_s[number] = price.as_is_s
    whole_s = np.bincount(moved[:, 0], weights=as_is_s[moved[:, 1]], minlength=len(calls))
    beyond_s = np.where(whole_s > 0, np.maximum(calls.own_s - whole_s, 0.0), 0.0) * calls.seconds_weight
    rank = np.unique(calls.rank, return_inverse=True)[1].reshape(-1)
    return np.bincount(rank, weights=beyond_s, minlength=ranks)[:ranks].astype(float)


def with_excess(accounts: Sequence[Account], beyond_s: Floats) -> tuple[Account, ...]:
    """Accounts whose bytes and calls take no longer than in cells.

    Args: beyond_s: of each rank; what it lacked a processor may be part of that, and has its name already.
    """
    lacked = [account.by_rank for account in accounts if account.name == "no processor"]
    beyond_s = np.maximum(beyond_s - np.sum(lacked, axis=0), 0.0) if lacked else beyond_s
    left_s, excesses = beyond_s, list[Account]()
    for account in accounts:
        of_rank = np.array(account.by_rank)
        taken_s = np.minimum(of_rank, left_s) if account.name in _WITHIN else np.zeros(of_rank.size)
        left_s = left_s - taken_s
        excesses.append(_account(account.name, of_rank - taken_s, account))
    if accounts and (left_s < beyond_s).any():
        excesses.append(_account("slow transfer", beyond_s - left_s, accounts[0]))
    return tuple(sorted(excesses, key=lambda account: -account.seconds))


def _account(name: AccountName, of_rank: Floats, like: Account) -> Account:
    seconds = float(of_rank.mean())
    share = min(like.share / like.seconds * seconds, 1.0) if like.seconds else 0.0
    return Account(name=name, seconds=seconds, share=share, by_rank=tuple(of_rank.tolist()))
