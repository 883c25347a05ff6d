# SPDX-License-Identifier: Apache-2.0
"""One proof from its first rerun to its verdict; what was measured is kept after each run, and can be continued."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from slowpath.core.errors import EnvironmentFailure, Interrupted
from slowpath.core.version import __version__
from slowpath.run.progress import duration
from slowpath.watch.proof import (
    OPEN,
    PROOF_SCHEMA,
    Phase,
    Proof,
    ProofRun,
    ProofWitness,
    Side,
    read_proof,
    write_proof,
)
from slowpath.watch.prove.judge import (
    MOST_BLOCKS,
    PILOT_BLOCKS,
    SIDES,
    by_faults,
    concluded,
    control_pairs,
    order,
    placebo,
    smallest_decidable,
    spread,
    whole_blocks,
)
from slowpath.watch.prove.judge import blocks_within as _blocks_within
from slowpath.watch.prove.remedies import Candidate
from slowpath.watch.prove.rerun import Rerun, Started, rerun
from slowpath.watch.prove.witness import of_collectives_report, of_pad_report

RUNS = "runs"
PAD_REPORT = "pad-report.txt"
COLL_REPORT = "collectives-report.json"
# A proven remedy is measured on until half its interval is this share of what it saves, or for so many blocks.
PRECISE, PRECISE_BLOCKS = 0.2, 10
_SAFETY = 1.1  # of the time of a block, before one more is begun


@dataclass
class Budget:
    """Wall time of reruns, shared by all proofs of one command. clock: monotonic, seconds."""

    total_s: float
    clock: Callable[[], float] = time.monotonic
    begun_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.begun_s = self.clock()

    @property
    def left_s(self) -> float:
        """What is not spent yet; negative: over it."""
        return self.total_s - (self.clock() - self.begun_s)


@dataclass(frozen=True)
class ProofQuestion:
    """What is to be proven. base: variables of a run as it is.  local: its ranks run below this process."""

    candidate: Candidate
    command: tuple[str, ...]
    base: Mapping[str, str]
    started: Started
    level: float
    minimum_effect: float
    is_local: bool


class ProofSession:
    """A proof under way. folder: proof-N of the watch.  run: starts one run, replaced in tests."""

    def __init__(
        self,
        folder: Path,
        question: ProofQuestion,
        proof: Proof,
        tell: Callable[[str], None],
        run: Callable[..., Rerun] = rerun,
    ) -> None:
        self._folder, self._question, self._proof, self._tell, self._run = folder, question, proof, tell, run

    @property
    def proof(self) -> Proof:
        """As far as it is."""
        return self._proof

    def go(self, budget: Budget) -> Proof:
        """Run until it is decided or the time is over.

        Raises: Interrupted: the user asked to stop; all is kept.  EnvironmentFailure: the program fails as it is.
        """
        if self._proof.witness.state == "ignored":
            return self._conclude()
        pilots = len(whole_blocks(self._proof.runs, "pilot"))
        for block in range(pilots, PILOT_BLOCKS):
            self._block("pilot", block)
        if self._conclude().verdict == "output differs":
            return self._proof
        self._state_what_can_be_decided(budget)
        begun = max((run.block + 1 for run in self._proof.runs if run.phase == "proof"), default=0)
        for block in range(begun, MOST_BLOCKS):
            if not self._has_time(budget):
                break
            self._block("proof", block)
            self._look_for_signs()
            if not wants_more(self._conclude()):
                break
            self._show(block + 1, budget)
        return self._conclude()

    def _has_time(self, budget: Budget) -> bool:
        run_s = self._proof.run_s or 0.0
        return budget.left_s > _SAFETY * run_s * len(SIDES["proof"])

    def _state_what_can_be_decided(self, budget: Budget) -> None:
        """From the spread as it is, before any run with the remedy."""
        self._conclude()
        sd, run_s = spread(control_pairs(self._proof.runs)), self._proof.run_s
        if sd is None or run_s is None:
            return
        blocks = _blocks_within(max(0.0, budget.left_s), run_s) + len(whole_blocks(self._proof.runs, "proof"))
        least = smallest_decidable(sd, blocks, self._proof.level, self._proof.minimum_effect)
        if not any(run.phase == "proof" for run in self._proof.runs):  # a proof that goes on has stated it
            self._proof = msgspec.structs.replace(self._proof, smallest_decidable=least)
        what = "none can be decided" if least is None else f"one of {least:.1%} or more can be decided"
        left = duration(max(0.0, budget.left_s))
        self._tell(f"unchanged: {run_s:.3g} s a run, spread {sd:.1%}; {left} allow {blocks} blocks of 3 runs: {what}")

    def _block(self, phase: Phase, block: int) -> None:
        for side in order(self._proof.seed, phase, block):
            self._one(phase, block, side)

    def _one(self, phase: Phase, block: int, side: Side) -> None:
        number = len(self._proof.runs) + 1
        argv, environ = self._arm(side)
        done = self._run(argv, environ, self._question.started, self._folder / RUNS / f"{number:04d}")
        if done.interrupted:
            self._conclude()
            raise Interrupted(
                f"stopped; {len(self._proof.runs)} runs are kept in {self._folder}; run the same command to continue"
            )
        row = ProofRun(
            number=number,
            phase=phase,
            block=block,
            side=side,
            wall_s=done.wall_s,
            exit_code=done.exit_code,
            failed=done.failed,
            output_sha256=done.output_sha256,
            minor_faults=done.minor_faults if self._question.is_local else None,
        )
        self._proof = msgspec.structs.replace(self._proof, runs=(*self._proof.runs, row))
        self._save()
        if done.failed is not None and side != "remedy":
            self._conclude()
            files = self._folder / RUNS / f"{number:04d}"
            raise EnvironmentFailure(
                f"the unchanged, unwatched program fails: {done.failed} ({files}); a proof needs a repeatable command"
            )

    def _arm(self, side: Side) -> tuple[tuple[str, ...], dict[str, str]]:
        question, candidate = self._question, self._question.candidate
        base = dict(question.base)
        if side == "remedy":
            report = {}
            if candidate.witness == "pad report":
                report = {"SLOWPATH_PAD_REPORT": str(self._folder / PAD_REPORT)}
            elif candidate.witness == "collectives report":
                report = {"SLOWPATH_COLL_REPORT": str((self._folder / COLL_REPORT).resolve())}
            return candidate.argv, {**candidate.environ(base), **report}
        return question.command, {**base, **(placebo(candidate.variables) if side == "control" else {})}

    def _look_for_signs(self) -> None:
        """What the runs show of whether the remedy acts."""
        kind, found = self._question.candidate.witness, None
        if kind == "faults" and self._question.is_local:
            found = by_faults(self._proof.runs)
        elif kind == "pad report":
            found = of_pad_report(self._folder / PAD_REPORT)
        elif kind == "collectives report":
            found = of_collectives_report(self._folder / COLL_REPORT)
        if found is not None:
            self._proof = msgspec.structs.replace(self._proof, witness=found)

    def _show(self, blocks: int, budget: Budget) -> None:
        effect = self._proof.effect
        passing = getattr(self._tell, "passing", None)
        if passing is not None and effect is not None:
            left = duration(max(0.0, budget.left_s))
            passing(f"{self._proof.remedy}: block {blocks}, time ratio {effect.ratio:.4f}, at most {left} left")

    def _conclude(self) -> Proof:
        self._proof = concluded(self._proof)
        self._save()
        return self._proof

    def _save(self) -> None:
        write_proof(self._folder, self._proof)


def wants_more(proof: Proof) -> bool:
    """Whether another block is worth its time: undecided, or proven with an interval that says little of how much."""
    if proof.verdict == "proven" and proof.effect is not None and proof.effect.interval is not None:
        low, high = proof.effect.interval
        wide = (high - low) / 2 > PRECISE * (1 - proof.effect.ratio)
        return wide and proof.effect.blocks < PRECISE_BLOCKS
    return proof.verdict in OPEN


def new_proof(question: ProofQuestion, witness: ProofWitness) -> Proof:
    """Without a run."""
    candidate, compared = question.candidate, question.started.compared
    return Proof(
        schema=PROOF_SCHEMA,
        slowpath=__version__,
        remedy=candidate.key,
        text=candidate.text,
        rules=candidate.rules,
        command=question.command,
        remedied=candidate.argv,
        variables=dict(candidate.variables),
        unset=candidate.unset,
        compared=compared.outputs,
        ignored=compared.ignored,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        seed=secrets.randbelow(2**31),
        level=question.level,
        minimum_effect=question.minimum_effect,
        smallest_decidable=None,
        run_s=None,
        spent_s=0.0,
        effect=None,
        control=None,
        witness=witness,
        verdict="running",
        saved_s=None,
        saved_interval=None,
        reason="no run yet",
        runs=(),
    )


def goes_on(earlier: Proof, question: ProofQuestion) -> bool:
    """Whether more blocks may be added to an earlier proof: it asks the same, and was left open."""
    candidate, compared = question.candidate, question.started.compared
    same = (earlier.remedy, earlier.command, earlier.remedied, earlier.compared, earlier.ignored, earlier.unset) == (
        *(candidate.key, question.command, candidate.argv),
        *(compared.outputs, compared.ignored, candidate.unset),
    )
    return (
        same
        and dict(earlier.variables) == dict(candidate.variables)
        and earlier.verdict in OPEN
        and earlier.level == question.level
        and earlier.minimum_effect == question.minimum_effect
    )


def whole_runs_only(proof: Proof) -> Proof:
    """An earlier proof without the runs of a block that was cut off, so that a block's runs stand together in time."""
    whole = {
        (run.phase, run.block)
        for run in proof.runs
        if {other.side for other in proof.runs if (other.phase, other.block) == (run.phase, run.block)}
        == set(SIDES[run.phase])
    }
    kept = tuple(run for run in proof.runs if (run.phase, run.block) in whole)
    return msgspec.structs.replace(proof, runs=kept)


def earlier_proof(folders: list[Path], question: ProofQuestion) -> tuple[Path, Proof] | None:
    """The latest one that goes on; None: a new one has to be begun.  Raises: RecordError: a proof is damaged."""
    for folder in reversed(folders):
        proof = read_proof(folder)
        if goes_on(proof, question):
            return folder, whole_runs_only(proof)
    return None


def base_environment() -> dict[str, str]:
    """Of a run as it is: this process's, without anything that watches."""
    return {name: value for name, value in os.environ.items() if name != "SLOWPATH_WATCH"}
