# SPDX-License-Identifier: Apache-2.0
"""From the folder of a watch to the measured skeleton in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from slowpath.findings.library_remedies import ways_of
from slowpath.run.engine.meter import Tell
from slowpath.run.progress import duration
from slowpath.slowpaths.registry import SLOW_PATHS
from slowpath.watch.analysis import AttributedWatch, watched
from slowpath.watch.folder import WatchInfo, read_watch
from slowpath.watch.prove.conduct import findings_of, mpi_of, results_of
from slowpath.watch.prove.remedies import ready, suggested_by
from slowpath.watch.prove.screening import in_order, is_crowded
from slowpath.watch.skeleton.changes import Changed, changes_of
from slowpath.watch.skeleton.derive import Skeleton, skeleton_of
from slowpath.watch.skeleton.launch import PLAYER, player_start
from slowpath.watch.skeleton.measure import (
    MOST_PILOT_BLOCKS,
    PILOT_BLOCKS,
    ROUNDS,
    SkeletonQuestion,
    SkeletonSession,
    refused_results,
)
from slowpath.watch.skeleton.script import Refused, Script
from slowpath.watch.skeleton_results import SkeletonResults, write_skeleton

MOST_SETTINGS: Final = 3


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


def settings_of_library(
    watch: Path, script: Script, info: WatchInfo, environ: Mapping[str, str]
) -> dict[str, Changed | Refused]:
    """Variables of the MPI library that may help, as launches of the unchanged script.

    Those that findings suggest, and, where ranks share processors, those that are for that.
    """
    results = results_of(watch)
    findings, crowded = findings_of(results), is_crowded(results)
    suggested = suggested_by(findings)
    wanted = [
        remedy
        for remedy in in_order(findings, crowded)
        if ways_of(remedy) and remedy.preload is None and remedy.bind is None
        if remedy in suggested or (crowded and remedy.when_crowded)
    ]
    found = ready(wanted, (PLAYER,), mpi_of(info, results, environ), environ, ()).found
    return {
        f"set {one.key}": Changed(script, one.text.rstrip("."), None, one.rules, one.variables)
        for one in found[:MOST_SETTINGS]
    }


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
    info = read_watch(watch)
    start = player_start(info, program, environ, mpi, tell)
    changes = {**plan.changes, **settings_of_library(watch, plan.skeleton.script, info, environ)}
    crowded = is_crowded(plan.found.results)
    asked = SkeletonQuestion(watch, plan.skeleton, changes, start, budget_s, rounds or ROUNDS, crowded)
    return SkeletonSession(asked, tell).go()
