# SPDX-License-Identifier: Apache-2.0
"""A proof from its first run to its verdict, on programs whose wall times are planted."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from slowpath.core.errors import EnvironmentFailure, Interrupted
from slowpath.watch.proof import Proof, ProofWitness, new_proof_folder, proof_folders, read_proof
from slowpath.watch.prove.judge import PLACEBO
from slowpath.watch.prove.remedies import Candidate
from slowpath.watch.prove.rerun import Compared, Rerun, Started
from slowpath.watch.prove.session import Budget, ProofQuestion, ProofSession, earlier_proof, new_proof

COMMAND, UNKNOWN = ("./app",), ProofWitness(state="not known", text="nothing shows it")
Program = Callable[[Mapping[str, str]], Rerun]


class Machine:
    """A clock that planted programs move, and what was started."""

    def __init__(self, program: Program) -> None:
        self.now_s, self.started, self._program = 0.0, [], program  # type: ignore[var-annotated]

    def run(self, argv: Sequence[str], environ: Mapping[str, str], started: Started, files: Path) -> Rerun:
        done = self._program(environ)
        self.now_s += done.wall_s
        self.started.append(dict(environ))
        return done

    def budget(self, seconds: float) -> Budget:
        return Budget(seconds, clock=lambda: self.now_s)


def takes(usual_s: float, with_it_s: float, noise: float = 0.01, seed: int = 1, **other: object) -> Program:
    rng = random.Random(seed)

    def program(environ: Mapping[str, str]) -> Rerun:
        wall_s = (with_it_s if "REMEDY" in environ else usual_s) * rng.lognormvariate(0, noise)
        return Rerun(wall_s, 0, None, None, None)

    return program


def question(**other: object) -> ProofQuestion:
    candidate = Candidate("own", "Set it.", (), COMMAND, {"REMEDY": "1"}, **other)  # type: ignore[arg-type]
    return ProofQuestion(candidate, COMMAND, {"PATH": "/bin"}, Started(None, None, Compared(), 60.0), 0.95, 0.01, True)


def proven(tmp_path: Path, machine: Machine, budget_s: float, asked: ProofQuestion | None = None) -> Proof:
    asked = asked or question()
    found = earlier_proof(proof_folders(tmp_path), asked)
    folder, proof = found or (new_proof_folder(tmp_path), new_proof(asked, UNKNOWN))
    return ProofSession(folder, asked, proof, lambda _: None, machine.run).go(machine.budget(budget_s))


def test_a_remedy_is_proven_within_the_budget_and_kept(tmp_path: Path) -> None:
    machine = Machine(takes(10.0, 8.0))
    proof = proven(tmp_path, machine, 1000.0)
    assert proof.verdict == "proven"
    assert machine.now_s < 1000.0
    assert read_proof(tmp_path / "proof-1") == proof
    assert proof.smallest_decidable is not None


def test_the_first_runs_are_without_the_remedy_and_the_control_carries_a_placebo(tmp_path: Path) -> None:
    machine = Machine(takes(10.0, 8.0))
    proof = proven(tmp_path, machine, 1000.0)
    assert [run.phase for run in proof.runs[:5]] == ["pilot"] * 4 + ["proof"]
    for run, environ in zip(proof.runs, machine.started, strict=True):
        assert ("REMEDY" in environ) == (run.side == "remedy")
        assert (PLACEBO in environ) == (run.side == "control")


def test_the_budget_is_held_and_the_same_question_goes_on(tmp_path: Path) -> None:
    machine = Machine(takes(10.0, 9.9, noise=0.03))
    first = proven(tmp_path, machine, 200.0)
    assert first.verdict == "undecided"
    assert machine.now_s <= 200.0
    second = proven(tmp_path, machine, 500.0)
    assert len(proof_folders(tmp_path)) == 1
    assert second.runs[: len(first.runs)] == first.runs
    assert len(second.runs) > len(first.runs)
    assert second.smallest_decidable == first.smallest_decidable  # stated before any run with the remedy


def test_ctrl_c_keeps_what_was_measured_and_the_cut_block_is_run_anew(tmp_path: Path) -> None:
    usual = takes(10.0, 5.0)
    seen: list[Mapping[str, str]] = []

    def stopped(environ: Mapping[str, str]) -> Rerun:
        seen.append(environ)
        return usual(environ) if len(seen) < 9 else Rerun(1.0, None, "stopped", None, None, interrupted=True)

    with pytest.raises(Interrupted, match="8 runs are kept"):
        proven(tmp_path, Machine(stopped), 1000.0)
    assert len(read_proof(tmp_path / "proof-1").runs) == 8
    proof = proven(tmp_path, Machine(usual), 1000.0)
    assert proof.verdict == "proven"
    assert [run.number for run in proof.runs] == list(range(1, len(proof.runs) + 1))


def test_a_program_that_fails_as_it_is_can_not_be_proven(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match="unwatched program fails"):
        proven(tmp_path, Machine(lambda _: Rerun(0.1, 3, "exit code 3", None, None)), 1000.0)
    assert read_proof(tmp_path / "proof-1").verdict == "failed"


def test_a_remedy_that_breaks_the_program_is_not_proven(tmp_path: Path) -> None:
    usual = takes(10.0, 1.0)

    def program(environ: Mapping[str, str]) -> Rerun:
        return Rerun(0.1, 1, "exit code 1", None, None) if "REMEDY" in environ else usual(environ)

    assert proven(tmp_path, Machine(program), 1000.0).verdict == "failed"


def test_faults_that_stay_end_the_proof_before_the_budget(tmp_path: Path) -> None:
    usual = takes(10.0, 10.0)

    def program(environ: Mapping[str, str]) -> Rerun:
        return Rerun(usual(environ).wall_s, 0, None, None, 100_000)

    machine = Machine(program)
    proof = proven(tmp_path, machine, 10_000.0, question(witness="faults"))
    assert proof.verdict == "ignored"
    assert len(proof.runs) < 15


def test_an_output_that_differs_by_itself_is_said_before_any_remedy(tmp_path: Path) -> None:
    numbers = iter(range(100))
    machine = Machine(lambda _: Rerun(1.0, 0, None, str(next(numbers)), None))
    proof = proven(tmp_path, machine, 1000.0)
    assert proof.verdict == "output differs"
    assert "--ignore" in proof.reason
    assert len(proof.runs) == 4
