# SPDX-License-Identifier: Apache-2.0
"""A quick look at many remedies, before the promising ones are proven by fresh runs.

The best of many looks better than it is, so the runs of a screening count for no proof. A remedy that makes the program
clearly slower is stopped in its first run, so that it can't spend what the others need.
"""

from __future__ import annotations

import math
import os
import random
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from slowpath.core.errors import EnvironmentFailure, Interrupted
from slowpath.findings.remedy import ProgramRemedy
from slowpath.watch.prove.remedies import Candidate, screened, suggested_by
from slowpath.watch.prove.rerun import Rerun, Started, rerun
from slowpath.watch.prove.session import Budget
from slowpath.watch.results import WatchFinding, WatchResults

ROUNDS: Final = 2
FOLDER: Final = "screen"
CLEARLY_SLOWER: Final = 2.0  # times as it is: a run is stopped there
LEAST_ALLOWANCE_S: Final = 1.0  # beyond the time as it is: starts of short programs vary
NOT_AGAIN: Final = 1.25  # times as it is, from which a remedy gets no second run
MOST_PROVEN: Final = 3
CLEAR_WINNER: Final = 3.0  # times the next one's gain: then the whole budget is for it


@dataclass(frozen=True)
class ScreenedRemedy:
    """ratio: of wall times, the remedy's over as it is, geometric mean of rounds; None: it failed, and why."""

    candidate: Candidate
    ratio: float | None
    reason: str = ""


def is_crowded(results: WatchResults | None, processors: int | None = None) -> bool:
    """Whether a host of the program had more ranks than this process may use processors; None counts them here."""
    if results is None or not results.ranks:
        return False
    most = max(Counter(rank.host for rank in results.ranks).values())
    return most > (len(os.sched_getaffinity(0)) if processors is None else processors)


def in_order(findings: Sequence[WatchFinding], crowded: bool) -> list[ProgramRemedy]:
    """All that --screen tries: for ranks that share processors first, then what the findings suggest, then the rest."""
    every = screened()
    suggested = [remedy.key for remedy in suggested_by(findings)]
    places = {key: place for place, key in enumerate(suggested)}

    def place(remedy: ProgramRemedy) -> tuple[bool, int]:
        return not (crowded and remedy.when_crowded), places.get(remedy.key, len(places))

    return sorted(every, key=place)


@dataclass
class _Seen:
    """What the rounds showed. logs: of ratios to the run as it is of the same round, by candidate."""

    usual_s: float | None = None
    logs: dict[int, list[float]] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)

    def worth_another(self, arm: int) -> bool:
        return arm not in self.failed and (arm not in self.logs or self.logs[arm][0] < math.log(NOT_AGAIN))


def screen(
    candidates: Sequence[Candidate],
    command: Sequence[str],
    base: Mapping[str, str],
    started: Started,
    watch: Path,
    budget: Budget,
    seed: int,
    run: Callable[..., Rerun] = rerun,
) -> list[ScreenedRemedy]:
    """Each remedy once a round next to a run as it is; the fastest first, those that failed last.

    The first round keeps the order of `candidates`, so that the most promising are seen if the time is short; the
    second is in random order. A run takes at most CLEARLY_SLOWER times as long as it is. Half of the budget is left to
    the proof: what does not fit into the other half is not run, and said.
    Raises: Interrupted.  EnvironmentFailure: the program fails as it is.
    """
    seen = _Seen()
    for number in range(ROUNDS):
        if number and budget.left_s - (spent_s := budget.total_s - budget.left_s) < spent_s:
            break  # the second round would take as long as the first, and the proof needs as long again
        arms: list[int | None] = [None, *(i for i in range(len(candidates)) if seen.worth_another(i))]
        if number:
            arms = random.Random(f"{seed} {number}").sample(arms, len(arms))
        _round(number, arms, candidates, command, base, started, watch, budget, seen, run)
    rows = [
        ScreenedRemedy(candidate, math.exp(statistics.fmean(seen.logs[i])))
        if i in seen.logs and i not in seen.failed
        else ScreenedRemedy(candidate, None, seen.failed.get(i, "not run: the time was over"))
        for i, candidate in enumerate(candidates)
    ]
    return sorted(rows, key=lambda row: math.inf if row.ratio is None else row.ratio)


def _round(
    number: int,
    arms: Sequence[int | None],
    candidates: Sequence[Candidate],
    command: Sequence[str],
    base: Mapping[str, str],
    started: Started,
    watch: Path,
    budget: Budget,
    seen: _Seen,
    run: Callable[..., Rerun],
) -> None:
    """One run of each arm; None: as it is."""
    usual: float | None = None
    found: dict[int, float] = {}
    for arm in arms:
        if arm is not None and budget.left_s < budget.total_s / 2:
            continue
        one = None if arm is None else candidates[arm]
        argv, environ = (command, dict(base)) if one is None else (one.argv, one.environ(base))
        allowed = started if one is None else _allowed(started, seen.usual_s)
        done = run(argv, environ, allowed, watch / FOLDER / f"{number}-{'as-it-is' if one is None else one.key}")
        if done.interrupted:
            raise Interrupted("stopped while screening; nothing is proven")
        if arm is None and done.failed is not None:
            raise EnvironmentFailure(f"the unchanged, unwatched program fails: {done.failed}; nothing can be screened")
        if arm is None:
            usual = seen.usual_s = done.wall_s
        elif done.failed is None:
            found[arm] = done.wall_s
        else:
            seen.failed[arm] = _why(done, allowed, started)
    for arm, wall_s in found.items():
        if usual is not None:
            seen.logs.setdefault(arm, []).append(math.log(wall_s / usual))


def _allowed(started: Started, usual_s: float | None) -> Started:
    if usual_s is None:
        return started
    most_s = max(CLEARLY_SLOWER * usual_s, usual_s + LEAST_ALLOWANCE_S)
    return replace(started, limit_s=min(started.limit_s, most_s))


def _why(done: Rerun, allowed: Started, started: Started) -> str:
    if allowed.limit_s < started.limit_s and done.exit_code is None and done.wall_s >= allowed.limit_s:
        return (
            f"clearly slower: stopped after {allowed.limit_s:.3g} s; unchanged, the program takes less than half of it"
        )
    return done.failed or ""


def worth_proving(rows: Sequence[ScreenedRemedy]) -> list[ScreenedRemedy]:
    """Those that were faster than as it is, the fastest first; the fastest alone where none was."""
    ran = [row for row in rows if row.ratio is not None]
    return [row for row in ran if row.ratio is not None and row.ratio < 1.0] or ran[:1]


def share_s(left_s: float, gains: Sequence[float], slots: int) -> float:
    """Of the budget that is left, for the first of these; gains: of each, as 1 - ratio.  slots: proofs to come."""
    if len(gains) < 2 or slots < 2 or gains[0] > CLEAR_WINNER * max(gains[1], 0.0):
        return left_s
    return left_s / min(slots, len(gains))
