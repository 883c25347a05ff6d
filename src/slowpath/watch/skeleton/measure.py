# SPDX-License-Identifier: Apache-2.0
"""Interleaved launches of a skeleton as it is, as a control and changed; and what they show.

What they show first is whether the skeleton takes what its program took, in total and in each kind of call.
"""

from __future__ import annotations

import math
import random
import secrets
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from slowpath.core.decoding import decoded
from slowpath.core.errors import EnvironmentFailure, Interrupted, RecordError
from slowpath.core.files import read_bytes
from slowpath.core.version import __version__
from slowpath.stats.anytime import interval
from slowpath.watch.proof import PROOF_SCHEMA, Proof, ProofEffect, ProofRun, ProofWitness, Side
from slowpath.watch.prove.judge import concluded, level_of
from slowpath.watch.prove.rerun import Compared, Rerun, Started, limit_of, rerun
from slowpath.watch.prove.session import Budget
from slowpath.watch.skeleton.changes import Changed
from slowpath.watch.skeleton.derive import Recorded, Skeleton
from slowpath.watch.skeleton.launch import PlayerStart
from slowpath.watch.skeleton.script import Refused, Script, text_of
from slowpath.watch.skeleton_results import (
    SKELETON_FOLDER,
    SKELETON_SCHEMA,
    Fidelity,
    KindTime,
    SkeletonChange,
    SkeletonResults,
    SkeletonRun,
    write_skeleton,
)

MOST_OFF_TOTAL: Final = 0.10
MOST_OFF_KIND: Final = 0.15
LEAST_SHARE: Final = 0.02  # of the run, from which a kind of call is judged
LEVEL: Final = 0.95


class PlayedKind(msgspec.Struct, frozen=True):
    """Operations of one kind on one rank, and nanoseconds in them."""

    calls: int
    length_ns: int


class PlayedRank(msgspec.Struct, frozen=True):
    """One rank of a launch, as slowpath-skeleton writes it."""

    total_ns: int
    kinds: dict[str, PlayedKind]


class Played(msgspec.Struct, frozen=True):
    """One launch, as slowpath-skeleton writes it."""

    ranks: tuple[PlayedRank, ...]

    @property
    def total_s(self) -> float:
        """Of the slowest rank."""
        return max((rank.total_ns for rank in self.ranks), default=0) * 1e-9

    def kind_s(self, kind: str) -> float:
        """Seconds a rank in operations of one kind."""
        every = [rank.kinds[kind].length_ns for rank in self.ranks if kind in rank.kinds]
        return sum(every) * 1e-9 / max(len(self.ranks), 1)


def fidelity_of(recorded: Recorded, launches: Sequence[Played], is_crowded: bool = False) -> Fidelity:
    """From launches of the script as it is, at least one.

    Args: is_crowded: ranks share processors. The scheduler then makes one launch several times as long as another, and
          the one run that was watched says little of each kind of call. Within 10 % in total, with an interval that
          holds it, the script may be launched under settings, which leave it as it is.
    """
    logs = [math.log(one.total_s / recorded.span_s) for one in launches]
    ends = interval(logs, LEVEL)
    ratio = ProofEffect(
        ratio=math.exp(statistics.fmean(logs)),
        interval=None if ends is None else (math.exp(ends.low), math.exp(ends.high)),
        blocks=len(launches),
    )
    kinds = sorted(_kinds(recorded, launches), key=lambda row: -row.program_s)
    reason = _why_not(ratio.ratio, kinds)
    faithful = f"within {MOST_OFF_TOTAL:.0%} in total and {MOST_OFF_KIND:.0%} in each kind of call"
    holds = ratio.interval is not None and ratio.interval[0] <= 1 <= ratio.interval[1]
    near = abs(ratio.ratio - 1) <= MOST_OFF_TOTAL
    is_open = is_crowded and near and holds and reason is not None
    if is_open:
        low, high = (choose(one.total_s for one in launches) for choose in (min, max))
        reason = f"ranks share processors, and launches take {low:.3g} to {high:.3g} s, so one run can't judge it"
    return Fidelity(
        program_s=recorded.span_s,
        skeleton_s=statistics.fmean(one.total_s for one in launches),
        ratio=ratio,
        kinds=tuple(kinds),
        is_faithful=reason is None,
        reason=reason or faithful,
        is_open=is_open,
    )


