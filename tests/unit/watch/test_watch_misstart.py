# SPDX-License-Identifier: Apache-2.0
"""Processes that each run alone since their launcher is another library's: the first line of the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from slowpath.watch.analysis import concluded_watch
from slowpath.watch.folder import WatchInfo, WatchLauncher, write_watch
from slowpath.watch.record.job import alone_in, read_job
from slowpath.watch.resources import own_launcher
from slowpath.watch.results import WatchResults
from slowpath.watch.start.environment import launcher_in
from slowpath.watch.verdict import brief_of
from support.watch_record import REALTIME_NS, Rank

S = 1_000_000_000
OPEN_MPI = {"library": b"Open MPI v5.0.5, package: Open MPI"}
MPICH = WatchLauncher(path="/venv/bin/mpiexec", name="hydra", library="mpich", version="4.2.3")


def runs(
    folder: Path, *starts_s: int, size: int = 1, seconds: int = 2, told: Sequence[str] = (), **header: object
) -> None:
    """A record for each start: rank 0 of `size`, from then on. told: what each one's launcher said."""
    (folder / "ranks").mkdir(parents=True, exist_ok=True)
    for number, start_s in enumerate(starts_s):
        begun = REALTIME_NS + start_s * S
        times = {"process_start_realtime_ns": begun, "start_realtime_ns": begun, "end_realtime_ns": begun + seconds * S}
        rank = Rank(0, size, header={**times, "pid": number, **header})
        if told:
            rank.say("started_by", "/usr/bin/hydra_pmi_proxy")
            rank.say("launch", told[number])
        rank.collective("MPI_Barrier", start_s=0.1, end_s=0.2)
        (folder / "ranks" / f"node1-{number}.watch").write_bytes(rank.content(seconds))


def results(folder: Path, launcher: WatchLauncher | None) -> WatchResults:
    info = WatchInfo(slowpath="1", command=("mpiexec", "-n", "3", "./app"), started="2026-01-01T00:00:00Z", wall_s=2.0,
                     working_folder="/", host="node1", library="/l.so", exit_code=0, launcher=launcher)  # fmt: skip
    write_watch(folder, info)
    return concluded_watch(folder)


def test_a_launcher_of_another_library_is_the_first_line(tmp_path: Path) -> None:
    own = tmp_path / "openmpi" / "bin" / "mpiexec"
    own.parent.mkdir(parents=True)
    own.touch(0o755)
    path = tmp_path / "openmpi" / "lib" / "libmpi.so.40"
    runs(tmp_path / "w", 0, 0, 0, **OPEN_MPI, library_path=str(path).encode())
    found = results(tmp_path / "w", MPICH)
    assert found.verdict[0] == (
        "Each of 3 processes ran alone as rank 0 of 1: this mpiexec (/venv/bin/mpiexec, MPICH 4.2.3) does not belong "
        f"to the program's library ({path}, Open MPI 5.0.5). Start it with {own}."
    )
    brief = brief_of(found).lines()
    assert brief[0].startswith(
        "Each of 3 processes ran alone as rank 0 of 1: this mpiexec (/venv/bin/mpiexec, MPICH 4.2.3)"
    )
    assert brief[2].strip().startswith("1. Start it with")
    assert not any("slow path" in line for line in brief)


def test_and_the_reverse(tmp_path: Path) -> None:
    runs(tmp_path, 0, 0)
    launcher = WatchLauncher(path="/usr/bin/mpiexec", name="orterun", library="openmpi", version="4.1.4")
    first = results(tmp_path, launcher).verdict[0]
    assert first.startswith("Each of 2 processes ran alone as rank 0 of 1: this mpiexec (/usr/bin/mpiexec, Open MPI")
    assert "does not belong to the program's library (/opt/mpi/libmpi.so.12, MPICH 5.0.2)" in first


def test_srun_is_told_what_the_library_speaks(tmp_path: Path) -> None:
    runs(tmp_path, 0, 0, **OPEN_MPI)
    first = results(tmp_path, WatchLauncher(path="/usr/bin/srun", name="srun")).verdict[0]
    assert "Start it with: srun --mpi=pmix" in first


