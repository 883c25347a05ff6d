# SPDX-License-Identifier: Apache-2.0
"""All proofs of one command, one after the other, within one budget; before them, a quick look at many remedies.

The best of many looks better than it is, so the runs of a screening count for no proof: the winner is proven by fresh
runs. What is known of the program before it runs again: its MPI, its findings, and what changed since.
"""

from __future__ import annotations

import math
import random
import secrets
import shutil
import stat
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowpath.core.errors import EnvironmentFailure, Interrupted, RecordError
from slowpath.core.owners import ROOT, WRITABLE_BY_OTHERS
from slowpath.mpi.identify import named_in
from slowpath.mpi.mpi import inspect
from slowpath.mpi.recorded_variables import recorded_variables
from slowpath.run.progress import duration
from slowpath.watch.folder import WatchInfo
from slowpath.watch.proof import Proof, new_proof_folder, proof_folders
from slowpath.watch.prove.judge import level_of
from slowpath.watch.prove.remedies import Candidate, ProgramMpi
from slowpath.watch.prove.rerun import Rerun, Started, rerun
from slowpath.watch.prove.session import Budget, ProofQuestion, ProofSession, base_environment, earlier_proof, new_proof
from slowpath.watch.prove.witness import before_runs
from slowpath.watch.results import WatchFinding, WatchResults, read_watch_results
from slowpath.watch.start.environment import launcher_of


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
    found = shutil.which(info.command[0], path=environ.get("PATH")) if launcher else None
    mpi = inspect(Path(found), "option", environ) if found else None
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
    found = list(results.findings) if results is not None else []
    return sorted(found, key=lambda finding: -(finding.saved_s if finding.saved_s is not None else finding.seconds))


def changed_since(info: WatchInfo, environ: Mapping[str, str]) -> list[str]:
    """Variables that steer MPI and are others than when the program was watched."""
    now, _ = recorded_variables(environ)
    # Of a job each one is new, and says nothing of how the program runs.
    names = {name for name in {*now, *info.variables} if not name.startswith(("SLURM_", "PBS_", "FLUX_", "SLOWPATH_"))}
    return sorted(name for name in names if now.get(name) != info.variables.get(name))


ROUNDS = 2
FOLDER = "screen"


@dataclass(frozen=True)
class ScreenedRemedy:
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
) -> list[ScreenedRemedy]:
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
        ScreenedRemedy(candidate, math.exp(statistics.fmean(logs[i])))
        if i in logs and i not in failed
        else ScreenedRemedy(candidate, None, failed.get(i, "not run: the time was over"))
        for i, candidate in enumerate(candidates)
    ]
    return sorted(rows, key=lambda row: math.inf if row.ratio is None else row.ratio)


Tell = Callable[[str], None]
_REMOTE = ("srun", "aprun", "flux", "jsrun")  # their ranks are no children of the launcher


@dataclass(frozen=True)
class ProofRequest:
    """What a command wants. budget_s: of all reruns.  fresh: no earlier proof goes on.  screening: the best alone."""

    watch: Path
    info: WatchInfo
    mpi: ProgramMpi
    started: Started
    budget_s: float
    minimum_effect: float
    fresh: bool
    screening: bool


def prove_all(asked: ProofRequest, candidates: Sequence[Candidate], tell: Tell) -> list[Proof]:
    """Each within its share of what is left.

    Raises: Interrupted: the user asked to stop.  EnvironmentFailure: the program fails as it is.
    """
    usual_s, count = asked.info.wall_s, len(candidates)
    about = f", about {duration(usual_s)} a run (watched)" if usual_s else ""
    named = candidates[0].key if count == 1 else f"{count} remedies"
    tell(f"{named}: reruns in blocks of 3{about}; at most {duration(asked.budget_s)} in all (--budget)")
    whole = Budget(asked.budget_s)
    if asked.screening:
        candidates = _best(asked, candidates, whole, tell)
    proofs = []
    for number, candidate in enumerate(candidates):
        share = Budget(max(1.0, whole.left_s / (len(candidates) - number)))
        proofs.append(_prove(asked, candidate, len(candidates), share, tell))
    return proofs


def _best(asked: ProofRequest, candidates: Sequence[Candidate], budget: Budget, tell: Tell) -> list[Candidate]:
    """The fastest of a screening.  Raises: EnvironmentFailure: all failed."""
    seed = secrets.randbelow(2**31)
    rows = screen(candidates, asked.info.command, base_environment(), asked.started, asked.watch, budget, seed)
    for row in rows:
        shown = row.reason if row.ratio is None else f"{row.ratio:.3f} of the time as it is"
        tell(f"screened: {row.candidate.key}: {shown}")
    if not rows or rows[0].ratio is None:
        raise EnvironmentFailure("no remedy could be screened; the reasons are above")
    return [rows[0].candidate]


def _prove(asked: ProofRequest, candidate: Candidate, questions: int, budget: Budget, tell: Tell) -> Proof:
    base, command = base_environment(), asked.info.command
    is_local = asked.mpi.launcher not in _REMOTE
    question = ProofQuestion(
        candidate, command, base, asked.started, level_of(questions), asked.minimum_effect, is_local
    )
    found = None if asked.fresh else earlier_proof(proof_folders(asked.watch), question)
    if found is None:
        witness = before_runs(candidate, asked.mpi, command, base)
        folder, proof = new_proof_folder(asked.watch), new_proof(question, witness)
        tell(f"{candidate.key}: {candidate.text} ({folder.name})")
    else:
        folder, proof = found
        tell(f"{candidate.key}: goes on in {folder.name}, with {len(proof.runs)} runs")
    return ProofSession(folder, question, proof, tell).go(budget)
