# SPDX-License-Identifier: Apache-2.0
"""A watch with prices: findings, what they would save together, and the verdict. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from msgspec.structs import replace as changed

from slowpath.mpi.libraries import named_in
from slowpath.slowpaths.datatype.sp015_datatype import SLOW_PATH as DATATYPES
from slowpath.slowpaths.program.excess import IN_BLOCKS
from slowpath.watch.findings import (
    MOST_UNEXPLAINED,
    SlowPathCost,
    costs_of,
    finding_of,
    no_gain_words,
    unexplained_share,
)
from slowpath.watch.messages import Load, ProgramFacts, loads_of
from slowpath.watch.patterns import NO_PATTERNS, Patterns
from slowpath.watch.prices import PriceQuestion, PriceSource, Unpriced, prices_of, questions_of
from slowpath.watch.results import WatchFinding, WatchResults
from slowpath.watch.verdict import run_seconds, verdict_of
from slowpath.watch.what_if import CallOrder, KeptOrder, KindCounts, Saved, Scenario, what_if

_NOT_KEPT: Final = Saved(None, None, "the order of its calls was not recorded")


@dataclass(frozen=True)
class Asking:
    """What is to be priced in a program. loads: kinds of its messages.  left: what no cell can price."""

    loads: tuple[Load, ...]
    questions: tuple[PriceQuestion, ...]
    left: tuple[str, ...]


def asking(results: WatchResults, kept: KeptOrder | None, variables: Mapping[str, str]) -> Asking:
    """What the replay has to measure, the most costly first."""
    pairs = None if kept is None else kept.pairs[(kept.pairs >= 0).all(axis=1)]
    loads = loads_of(results.classes, results.calls, pairs)
    program = ProgramFacts(frozenset(call.name for call in results.calls), variables, results.program.thread_level)
    questions, left = questions_of(loads, program, run_seconds(results), len(results.ranks))
    return Asking(tuple(loads), tuple(questions), tuple(left))


def concluded(
    results: WatchResults,
    kept: KeptOrder | None,
    sources: Sequence[PriceSource],
    variables: Mapping[str, str],
    watch: str = "WATCH",
    patterns: Patterns = NO_PATTERNS,
) -> WatchResults:
    """Findings and verdict of a watch.

    Args: results: without findings.  kept: None: no events were kept.  sources: the replay first.  variables: that
          were set for the program.  watch: its folder, for commands to copy.  patterns: seen in its calls.
    """
    asked = asking(results, kept, variables)
    if (share := unexplained_share(results.ranks)) > MOST_UNEXPLAINED:
        why = f"{100 * share:.0f} % of the ranks' time in MPI has no known cause, so prices are not used"
        saved = _with_patterns(_NOT_KEPT, patterns, results)
        unclaimed = changed(
            results,
            findings=patterns.findings,
            saved_s=saved.value_s,
            saved_interval=saved.interval,
            unpriced=(why,),
            not_measured=0,
        )
        return _with_verdict(unclaimed, watch)
    ranks, run_s = len(results.ranks), run_seconds(results)
    prices = prices_of(asked.questions, sources, ranks)
    costs, unclear = costs_of(prices.priced, run_s, ranks)
    every, together = _saved(costs, asked.loads, kept, run_s)
    library = named_in(results.program.library)
    name, version = (library[0].name, library[1]) if library else (None, None)
    findings = [
        finding_of(cost, saved, results.sites, run_s, name, version) for cost, saved in zip(costs, every, strict=True)
    ]
    measured = {site for finding in findings for site in finding.sites if finding.rule == DATATYPES.code}
    findings += [seen for seen in patterns.findings if seen.name != IN_BLOCKS or not measured.intersection(seen.sites)]
    together = _with_patterns(together, patterns, results)
    unclear_words = no_gain_words(unclear, results.program.ranks).values()
    reasons = [
        *map(Unpriced, asked.left),
        *prices.unpriced,
        *map(Unpriced, unclear_words),
    ]
    is_measured = {reason.text: reason.is_measured for reason in reasons}
    found = changed(
        results,
        findings=tuple(sorted(findings, key=_gain, reverse=True)),
        saved_s=together.value_s,
        saved_interval=together.interval,
        unpriced=tuple(is_measured),
        not_measured=sum(not measured for measured in is_measured.values()),
    )
    return _with_verdict(found, watch)


def _with_verdict(results: WatchResults, watch: str) -> WatchResults:
    return changed(results, verdict=verdict_of(results, watch))


def _with_patterns(saved: Saved, patterns: Patterns, results: WatchResults) -> Saved:
    """By cheaper messages and by calls that are not made: added up, to no more than what they can take."""
    if patterns.saved_s is None or patterns.interval is None:
        return saved
    most = max((rank.mpi_s for rank in results.ranks), default=0.0) + patterns.outside_s
    value, (low, high) = saved.value_s or 0.0, saved.interval or (0.0, 0.0)
    ends = (min(low + patterns.interval[0], most), min(high + patterns.interval[1], most))
    return Saved(min(value + patterns.saved_s, most), ends, None)


def _gain(finding: WatchFinding) -> float:
    return finding.seconds if finding.saved_s is None else finding.saved_s


def _saved(
    costs: Sequence[SlowPathCost], loads: Sequence[Load], kept: KeptOrder | None, run_s: float
) -> tuple[list[Saved], Saved]:
    """Of each slow path alone, and of all of them at once."""
    if kept is None or not costs or not kept.order.calls:
        return [_NOT_KEPT for _ in costs], _NOT_KEPT
    order, seen = _by_kind(kept, loads)
    changes = [_change([single]) for single in costs] + [_change(costs)]
    as_is = np.full(len(loads), np.nan)
    for cost in costs:
        for priced in cost.loads:
            number = priced.question.number
            as_is[number] = np.nanmax([as_is[number], priced.as_is_s])
    counts = np.array([load.count for load in loads], dtype=float)
    found = what_if(order, changes, KindCounts(counts, seen, as_is), run_s)
    return list(found.saved[:-1]), found.saved[-1]


def _change(costs: Sequence[SlowPathCost]) -> Scenario:
    """Two remedies of one message save no more than the message takes: their prices are added up to that."""
    prices: dict[int, tuple[float, float, float]] = {}
    for priced in (load for cost in costs for load in cost.loads):
        before = prices.get(priced.question.number, (0.0, 0.0, 0.0))
        most = priced.as_is_s
        own = (priced.per_message_s, *priced.interval)
        total = [min(a + b, most) for a, b in zip(before, own, strict=True)]
        prices[priced.question.number] = (total[0], total[1], total[2])
    return Scenario(prices)


def _by_kind(kept: KeptOrder, loads: Sequence[Load]) -> tuple[CallOrder, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """The order with kinds in place of messages, and how many messages of each kind it has."""
    number = {(_class(load.sender), _class(load.receiver)): i for i, load in enumerate(loads)}
    both, which = np.unique(kept.pairs, axis=0, return_inverse=True)
    kinds = np.array([number.get((int(s), int(r)), -1) for s, r in both.tolist()], dtype=np.int64)
    kind = kinds[which.reshape(-1)] if len(both) else np.zeros(0, dtype=np.int64)
    done = np.stack([kept.order.done[:, 0], kind[kept.order.done[:, 1]]], axis=1)
    seen = np.bincount(kind[kind >= 0], minlength=len(loads)).astype(float)
    return replace(kept.order, done=done[done[:, 1] >= 0]), seen


def _class(side: object) -> int:
    return getattr(side, "id", -1)