def _kinds(recorded: Recorded, launches: Sequence[Played]) -> list[KindTime]:
    ranks = max(len(recorded.kinds), 1)
    found = []
    for kind in sorted({kind for rank in recorded.kinds for kind in rank}):
        rows = [rank[kind] for rank in recorded.kinds if kind in rank]
        program_s = sum(seconds for _, seconds in rows) / ranks
        skeleton_s = statistics.fmean(one.kind_s(kind) for one in launches)
        judged = max(program_s, skeleton_s) >= LEAST_SHARE * recorded.span_s
        near = program_s > 0 and abs(skeleton_s / program_s - 1) <= MOST_OFF_KIND
        found.append(
            KindTime(
                kind=kind,
                calls=sum(calls for calls, _ in rows),
                program_s=program_s,
                skeleton_s=skeleton_s,
                is_judged=judged,
                is_faithful=near or not judged,
            )
        )
    return found


def _why_not(ratio: float, kinds: Sequence[KindTime]) -> str | None:
    off = []
    if abs(ratio - 1) > MOST_OFF_TOTAL:
        off.append(f"the total is {abs(ratio - 1):.0%} {'longer' if ratio > 1 else 'shorter'}, more than 10 %")
    for row in kinds:
        if not row.is_faithful:
            by = f"{row.skeleton_s / row.program_s:.2f} of the program's time" if row.program_s else "new time"
            off.append(f"{row.kind} takes {by}")
    return "; ".join(off[:4]) if off else None


AS_IT_IS, CONTROL = "as it is", "control"
PILOT_BLOCKS, MOST_PILOT_BLOCKS = 2, 4
ROUNDS: Final = 8
MINIMUM_EFFECT: Final = 0.01
NO_TIME: Final = "the budget allowed no launch of it; raise --budget"
NOT_JUDGED: Final = "ranks share processors, so only settings are measured"
_SAFETY = 1.2  # of the time of a block, before one more is begun


@dataclass(frozen=True)
class SkeletonQuestion:
    """What is to be measured. changes: name -> changed script, or why it is refused.  rounds: blocks with changes.
    is_crowded: the program's ranks share processors.
    """

    watch: Path
    skeleton: Skeleton
    changes: dict[str, Changed | Refused]
    start: PlayerStart
    budget_s: float
    rounds: int = ROUNDS
    is_crowded: bool = False


def refused_results(reason: str, ranks: int) -> SkeletonResults:
    """Of a program that can't be played."""
    return SkeletonResults(
        schema=SKELETON_SCHEMA, slowpath=__version__, ranks=ranks, operations=0, statements=(), refused=reason,
        fidelity=None, changes=(), runs=(),
    )  # fmt: skip