def test_of_one_library_it_is_no_claim_that_they_do_not_belong_together(tmp_path: Path) -> None:
    runs(tmp_path, 0, 0)
    first = results(tmp_path, MPICH).verdict[0]
    assert "gave them no job that the program's library" in first
    assert "does not belong" not in first


@pytest.mark.parametrize(
    ("starts_s", "size", "header"),
    [
        ((0,), 1, {}),  # one process may be meant so
        ((0, 5, 10), 1, {}),  # one after the other, as in a loop of a script
        ((0,), 2, {}),  # a job that lost a record
        ((0, 0), 1, {"parent_rank_hint": 1}),  # spawned
    ],
)
def test_what_is_meant_so_is_left_alone(
    tmp_path: Path, starts_s: tuple[int, ...], size: int, header: dict[str, int]
) -> None:
    runs(tmp_path, *starts_s, size=size, **header)
    found = results(tmp_path, MPICH)
    assert found.program.misstart is None
    assert found.verdict[0].startswith("app: ")


def test_a_farm_of_a_script_is_a_note(tmp_path: Path) -> None:
    runs(tmp_path, 0, 0, 1)
    found = results(tmp_path, None)
    assert found.verdict[0].startswith("app: 1 rank")
    assert any("3 processes ran at the same time, each alone" in note for note in found.coverage.notes)


def test_a_script_whose_launcher_gave_ranks_is_no_farm(tmp_path: Path) -> None:
    """The command names no launcher; the ranks' own variables do."""
    runs(tmp_path, 0, 0, told=["PMI_RANK=0 PMI_SIZE=2", "PMI_RANK=1 PMI_SIZE=2"], **OPEN_MPI)
    first = results(tmp_path, None).verdict[0]
    assert first.startswith(
        "Each of 2 processes ran alone as rank 0 of 1: what started them (/usr/bin/hydra_pmi_proxy)"
    )
    assert "gave each a rank by PMI_RANK, which the program's library (/opt/mpi/libmpi.so.12, Open MPI 5.0.5)" in first


def test_processes_of_one_task_of_a_job_may_be_meant_so(tmp_path: Path) -> None:
    runs(tmp_path, 0, 0, told=["SLURM_PROCID=0 SLURM_NTASKS=4"] * 2)
    assert results(tmp_path, None).program.misstart is None


def test_killed_processes_last(tmp_path: Path) -> None:
    runs(tmp_path, 0, 1, 100, state=1)
    assert read_job(tmp_path).alone == 3
    assert alone_in([]) == 0


def test_the_launcher_of_a_library_by_where_it_lies(tmp_path: Path) -> None:
    for name in ("mpiexec", "mpiexec.openmpi"):
        (tmp_path / "some" / "bin").mkdir(parents=True, exist_ok=True)
        (tmp_path / "some" / "bin" / name).touch(0o755)
    library = tmp_path / "some" / "lib" / "x86_64-linux-gnu" / "libmpi.so.40"
    assert own_launcher(library, "openmpi") == tmp_path / "some" / "bin" / "mpiexec.openmpi"
    assert own_launcher(library, "mpich") == tmp_path / "some" / "bin" / "mpiexec"
    assert own_launcher(Path("/lib/libmpi.so.40"), "openmpi") is None


def test_the_launcher_of_a_command(tmp_path: Path) -> None:
    launcher = tmp_path / "mpiexec"
    launcher.write_text("#!/bin/sh\necho 'mpiexec (OpenRTE) 4.1.4'\n")
    launcher.chmod(0o755)
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    wanted = WatchLauncher(path=str(launcher), name="orterun", library="openmpi", version="4.1.4")
    assert launcher_in([str(launcher), "-n", "2", "true"], environ) == wanted
    assert launcher_in(["env", "A=1", str(launcher), "-n", "2", "true"], environ) == wanted
    assert launcher_in(["true", str(launcher)], environ) is None
    assert launcher_in([], environ) is None
