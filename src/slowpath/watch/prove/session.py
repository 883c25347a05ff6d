# SPDX-License-Identifier: Apache-2.0
"""One proof from its first rerun to its verdict; what was measured is kept after each run, and can be continued.

All proofs of one command, one after the other, within one budget.

What is known of the program before it runs again: its MPI, its findings, and what changed since.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from slowpath.core.errors import EnvironmentFailure, Interrupted, RecordError
from slowpath.core.files import ROOT, WRITABLE_BY_OTHERS
from slowpath.core.version import __version__
from slowpath.mpi.libraries import named_in
from slowpath.mpi.mpi import inspect
from slowpath.mpi.own_settings import recorded_variables
from slowpath.run.progress import duration
from slowpath.watch.folder import WatchInfo
from slowpath.watch.proof import (
    OPEN,
    PROOF_SCHEMA,
    Phase,
    Proof,
    ProofRun,
    ProofWitness,
    Side,
    new_proof_folder,
    proof_folders,
    read_proof,
    write_proof,
)
from slowpath.watch.prove.candidates import Candidate, ProgramMpi
from slowpath.watch.prove.judge import (
    MOST_BLOCKS,
    PILOT_BLOCKS,
    SIDES,
    by_faults,
    concluded,
    control_pairs,
    level_of,
    order,
    placebo,
    smallest_decidable,
    spread,
    whole_blocks,
)
from slowpath.watch.prove.judge import blocks_within as _blocks_within
from slowpath.watch.prove.rerun import Rerun, Started, before_runs, of_pad_report, rerun
from slowpath.watch.results import WatchFinding, WatchResults, read_watch_results
from slowpath.watch.start.environment import launcher_of

RUNS = "runs"
PAD_REPORT = "pad-report.txt"
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
            if budget.left_s <= _SAFETY * (self._proof.run_s or 0.0) * len(SIDES["proof"]):
                break
            self._block("proof", block)
            self._look_for_signs()
            if not wants_more(self._conclude()):
                break
            self._show(block + 1, budget)
        return self._conclude()

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
        decidable = "no effect" if least is None else f"effects of {least:.1%} or more"
        left = duration(max(0.0, budget.left_s))
        self._tell(
            f"unchanged: {run_s:.3g} s a run, spread {sd:.1%}; {blocks} blocks of 3 runs in {left} decide {decidable}"
        )

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
                f"the unchanged, unwatched program fails: {done.failed} ({files}); prove a command that can be repeated"
            )

    def _arm(self, side: Side) -> tuple[tuple[str, ...], dict[str, str]]:
        question, candidate = self._question, self._question.candidate
        base = dict(question.base)
        if side == "remedy":
            report = {}
            if candidate.witness == "pad report":
                report = {"SLOWPATH_PAD_REPORT": str(self._folder / PAD_REPORT)}
            return candidate.argv, {**candidate.environ(base), **report}
        return question.command, {**base, **(placebo(candidate.variables) if side == "control" else {})}

    def _look_for_signs(self) -> None:
        kind, sign = self._question.candidate.witness, None
        if kind == "faults" and self._question.is_local:
            sign = by_faults(self._proof.runs)
        elif kind == "pad report":
            sign = of_pad_report(self._folder / PAD_REPORT)
        if sign is not None:
            self._proof = msgspec.structs.replace(self._proof, witness=sign)

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


def results_of(watch: Path) -> WatchResults | None:
    """results.json of a watch; None: it was not concluded, or by another version."""
    try:
        return read_watch_results(watch)
    except RecordError:
        return None


def mpi_of(info: WatchInfo, results: WatchResults | None, environ: Mapping[str, str]) -> ProgramMpi:
    """By what the program said when it was watched, else by its launcher."""
    launcher = launcher_of(info.command, environ) if info.command else ""
    said = named_in(results.program.library) if results is not None else None
    launcher_path = shutil.which(info.command[0], path=environ.get("PATH")) if launcher else None
    mpi = inspect(Path(launcher_path), "option", environ) if launcher_path else None
    path = None
    if mpi is not None:
        folders = (mpi.prefix / "lib", mpi.prefix / "lib64")
        path = next((library for folder in folders for library in sorted(folder.glob("libmpi.so.*"))), None)
    if path is None and results is not None and results.program.library_path:
        path = of_system(Path(results.program.library_path))
    name, version = (said[0].name, said[1]) if said is not None else (mpi.name, mpi.version) if mpi else (None, None)
    transport = mpi.transport if mpi is not None and mpi.name == name else None
    return ProgramMpi(None if name == "unknown" else name, version, transport, path, launcher)


def of_system(path: Path) -> Path | None:
    """The file behind `path`, without any link, where root alone can change it and each folder down to it.

    None: elsewhere, since a folder does not decide what is loaded. From / on, each part is no link and in a folder that
    was found to be root's alone, so that nobody else can put another file in its place afterwards. A sticky folder that
    others can write is none of these: they choose what is in it.
    """
    try:
        real = path.resolve(strict=True)
        for part in (*reversed(real.parents), real):
            status = part.lstat()
            kind = stat.S_ISREG if part == real else stat.S_ISDIR
            if not kind(status.st_mode) or status.st_uid != ROOT or status.st_mode & WRITABLE_BY_OTHERS:
                return None
    except (OSError, RuntimeError, ValueError):
        return None
    return real


def findings_of(results: WatchResults | None) -> list[WatchFinding]:
    """The most that could be saved first."""
    findings = list(results.findings) if results is not None else []
    return sorted(findings, key=lambda finding: -(finding.saved_s if finding.saved_s is not None else finding.seconds))


def changed_since(info: WatchInfo, environ: Mapping[str, str]) -> list[str]:
    """Variables that steer MPI and are others than when the program was watched."""
    now, _ = recorded_variables(environ)
    # Of a job each one is new, and says nothing of how the program runs.
    names = {name for name in {*now, *info.variables} if not name.startswith(("SLURM_", "PBS_", "FLUX_", "SLOWPATH_"))}
    return sorted(name for name in names if now.get(name) != info.variables.get(name))


Tell = Callable[[str], None]
_REMOTE = ("srun", "aprun", "flux", "jsrun")  # their ranks are no children of the launcher


@dataclass(frozen=True)
class ProofRequest:
    """What a command wants. budget_s: of all reruns.  fresh: no earlier proof goes on."""

    watch: Path
    info: WatchInfo
    mpi: ProgramMpi
    started: Started
    budget_s: float
    minimum_effect: float
    fresh: bool


def prove_all(asked: ProofRequest, candidates: Sequence[Candidate], tell: Tell) -> list[Proof]:
    """Each within its share of what is left.

    Raises: Interrupted: the user asked to stop.  EnvironmentFailure: the program fails as it is.
    """
    count = len(candidates)
    named = candidates[0].key if count == 1 else f"{count} remedies"
    tell(f"{named}: reruns in blocks of 3, at most {duration(asked.budget_s)} in total (--budget)")
    whole = Budget(asked.budget_s)
    proofs = []
    for number, candidate in enumerate(candidates):
        share = Budget(max(1.0, whole.left_s / (len(candidates) - number)))
        proofs.append(_prove(asked, candidate, len(candidates), share, tell))
    return proofs


def _prove(asked: ProofRequest, candidate: Candidate, questions: int, budget: Budget, tell: Tell) -> Proof:
    base = {name: value for name, value in os.environ.items() if name != "SLOWPATH_WATCH"}  # nothing watches
    command = asked.info.command
    is_local = asked.mpi.launcher not in _REMOTE
    question = ProofQuestion(
        candidate, command, base, asked.started, level_of(questions), asked.minimum_effect, is_local
    )
    earlier = None if asked.fresh else earlier_proof(proof_folders(asked.watch), question)
    if earlier is None:
        witness = before_runs(candidate, asked.mpi, command, base)
        folder, proof = new_proof_folder(asked.watch), new_proof(question, witness)
        tell(f"{candidate.key}: {candidate.text} ({folder.name})")
    else:
        folder, proof = earlier
        tell(f"{candidate.key}: goes on in {folder.name}, with {len(proof.runs)} runs")
    return ProofSession(folder, question, proof, tell).go(budget)
