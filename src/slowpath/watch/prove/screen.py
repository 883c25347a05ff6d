# SPDX-License-Identifier: Apache-2.0
"""A quick look at many remedies, to choose the one that is worth a proof; its runs count for no proof.

The best of many looks better than it is, so the winner is proven by fresh runs.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowpath.core.errors import Interrupted
from slowpath.watch.prove.candidate import Candidate
from slowpath.watch.prove.rerun import Rerun, Started, rerun
from slowpath.watch.prove.session import Budget

ROUNDS = 2
FOLDER = "screen"


@dataclass(frozen=True)
class Screened:
    """ratio: of wall times, the remedy's over as it is, geometric mean of rounds; None: it failed, and why."""

    candidate: Candidate
    ratio: float | None
    reason: str = ""


def screen(
    candidates: Sequence[Candidate],
    command: Sequence[str],
    base: Mapping[str, str],
    started: Started,
    watch: Path,
    budget: Budget,
    seed: int,
    run: Callable[..., Rerun] = rerun,
) -> list[Screened]:
    """Each remedy once a round, in random order with runs as it is; the fastest first, those that failed last.

    Half of the budget is left to the proof: what does not fit into the other half is not run, and said.
    Raises: Interrupted.
    """
    logs: dict[int, list[float]] = {}
    failed: dict[int, str] = {}
    for number in range(ROUNDS):
        if number and budget.left_s - (spent_s := budget.total_s - budget.left_s) < spent_s:
            break  # the second round would take as long as the first, and the proof needs as long again
        arms = [None, *(i for i in range(len(candidates)) if i not in failed)]
        usual: float | None = None
        found: dict[int, float] = {}
        for arm in random.Random(f"{seed} {number}").sample(arms, len(arms)):
            if arm is not None and budget.left_s < budget.total_s / 2:
                continue
            argv, environ = (
                (command, dict(base)) if arm is None else (candidates[arm].argv, candidates[arm].environ(base))
            )
            files = watch / FOLDER / f"{number}-{'as-it-is' if arm is None else candidates[arm].key}"
            done = run(argv, environ, started, files)
            if done.interrupted:
                raise Interrupted("stopped while screening; nothing is proven")
            if done.failed is not None and arm is not None:
                failed[arm] = done.failed
            elif done.failed is None and arm is None:
                usual = done.wall_s
            elif done.failed is None and arm is not None:
                found[arm] = done.wall_s
        for arm, wall_s in found.items():
            if usual is not None:
                logs.setdefault(arm, []).append(math.log(wall_s / usual))
    rows = [
        Screened(one, math.exp(statistics.fmean(logs[i])))
        if i in logs and i not in failed
        else Screened(one, None, failed.get(i, "not run: the time was over"))
        for i, one in enumerate(candidates)
    ]
    return sorted(rows, key=lambda row: math.inf if row.ratio is None else row.ratio)
