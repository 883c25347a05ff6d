# SPDX-License-Identifier: Apache-2.0
"""A proof from its first run to its verdict, on programs whose wall times are planted."""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from slowpath.core.errors import EnvironmentFailure, Interrupted, UsageError
from slowpath.slowpaths.registry import find_program_remedy
from slowpath.watch.folder import WatchInfo
from slowpath.watch.proof import Proof, ProofWitness, new_proof_folder, proof_folders, read_proof
from slowpath.watch.prove import session as conduct
from slowpath.watch.prove.candidates import Candidate, ProgramMpi, candidate, of_user
from slowpath.watch.prove.judge import PLACEBO
from slowpath.watch.prove.rerun import Compared, Rerun, Started, before_runs, of_pad_report, rerun
from slowpath.watch.prove.session import (
    Budget,
    ProofQuestion,
    ProofSession,
    earlier_proof,
    new_proof,
    of_system,
)
from support.watch_results import a_program, results

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
    earlier = earlier_proof(proof_folders(tmp_path), asked)
    folder, proof = earlier or (new_proof_folder(tmp_path), new_proof(asked, UNKNOWN))
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


def run(tmp_path: Path, program: str, compared: Compared | None = None, **other: object) -> Rerun:
    started = Started(tmp_path, None, compared or Compared(), 60.0)
    started = Started(**{**started.__dict__, **other})
    return rerun([sys.executable, "-c", program], dict(os.environ), started, tmp_path / "files")


def test_a_run_that_went_well_counts(tmp_path: Path) -> None:
    done = run(tmp_path, "print('hello')")
    assert (done.exit_code, done.failed, done.output_sha256) == (0, None, None)
    assert done.wall_s > 0
    assert done.minor_faults
    assert (tmp_path / "files" / "stdout").read_text() == "hello\n"


@pytest.mark.parametrize("program", ["import sys; sys.exit(5)", "import os; os.kill(os.getpid(), 11)"])
def test_a_failed_run_does_not(tmp_path: Path, program: str) -> None:
    assert run(tmp_path, program).failed


def test_outputs_are_equal_but_for_what_is_ignored(tmp_path: Path) -> None:
    compared = Compared(("stdout",), ("^time ", "date"))
    first = run(tmp_path, "print('result 42'); print('time 1.5')", compared)
    second = run(tmp_path, "print('result 42'); print('time 1.7')", compared)
    other = run(tmp_path, "print('result 43'); print('time 1.5')", compared)
    assert first.output_sha256 == second.output_sha256 != other.output_sha256


def test_stdin_is_the_file_of_the_watch(tmp_path: Path) -> None:
    (tmp_path / "input").write_text("given")
    done = run(tmp_path, "import sys; assert sys.stdin.read() == 'given'", stdin=tmp_path / "input")
    assert done.failed is None
    assert run(tmp_path, "import sys; assert sys.stdin.read() == ''").failed is None


STARTED = Started(None, None, Compared(), 600.0)


MPICH = ProgramMpi("mpich", "5.0.2", None, Path("/lib/libmpi.so.12"), "hydra")
WITNESSED = ("mpiexec", "-n", "2", "sh", "-c", "true")
ENVIRON = {"PATH": "/usr/bin:/bin"}
KNOWN = {"MPIR_CVAR_CH4_CMA_ENABLE": 1}


def library(argv: list[str], environ: Mapping[str, str]) -> str:
    """An MPICH with one control variable, which it reads from the environment."""
    value = int(environ.get("MPIR_CVAR_CH4_CMA_ENABLE", "1") != "0")
    values = {name: value.to_bytes(4, "little").hex() for name in KNOWN if name in argv}
    return json.dumps({"names": [*KNOWN, "MPIR_CVAR_OTHER"], "values": values})


def tried(setting: str, environ: Mapping[str, str] = ENVIRON) -> Candidate:
    return of_user([setting], [], WITNESSED, MPICH, environ)


def state(tried_: Candidate, ask: object = library) -> tuple[str, str]:
    sign = before_runs(tried_, MPICH, WITNESSED, ENVIRON, ask)  # type: ignore[arg-type]
    return sign.state, sign.text


def test_a_variable_that_reads_back_is_taken() -> None:
    assert state(tried("MPIR_CVAR_CH4_CMA_ENABLE=0"))[0] == "taken"


def test_a_variable_that_the_library_has_not_is_ignored() -> None:
    sign, text = state(tried("MPIR_CVAR_CH4_CMA_ENABEL=0"))
    assert sign == "ignored"
    assert "nearest: MPIR_CVAR_CH4_CMA_ENABLE" in text
    assert state(tried("OMPI_MCA_smsc=none"))[0] == "ignored"


def ranks(argv: list[str], environ: Mapping[str, str]) -> str:
    masks = ["0", "1"] if "-bind-to" in argv else ["0-1", "0-1"]
    return "".join(f"Cpus_allowed_list:\t{mask}\n" for mask in masks)


