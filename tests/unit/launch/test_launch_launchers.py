# SPDX-License-Identifier: Apache-2.0
"""Command lines, without starting anything."""

from __future__ import annotations

import pytest

from slowpath.errors import UsageError
from slowpath.launch.identify import MARKS
from slowpath.launch.launchers import (
    BINDINGS,
    LAUNCHERS,
    Command,
    Launcher,
    command,
    launcher_named,
    unavailable_binding,
)

PROGRAM = ["/e/slowpath-engine", "--plan", "p"]


def made(name: str, bind: str, ranks: int = 2, cores: int = 4, library: str = "mpich", **variables: str) -> Command:
    launcher = launcher_named(name)
    return command(launcher, "/m/bin/launch", library, ranks, bind, variables, PROGRAM, cores)


@pytest.mark.parametrize("launcher", LAUNCHERS, ids=lambda launcher: launcher.name)
@pytest.mark.parametrize("bind", BINDINGS)
@pytest.mark.parametrize("cores", [1, 64])
def test_every_launcher_and_binding(launcher: Launcher, bind: str, cores: int) -> None:
    if unavailable_binding(launcher, bind):
        with pytest.raises(UsageError, match=bind):
            made(launcher.name, bind)
        return
    result = made(launcher.name, bind, ranks=3, cores=cores, UCX_TLS="tcp,self")
    assert result.argv[0] == "/m/bin/launch"
    assert result.argv[-3:] == tuple(PROGRAM)
    assert result.argv[1:3] == ("-n", "3")
    assert result.variables["UCX_TLS"] == "tcp,self"
    assert not any("{" in token for token in result.argv)


@pytest.mark.parametrize("launcher", LAUNCHERS, ids=lambda launcher: launcher.name)
def test_bindings_differ(launcher: Launcher) -> None:
    kinds = [bind for bind in BINDINGS if not unavailable_binding(launcher, bind)]
    told = {(made(launcher.name, bind).argv, tuple(made(launcher.name, bind).variables.items())) for bind in kinds}
    assert len(told) == len(kinds)
    assert "none" in kinds


def test_every_identified_launcher_exists() -> None:
    for mark in MARKS:
        assert launcher_named(mark.launcher)
    assert launcher_named("mpiexec")


def test_hydra() -> None:
    result = made("hydra", "core", A="1")
    assert result.argv == ("/m/bin/launch", "-n", "2", "-bind-to", "core", "-genv", "A", "1", *PROGRAM)


def test_intel_binds_by_variables() -> None:
    result = made("hydra-intel", "none")
    assert result.variables == {"I_MPI_PIN": "off"}
    assert result.argv == ("/m/bin/launch", "-n", "2", *PROGRAM)


def test_open_mpi_5() -> None:
    result = made("prterun", "socket", library="openmpi", OMPI_MCA_btl="self,tcp", UCX_TLS="tcp")
    assert result.argv == ("/m/bin/launch", "-n", "2", "--bind-to", "package", "-x", "UCX_TLS=tcp", *PROGRAM)


def test_more_ranks_than_cores() -> None:
    assert made("prterun", "core", ranks=4, cores=2).argv[3:7] == (
        "--map-by",
        ":OVERSUBSCRIBE",
        "--bind-to",
        "core:overload-allowed",
    )
    assert "--oversubscribe" in made("orterun", "none", ranks=4, cores=2).argv
    assert "--oversubscribe" not in made("orterun", "none", ranks=2, cores=2).argv
    assert "--overcommit" in made("srun", "core", ranks=4, cores=2).argv


@pytest.mark.parametrize(("library", "token"), [("mpich", "--mpi=pmi2"), ("openmpi", "--mpi=pmix")])
def test_srun_speaks_what_the_library_understands(library: str, token: str) -> None:
    assert token in made("srun", "core", library=library).argv


def test_srun_leaves_the_users_choice() -> None:
    result = command(launcher_named("srun"), "srun", "mpich", 2, "core", {}, PROGRAM, 2, {"SLURM_MPI_TYPE": "x"})
    assert not any(token.startswith("--mpi=") for token in result.argv)


def test_unknown_launcher() -> None:
    with pytest.raises(UsageError, match="known are hydra"):
        launcher_named("nope")
