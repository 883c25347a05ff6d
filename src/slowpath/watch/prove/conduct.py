# SPDX-License-Identifier: Apache-2.0
"""All proofs of one command, one after the other, within one budget."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowpath.core.errors import EnvironmentFailure
from slowpath.run.progress import duration
from slowpath.watch.folder import WatchInfo
from slowpath.watch.proof import Proof, new_proof_folder, proof_folders
from slowpath.watch.prove.candidate import Candidate, MpiFacts
from slowpath.watch.prove.design import level_of
from slowpath.watch.prove.rerun import Started
from slowpath.watch.prove.screen import screen
from slowpath.watch.prove.session import (
    Budget,
    ProofSession,
    Question,
    base_environment,
    earlier_proof,
    new_proof,
)
from slowpath.watch.prove.witness import before_runs

Tell = Callable[[str], None]
_REMOTE = ("srun", "aprun", "flux", "jsrun")  # their ranks are no children of the launcher


@dataclass(frozen=True)
class Asked:
    """What a command wants. budget_s: of all reruns.  fresh: no earlier proof goes on.  screening: the best alone."""

    watch: Path
    info: WatchInfo
    mpi: MpiFacts
    started: Started
    budget_s: float
    minimum_effect: float
    fresh: bool
    screening: bool


def prove_all(asked: Asked, candidates: Sequence[Candidate], tell: Tell) -> list[Proof]:
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
    for number, one in enumerate(candidates):
        share = Budget(max(1.0, whole.left_s / (len(candidates) - number)))
        proofs.append(_prove(asked, one, len(candidates), share, tell))
    return proofs


def _best(asked: Asked, candidates: Sequence[Candidate], budget: Budget, tell: Tell) -> list[Candidate]:
    """The fastest of a screening.  Raises: EnvironmentFailure: all failed."""
    seed = secrets.randbelow(2**31)
    rows = screen(candidates, asked.info.command, base_environment(), asked.started, asked.watch, budget, seed)
    for row in rows:
        shown = row.reason if row.ratio is None else f"{row.ratio:.3f} of the time as it is"
        tell(f"screened: {row.candidate.key}: {shown}")
    if not rows or rows[0].ratio is None:
        raise EnvironmentFailure("no remedy could be screened; the reasons are above")
    return [rows[0].candidate]


def _prove(asked: Asked, one: Candidate, questions: int, budget: Budget, tell: Tell) -> Proof:
    base, command = base_environment(), asked.info.command
    is_local = asked.mpi.launcher not in _REMOTE
    question = Question(one, command, base, asked.started, level_of(questions), asked.minimum_effect, is_local)
    found = None if asked.fresh else earlier_proof(proof_folders(asked.watch), question)
    if found is None:
        witness = before_runs(one, asked.mpi, command, base)
        folder, proof = new_proof_folder(asked.watch), new_proof(question, witness)
        tell(f"{one.key}: {one.text} ({folder.name})")
    else:
        folder, proof = found
        tell(f"{one.key}: goes on in {folder.name}, with {len(proof.runs)} runs")
    return ProofSession(folder, question, proof, tell).go(budget)