def test_a_binding_is_seen_in_the_ranks_processors() -> None:
    tried = candidate(find_program_remedy("bind-cores"), WITNESSED, MPICH, ENVIRON, ())
    assert isinstance(tried, Candidate)
    assert tried.argv == ("mpiexec", "-bind-to", "core", *WITNESSED[1:])
    assert state(tried, ranks)[0] == "taken"
    assert state(tried, lambda *_: "Cpus_allowed_list:\t0-1\n" * 2)[0] == "ignored"


def test_tunables_stand_behind_the_users_own() -> None:
    own = {**ENVIRON, "GLIBC_TUNABLES": "glibc.malloc.check=0"}
    tried = candidate(find_program_remedy("keep-freed-memory"), WITNESSED, MPICH, own, ())
    assert isinstance(tried, Candidate)
    assert tried.variables["GLIBC_TUNABLES"].startswith("glibc.malloc.check=0:glibc.malloc.mmap_max=0")
    again = {**ENVIRON, **tried.variables}
    assert candidate(find_program_remedy("keep-freed-memory"), WITNESSED, MPICH, again, ()) == "it is set already"


def test_open_mpi_hands_a_remedy_to_other_nodes() -> None:
    mpi = ProgramMpi("openmpi", "5.0.11", None, None, "prterun")
    tried = candidate(find_program_remedy("yield-when-idle"), ("mpirun", "sh"), mpi, ENVIRON, ())
    assert isinstance(tried, Candidate)
    assert tried.argv == ("mpirun", "-x", "OMPI_MCA_mpi_yield_when_idle", "sh")


def test_own_settings_are_tried_together_and_taken_away() -> None:
    tried = of_user(["A=1", "B=x=y"], ["C"], WITNESSED, MPICH, {**ENVIRON, "C": "1"})
    assert tried.environ({"C": "1", "D": "2"}) == {"A": "1", "B": "x=y", "D": "2"}
    assert tried.key == "A=1 B=x=y -C"
    for settings, unset in ((["A"], []), ([], ["C"])):
        with pytest.raises(UsageError):
            of_user(settings, unset, WITNESSED, MPICH, ENVIRON)


def test_the_padding_library_says_what_it_padded(tmp_path: Path) -> None:
    report = tmp_path / "report"
    report_sign = of_pad_report(report)
    assert report_sign is not None
    assert report_sign.state == "ignored"
    line = "slowpath-pad: process 4: device: 9 allocations, 6 padded, 15 bytes added, 41 at peak; host: 3 allocations, "
    report.write_text(f"{line}0 padded, 0 bytes added\n{line}2 padded, 9 bytes added\n")
    report_sign = of_pad_report(report)
    assert report_sign is not None
    assert (report_sign.state, report_sign.text) == ("taken", "libslowpath-pad.so padded 14 allocations")


LIBC = Path(next(line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/libc" in line))


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that root alone can change, down from /; for tests that are root."""
    folder = Path(tempfile.mkdtemp(dir="/run"))
    folder.chmod(0o755)
    (folder / "inner").mkdir(mode=0o755)
    library = folder / "inner" / "libmpi.so.12"
    library.write_bytes(b"")
    library.chmod(0o644)
    yield library
    shutil.rmtree(folder)


def test_a_library_of_the_system_is_taken_by_its_resolved_path(tmp_path: Path) -> None:
    link = tmp_path / "libmpi.so.12"
    link.symlink_to(LIBC)
    assert of_system(link) == LIBC.resolve()
    assert of_system(LIBC) == LIBC.resolve()


def test_a_link_that_is_swapped_after_the_check_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library that is asked is the one that was checked."""
    link = tmp_path / "libmpi.so.12"
    link.symlink_to(LIBC)
    evil = tmp_path / "evil.so"
    evil.write_bytes(b"")
    mpi = conduct.mpi_of(_info(tmp_path), results(program=a_program(library_path=str(link))), {})
    assert mpi.name == "mpich"
    link.unlink()
    link.symlink_to(evil)
    asked: list[list[str]] = []
    before_runs(of_user(["A=1"], [], ("app",), mpi, {}), mpi, ("app",), {}, lambda argv, _: asked.append(argv))  # type: ignore[func-returns-value]
    assert asked
    for argv in asked:
        assert str(LIBC.resolve()) in argv
        assert str(link) not in argv


@pytest.mark.needs("root")
def test_every_folder_on_the_way_has_to_be_roots_alone(place: Path) -> None:
    assert of_system(place) == place
    for folder in (place.parent, place.parent.parent):
        for mode in (0o777, 0o775, 0o1777):
            folder.chmod(mode)
            assert of_system(place) is None
        folder.chmod(0o755)
        os.chown(folder, 65534, 65534)
        assert of_system(place) is None
        os.chown(folder, 0, 0)
    assert of_system(place) == place
    for mode in (0o666, 0o664):
        place.chmod(mode)
        assert of_system(place) is None


def _info(folder: Path) -> WatchInfo:
    return WatchInfo(
        slowpath="1",
        command=(str(folder / "app"),),
        started="2026-01-31T12:00:00+00:00",
        working_folder=str(folder),
        host="here",
        library="/lib/libslowpath-watch.so",
    )