@dataclass
class SkeletonSession:
    """A measurement under way. run: starts one launch, replaced in tests."""

    asked: SkeletonQuestion
    tell: Callable[[str], None]
    run: Callable[..., Rerun] = rerun
    runs: list[SkeletonRun] = field(default_factory=list)
    unchanged: list[Played] = field(default_factory=list)
    dropped: dict[str, str] = field(default_factory=dict)
    settings_only: bool = False  # no other change is launched
    seed: int = field(default_factory=lambda: secrets.randbelow(2**31))

    def go(self) -> SkeletonResults:
        """Pilot, judgement of fidelity, and blocks with all changes while the budget lasts.

        Raises: Interrupted: the user asked to stop; what was measured is kept.  EnvironmentFailure: the skeleton as it
                is fails.
        """
        budget = Budget(self.asked.budget_s)
        self._write(AS_IT_IS, self.asked.skeleton.script)
        self._write(CONTROL, self.asked.skeleton.script)
        usable = {name: one for name, one in self.asked.changes.items() if isinstance(one, Changed)}
        for name, one in usable.items():
            self._write(name, one.script)
        for block in range(MOST_PILOT_BLOCKS):
            self._block(block, ())
            if block + 1 >= PILOT_BLOCKS and (self._fidelity().is_faithful or budget.left_s <= 0):
                break
        fidelity = self._fidelity()
        if not fidelity.is_faithful and not fidelity.is_open:
            return self._concluded()
        if fidelity.is_open:
            usable = {name: one for name, one in usable.items() if one.variables}
            self.settings_only = True
        for block in range(MOST_PILOT_BLOCKS, MOST_PILOT_BLOCKS + self.asked.rounds if usable else 0):
            arms = [name for name in usable if name not in self.dropped]
            each_s = sum(played.total_s for played in self.unchanged) / len(self.unchanged)
            if budget.left_s < _SAFETY * each_s * (2 + len(arms)) or not arms:
                break
            self._block(block, arms)
        return self._concluded()

    def _fidelity(self) -> Fidelity:
        return fidelity_of(self.asked.skeleton.recorded, self.unchanged, self.asked.is_crowded)

    def _block(self, block: int, changes: Sequence[str]) -> None:
        arms = [AS_IT_IS, CONTROL, *changes]
        for arm in random.Random(f"{self.seed} {block}").sample(arms, len(arms)):
            self._one(block, arm)

    def _one(self, block: int, arm: str) -> None:
        number = len(self.runs) + 1
        files = self._folder / "runs" / f"{number:04d}"
        out = files / "times.json"
        limit_s = limit_of(self.asked.skeleton.recorded.span_s)
        started = Started(self.asked.start.folder, None, Compared(), limit_s)
        argv = self.asked.start.argv(self._scripts(arm), out)
        done = self.run(argv, self._environ(arm), started, files)
        if done.interrupted:
            self._concluded()
            raise Interrupted(f"stopped; {len(self.runs)} launches are kept in {self._folder}")
        failed, played = done.failed, None
        if failed is None:
            try:
                played = decoded(read_bytes(out, within=files), Played, out, "measure again")
            except RecordError as error:
                failed = str(error)
        total_s = played.total_s if played is not None else None
        self.runs.append(SkeletonRun(number=number, block=block, arm=arm, total_s=total_s, failed=failed))
        if failed is not None and arm in (AS_IT_IS, CONTROL):
            raise EnvironmentFailure(f"the skeleton fails as it is: {failed} ({files})")
        if failed is not None:
            self.dropped[arm] = failed
            self.tell(f"{arm}: a launch failed, so it is not measured again: {failed}")
        elif arm in (AS_IT_IS, CONTROL) and played is not None:
            self.unchanged.append(played)

    def _environ(self, arm: str) -> dict[str, str]:
        change = self.asked.changes.get(arm)
        return {**self.asked.start.environ, **(change.variables if isinstance(change, Changed) else {})}

    @property
    def _folder(self) -> Path:
        return self.asked.watch / SKELETON_FOLDER

    def _scripts(self, arm: str) -> Path:
        return self._folder / "scripts" / arm.replace(" ", "-")

    def _write(self, arm: str, script: Script) -> None:
        folder = self._scripts(arm)
        folder.mkdir(parents=True, exist_ok=True)
        for rank in range(len(script.ranks)):
            (folder / f"rank-{rank}.txt").write_text(text_of(script, rank), encoding="ascii")

    def _concluded(self) -> SkeletonResults:
        script, statements = self.asked.skeleton.script, self.asked.skeleton.statements
        note = self.asked.start.note
        found = SkeletonResults(
            schema=SKELETON_SCHEMA,
            slowpath=__version__,
            ranks=len(script.ranks),
            operations=script.operations,
            statements=(*statements, *([note] if note else [])),
            refused=None,
            fidelity=self._fidelity() if self.unchanged else None,
            changes=(),
            runs=tuple(self.runs),
        )
        if found.is_priced:
            found = with_changes(found, self._judged_changes(), self.dropped, self.seed)
        write_skeleton(self.asked.watch, found)
        return found

    def _judged_changes(self) -> dict[str, Changed | Refused]:
        if not self.settings_only:
            return self.asked.changes
        return {
            name: one if isinstance(one, Refused) or one.variables else Refused(NOT_JUDGED)
            for name, one in self.asked.changes.items()
        }


