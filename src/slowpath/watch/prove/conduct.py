# SPDX-License-Identifier: Apache-2.0
"""All proofs of one command, one after the other, within one budget; before them, a quick look at many remedies.

What is known of the program before it runs again: its MPI, its findings, and what changed since.
"""

from __future__ import annotations

import secrets
import shutil
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowpath.core.errors import EnvironmentFailure, RecordError
from slowpath.core.owners import ROOT, WRITABLE_BY_OTHERS
from slowpath.mpi.identify import named_in
from slowpath.mpi.mpi import inspect
from slowpath.mpi.recorded_variables import recorded_variables
from slowpath.run.progress import duration
from slowpath.watch.folder import WatchInfo
from slowpath.watch.proof import Proof, new_proof_folder, proof_folders
from slowpath.watch.prove.judge import level_of
from slowpath.watch.prove.remedies import Candidate, ProgramMpi
from slowpath.watch.prove.rerun import Started
from slowpath.watch.prove.screening import MOST_PROVEN, ScreenedRemedy, screen, share_s, worth_proving
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


Tell = Callable[[str], None]
_REMOTE = ("srun", "aprun", "flux", "jsrun")  # their ranks are no children of the launcher


@dataclass(frozen=True)
class ProofRequest:
    """What a command wants. budget_s: of all reruns.  fresh: no earlier proof goes on.  screening: look at all."""

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
    tell(f"{named}: reruns in blocks of 3{about}; at most {duration(asked.budget_s)} in total (--budget)")
    whole = Budget(asked.budget_s)
    if asked.screening:
        return _screened(asked, candidates, whole, tell)
    proofs = []
    for number, candidate in enumerate(candidates):
        share = Budget(max(1.0, whole.left_s / (len(candidates) - number)))
        proofs.append(_prove(asked, candidate, len(candidates), share, tell))
    return proofs


def _screened(asked: ProofRequest, candidates: Sequence[Candidate], budget: Budget, tell: Tell) -> list[Proof]:
    """Proofs of what a screening finds worth one, until a remedy is proven or the time is over.

    Raises: EnvironmentFailure: none could be screened.
    """
    ignored, ready = _by_witness(asked, candidates)
    for candidate, why in ignored:
        tell(f"screened: {candidate.key}: not taken, so not run: {why}")
    seed = secrets.randbelow(2**31)
    rows = screen(ready, asked.info.command, base_environment(), asked.started, asked.watch, budget, seed)
    for row in rows:
        shown = row.reason if row.ratio is None else f"{row.ratio:.3f} of the time as it is"
        tell(f"screened: {row.candidate.key}: {shown}")
    worth = worth_proving(rows)
    if not worth and not ignored:
        raise EnvironmentFailure("no remedy could be screened, for the reasons above")
    if not worth:
        return [_prove(asked, ignored[0][0], 1, budget, tell)]
    return _proofs(asked, worth, budget, tell)


def _proofs(asked: ProofRequest, worth: list[ScreenedRemedy], budget: Budget, tell: Tell) -> list[Proof]:
    """The fastest first; one that is not applied takes nobody's place."""
    questions = slots = min(MOST_PROVEN, len(worth))
    proofs: list[Proof] = []
    for number, row in enumerate(worth):
        if not slots or budget.left_s <= 0:
            break
        gains = [1.0 - (other.ratio or 1.0) for other in worth[number:]]
        proof = _prove(asked, row.candidate, questions, Budget(share_s(budget.left_s, gains, slots)), tell)
        proofs.append(proof)
        was_tried = any(run.phase == "proof" for run in proof.runs)
        if proof.verdict == "proven" or (proof.verdict == "output differs" and not was_tried):
            break
        slots -= was_tried
        if number + 1 < len(worth) and slots and budget.left_s > 0:
            tell(f"{row.candidate.key}: {proof.verdict}; on to {worth[number + 1].candidate.key}")
    return proofs


def _by_witness(
    asked: ProofRequest, candidates: Sequence[Candidate]
) -> tuple[list[tuple[Candidate, str]], list[Candidate]]:
    """Those of which it can be seen before any run that they are not taken, and why; and the others."""
    ignored, ready = [], []
    for candidate in candidates:
        seen = before_runs(candidate, asked.mpi, asked.info.command, base_environment())
        if seen.state == "ignored":
            ignored.append((candidate, seen.text))
        else:
            ready.append(candidate)
    return ignored, ready


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
