# SPDX-License-Identifier: Apache-2.0
"""What each launcher needs so that ranks on every node get the library, and what the user's own line keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowpath.watch.start.environment import WatchedCommand, program_name, watched, with_variables

LIBRARY, FOLDER = Path("/cache/lib.so"), Path("/data/my watch")
ENVIRON = {"PATH": "/usr/bin:/bin"}


def made(words: str, launcher: str, environ: dict[str, str] | None = None) -> WatchedCommand:
    return watched(words.split(), launcher, LIBRARY, FOLDER, {**ENVIRON, **(environ or {})})


def test_the_library_stands_behind_what_the_user_preloads() -> None:
    variables = made("./app", "", {"LD_PRELOAD": "/own.so"}).variables
    assert variables == {"LD_PRELOAD": "/own.so:/cache/lib.so", "SLOWPATH_WATCH": "/data/my watch/ranks"}
    assert made("./app", "").variables["LD_PRELOAD"] == "/cache/lib.so"


@pytest.mark.parametrize("launcher", ["hydra", "hydra-intel", "srun", "", "mpiexec", "flux"])
def test_launchers_that_hand_all_on_are_left_alone(launcher: str) -> None:
    found = made("mpiexec -n 4 sh -x LD_PRELOAD=/mine.so", launcher)
    assert found.argv == ("mpiexec", "-n", "4", "sh", "-x", "LD_PRELOAD=/mine.so")
    assert found.notes == ()


@pytest.mark.parametrize("launcher", ["prterun", "orterun"])
def test_open_mpi_is_told_what_goes_to_other_nodes(launcher: str) -> None:
    assert made("mpirun -n 4 ./app", launcher).argv == (
        *("mpirun", "-x", "LD_PRELOAD", "-x", "SLOWPATH_WATCH"),
        *("-n", "4", "./app"),
    )


def test_the_users_own_preload_in_a_launchers_option_is_kept_in_front() -> None:
    found = made("mpirun -x LD_PRELOAD=/own.so -n 4 sh -x", "prterun")
    assert found.argv[:5] == ("mpirun", "-x", "SLOWPATH_WATCH", "-x", "LD_PRELOAD=/own.so:/cache/lib.so")
    found = made("mpiexec -genv LD_PRELOAD /own.so -n 4 sh", "hydra")
    assert found.argv[:4] == ("mpiexec", "-genv", "LD_PRELOAD", "/own.so:/cache/lib.so")
    assert "preloaded behind it" in found.notes[0]


def test_a_programs_own_words_are_not_its_launchers() -> None:
    assert made("mpiexec -n 4 sh -genv LD_PRELOAD /own.so", "hydra").argv[-1] == "/own.so"


def test_hydra_that_holds_variables_back_gets_ours() -> None:
    argv = made("mpiexec -genvnone -n 2 ./app", "hydra").argv
    assert argv[:7] == ("mpiexec", "-genv", "LD_PRELOAD", "/cache/lib.so", "-genv", "SLOWPATH_WATCH", argv[6])


@pytest.mark.parametrize(
    ("given", "becomes"),
    [
        ("--export=NONE", "--export=LD_PRELOAD,SLOWPATH_WATCH"),
        ("--export=A,B=c", "--export=A,B=c,LD_PRELOAD,SLOWPATH_WATCH"),
        ("--export=ALL,A=b", "--export=ALL,A=b"),
    ],
)
def test_srun_that_holds_variables_back_gets_ours_and_it_is_said(given: str, becomes: str) -> None:
    found = made(f"srun {given} ./app", "srun")
    assert found.argv == ("srun", becomes, "./app")
    assert bool(found.notes) == (given != becomes)
    found = made(f"srun --export {given.partition('=')[2]} ./app", "srun")
    assert found.argv == ("srun", "--export", becomes.partition("=")[2], "./app")


def test_what_a_job_forbids_srun_is_allowed() -> None:
    found = made("srun ./app", "srun", {"SLURM_EXPORT_ENV": "NONE"})
    assert found.variables["SLURM_EXPORT_ENV"] == "LD_PRELOAD,SLOWPATH_WATCH"
    assert "SLURM_EXPORT_ENV=NONE" in found.notes[0]


def test_variables_of_a_remedy_go_the_same_way() -> None:
    found = with_variables(["mpirun", "./app"], "prterun", {"A": "1"}, ENVIRON)
    assert found == WatchedCommand(("mpirun", "-x", "A", "./app"), {"A": "1"})


def test_a_watch_is_named_by_its_program(tmp_path: Path) -> None:
    app = tmp_path / "lmp"
    app.write_text("#!/bin/sh\n")
    app.chmod(0o755)
    assert program_name(["mpiexec", "-n", "4", "env", "A=b", str(app), "in.lj"], ENVIRON) == "lmp"
    assert program_name(["sh", "-c", "x"], ENVIRON) == "sh"
    assert program_name([], ENVIRON) == "watch"
