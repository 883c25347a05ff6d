# SPDX-License-Identifier: Apache-2.0
"""A watch with prices: findings, what they would save together, what is fine, and the verdict. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from msgspec.structs import replace as changed

from slowpath.mpi.identify import named_in
from slowpath.slowpaths.registry import collectives_path
from slowpath.watch.collective_findings import collective_finding, too_little, worth
from slowpath.watch.collective_prices import CollectiveQuestion, collective_prices, collective_questions
from slowpath.watch.findings import (
    MOST_UNEXPLAINED,
    Cost,
    costs_of,
    finding_of,
    no_gain_words,
    unexplained_share,
)
from slowpath.watch.fine import fine_of, floors_in, with_floors
from slowpath.watch.graph import Ints, Order
from slowpath.watch.loads import Load, loads_of
from slowpath.watch.priced_rules import Program
from slowpath.watch.prices import PriceQuestion, Source, prices_of, questions_of
from slowpath.watch.results import WatchFinding, WatchResults
from slowpath.watch.verdict import verdict_of
from slowpath.watch.what_if import Change, Messages, Saved, what_if

_NOT_KEPT: Final = Saved(None, None, "the order of its calls was not kept")


@dataclass(frozen=True)
class Kept:
    """What was kept of the program's order.

    order     `done` names messages, and not yet kinds
    pairs     shape (messages, 2): class of the sender's side and of the receiver's, -1: not recorded
    """

    order: Order
    pairs: Ints


@dataclass(frozen=True)
class Asking:
    """What is to be priced in a program. loads: kinds of its messages.  left: what no cell can price.

    collectives: kinds of these that take 1 % of the run or more.
    """

    loads: tuple[Load, ...]
    questions: tuple[PriceQuestion, ...]
    left: tuple[str, ...]
    collectives: tuple[CollectiveQuestion, ...] = ()


def asking(results: WatchResults, kept: Kept | None, variables: Mapping[str, str]) -> Asking:
    """What the replay has to measure, the most costly first."""
    pairs = None if kept is None else kept.pairs[(kept.pairs >= 0).all(axis=1)]
    loads = loads_of(results.classes, results.calls, pairs)
    program = Program(frozenset(one.name for one in results.calls), variables, results.program.thread_level)
    questions, left = questions_of(loads, program, _run_s(results), len(results.ranks))
    collectives, none = collective_questions(results.collectives or (), _run_s(results))
    return Asking(tuple(loads), tuple(questions), (*left, *none), tuple(collectives))


def concluded(
    results: WatchResults,
    kept: Kept | None,
    sources: Sequence[Source],
    variables: Mapping[str, str],
    watch: str = "WATCH",
) -> WatchResults:
    """Findings and verdict of a watch.

    Args: results: without findings.  kept: None: no events were kept.  sources: the replay first.  variables: that
          were set for the program.  watch: its folder, for commands to copy.
    """
    asked = asking(results, kept, variables)
    if (share := unexplained_share(results.ranks)) > MOST_UNEXPLAINED:
        why = f"{100 * share:.0f} % of the ranks' time in MPI has no explanation: nothing is claimed from prices"
        return _with_verdict(changed(results, findings=(), saved_s=None, saved_interval=None, unpriced=(why,)), watch)
    ranks, run_s = len(results.ranks), _run_s(results)
    prices = prices_of(asked.questions, sources, ranks)
    costs, unclear = costs_of(prices.priced, run_s, ranks)
    every, together = _saved(costs, asked.loads, kept, run_s)
    library = named_in(results.program.library)
    name, version = (library[0].name, library[1]) if library else (None, None)
    findings = [
        finding_of(cost, one, results.sites, run_s, name, version) for cost, one in zip(costs, every, strict=True)
    ]
    collectives, unpriced = collective_prices(asked.collectives, sources)
    if (path := collectives_path()) is not None:
        worth_it = worth(collectives, run_s)
        findings += [collective_finding(path, one, results.sites, results.classes, run_s) for one in worth_it]
        unpriced += too_little(path, collectives, run_s)
    known = {one.question.of.id: one.class_result for one in collectives}
    found = changed(
        results,
        findings=tuple(sorted(findings, key=_gain, reverse=True)),
        saved_s=together.value_s,
        saved_interval=together.interval,
        unpriced=tuple(dict.fromkeys([*asked.left, *prices.unpriced, *no_gain_words(unclear).values(), *unpriced])),
        collectives=tuple(known.get(one.id, one) for one in results.collectives or ()),
    )
    floors = floors_in([one.results for one in sources])
    found = with_floors(found, floors)
    return _with_verdict(changed(found, fine=fine_of(found, costs)), watch)


def _with_verdict(results: WatchResults, watch: str) -> WatchResults:
    return changed(results, verdict=verdict_of(results, watch))


def _run_s(results: WatchResults) -> float:
    """From the first MPI_Init to the last MPI_Finalize."""
    return results.program.span_s if results.program.span_s is not None else results.program.wall_s


def _gain(finding: WatchFinding) -> float:
    return finding.seconds if finding.saved_s is None else finding.saved_s


def _saved(costs: Sequence[Cost], loads: Sequence[Load], kept: Kept | None, run_s: float) -> tuple[list[Saved], Saved]:
    """Of each slow path alone, and of all of them at once."""
    if kept is None or not costs or not kept.order.calls:
        return [_NOT_KEPT for _ in costs], _NOT_KEPT
    order, seen = _by_kind(kept, loads)
    changes = [_change([one]) for one in costs] + [_change(costs)]
    as_is = np.full(len(loads), np.nan)
    for cost in costs:
        for one in cost.loads:
            number = one.question.number
            as_is[number] = np.nan if one.as_is_s is None else np.nanmax([as_is[number], one.as_is_s])
    counts = np.array([one.count for one in loads], dtype=float)
    found = what_if(order, changes, Messages(counts, seen, as_is), run_s)
    return list(found.saved[:-1]), found.saved[-1]


def _change(costs: Sequence[Cost]) -> Change:
    """Two remedies of one message save no more than the message takes: their prices are added up to that."""
    prices: dict[int, tuple[float, float, float]] = {}
    for one in (load for cost in costs for load in cost.loads):
        before = prices.get(one.question.number, (0.0, 0.0, 0.0))
        most = np.inf if one.as_is_s is None else one.as_is_s
        own = (one.per_message_s, *one.interval)
        total = [min(a + b, most) for a, b in zip(before, own, strict=True)]
        prices[one.question.number] = (total[0], total[1], total[2])
    return Change(prices)


def _by_kind(kept: Kept, loads: Sequence[Load]) -> tuple[Order, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """The order with kinds in place of messages, and how many messages of each kind it has."""
    number = {(_class(one.sender), _class(one.receiver)): i for i, one in enumerate(loads)}
    both, which = np.unique(kept.pairs, axis=0, return_inverse=True)
    kinds = np.array([number.get((int(s), int(r)), -1) for s, r in both.tolist()], dtype=np.int64)
    kind = kinds[which.reshape(-1)] if len(both) else np.zeros(0, dtype=np.int64)
    done = np.stack([kept.order.done[:, 0], kind[kept.order.done[:, 1]]], axis=1)
    seen = np.bincount(kind[kind >= 0], minlength=len(loads)).astype(float)
    return replace(kept.order, done=done[done[:, 1] >= 0]), seen


def _class(side: object) -> int:
    return getattr(side, "id", -1)
