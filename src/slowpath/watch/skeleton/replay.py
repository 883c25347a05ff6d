# SPDX-License-Identifier: Apache-2.0
"""From the folder of a watch to the measured skeleton in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from slowpath.run.engine.meter import Tell
from slowpath.run.progress import duration
from slowpath.slowpaths.registry import SLOW_PATHS
from slowpath.watch.analysis import AttributedWatch, watched
from slowpath.watch.folder import read_watch
from slowpath.watch.skeleton.changes import Changed, changes_of
from slowpath.watch.skeleton.derive import Skeleton, skeleton_of
from slowpath.watch.skeleton.launch import player_start
from slowpath.watch.skeleton.measure import (
    MOST_PILOT_BLOCKS,
    PILOT_BLOCKS,
    ROUNDS,
    SkeletonQuestion,
    SkeletonSession,
    refused_results,
)
from slowpath.watch.skeleton.script import Refused
from slowpath.watch.skeleton_results import SkeletonResults, write_skeleton


@dataclass(frozen=True)
class SkeletonPlan:
    """What would be measured. found: the watch.  skeleton, changes: as derived; no changes where it is refused."""

    found: AttributedWatch
    skeleton: Skeleton | Refused
    changes: dict[str, Changed | Refused]

    def lines(self) -> list[str]:
        """For --dry-run."""
        if isinstance(self.skeleton, Refused):
            return [f"the program can't be played: {self.skeleton.reason}"]
        recorded, script = self.skeleton.recorded, self.skeleton.script
        usable = sum(isinstance(one, Changed) for one in self.changes.values())
        pilots, blocks = f"{2 * PILOT_BLOCKS} to {2 * MOST_PILOT_BLOCKS}", f"{ROUNDS} times {2 + usable}"
        launches = f"{pilots} launches to judge it, then {blocks}" if usable else f"{pilots} launches to judge it"
        lines = [f"{script.operations:,} calls on {len(script.ranks)} ranks, {duration(recorded.span_s)}; {launches}"]
        for name, one in self.changes.items():
            lines.append(f"{name}: {f'not done: {one.reason}' if isinstance(one, Refused) else one.text}")
        return lines + [f"note: {statement}" for statement in self.skeleton.statements]


def planned(watch: Path) -> SkeletonPlan:
    """Read a watch and derive its script.  Raises: RecordError: it is no watch."""
    found = watched(watch)
    skeleton = skeleton_of(found.attributed)
    changes = {} if isinstance(skeleton, Refused) else changes_of(skeleton.script, rules_by_change())
    return SkeletonPlan(found, skeleton, changes)


def rules_by_change() -> dict[str, tuple[str, ...]]:
    """Of each change the codes of the slow paths that it takes away."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in SLOW_PATHS:
        if path.skeleton_change is not None:
            found[path.skeleton_change].append(path.code)
    return {name: tuple(codes) for name, codes in found.items()}


def measured_skeleton(
    watch: Path,
    plan: SkeletonPlan,
    environ: Mapping[str, str],
    mpi: str | None,
    rounds: int | None,
    budget_s: float,
    tell: Tell,
) -> SkeletonResults:
    """Launch it and its changes; the result is kept in the watch.

    Args:   mpi: as --mpi names it.  rounds: blocks with changes; None: ROUNDS.
    Raises: UsageError, EnvironmentFailure: as `player_start`; the skeleton fails as it is.  Interrupted.
    """
    program = plan.found.results.program
    if isinstance(plan.skeleton, Refused):
        refused = refused_results(plan.skeleton.reason, program.ranks)
        write_skeleton(watch, refused)
        return refused
    for line in plan.lines():
        tell(line)
    start = player_start(read_watch(watch), program, environ, mpi, tell)
    asked = SkeletonQuestion(watch, plan.skeleton, plan.changes, start, budget_s, rounds or ROUNDS)
    return SkeletonSession(asked, tell).go()