def with_changes(
    found: SkeletonResults, changes: dict[str, Changed | Refused], dropped: dict[str, str], seed: int
) -> SkeletonResults:
    """What the launches show of each change; those that save most first."""
    level = level_of(sum(isinstance(one, Changed) for one in changes.values()))
    judged = [
        _refused(name, one) if isinstance(one, Refused) else _judged(name, one, found.runs, level, seed)
        for name, one in changes.items()
    ]
    known = [_failed(one, dropped[one.name]) if one.name in dropped else one for one in judged]
    known.sort(key=lambda one: (one.verdict is None, -(one.saved_s or 0.0)))
    return msgspec.structs.replace(found, changes=tuple(known))


def _failed(change: SkeletonChange, reason: str) -> SkeletonChange:
    """A failing run is not a fast one."""
    return msgspec.structs.replace(change, verdict="failed", reason=reason, saved_s=None, saved_interval=None)


def _refused(name: str, one: Refused) -> SkeletonChange:
    return SkeletonChange(
        name=name, text=name, rules=(), check=None, verdict=None, reason=one.reason, effect=None, control=None,
        saved_s=None, saved_interval=None,
    )  # fmt: skip


def _judged(name: str, one: Changed, runs: Sequence[SkeletonRun], level: float, seed: int) -> SkeletonChange:
    proof = concluded(_as_proof(name, one, runs, level, seed))
    return SkeletonChange(
        name=name,
        text=one.text,
        rules=one.rules,
        check=one.check,
        verdict=proof.verdict,
        reason=proof.reason if any(run.arm == name for run in runs) else NO_TIME,
        effect=proof.effect,
        control=proof.control,
        saved_s=proof.saved_s,
        saved_interval=proof.saved_interval,
    )


def _as_proof(name: str, one: Changed, runs: Sequence[SkeletonRun], level: float, seed: int) -> Proof:
    """The launches of one change as the judge of proofs takes reruns: its arms are as it is, control and remedy."""
    sides: dict[str, Side] = {AS_IT_IS: "as it is", CONTROL: "control", name: "remedy"}
    rows = tuple(
        ProofRun(
            number=run.number,
            phase="pilot" if run.block < MOST_PILOT_BLOCKS else "proof",
            block=run.block,
            side=sides[run.arm],
            wall_s=run.total_s or 0.0,
            exit_code=None if run.failed else 0,
            failed=run.failed,
            output_sha256=None,
            minor_faults=None,
        )
        for run in runs
        if run.arm in sides
    )
    return Proof(
        schema=PROOF_SCHEMA, slowpath=__version__, remedy=name, text=one.text, rules=one.rules, command=(),
        remedied=(), variables={}, unset=(), compared=(), ignored=(), started="", seed=seed, level=level,
        minimum_effect=MINIMUM_EFFECT, smallest_decidable=None, run_s=None, spent_s=0.0, effect=None, control=None,
        witness=ProofWitness(state="taken", text="the script itself"), verdict="running", saved_s=None,
        saved_interval=None, reason="no run yet", runs=rows,
    )  # fmt: skip
