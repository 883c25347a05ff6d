# SPDX-License-Identifier: Apache-2.0
"""Command lines, without starting anything."""

from __future__ import annotations

import pytest

from slowpath.core.errors import UsageError
from slowpath.mpi.launchers import (
    BINDINGS,
    LAUNCHERS,
    NOT_RUN,
    RANK_VARIABLES,
    SPREADS,
    Command,
    Launcher,
    RankPlacement,
    command,
    launcher_named,
    unavailable_binding,
    unavailable_place,
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
    assert result.argv[result.argv.index("-n") + 1] == "3"
    assert result.variables["UCX_TLS"] == "tcp,self"
    assert not any("{" in token for token in result.argv)


def test_what_is_known_of_a_launcher_stands_in_its_row() -> None:
    assert not launcher_named("mpiexec").version_line
    for launcher in LAUNCHERS:
        assert not (launcher.library and launcher.batch), launcher.name
        assert launcher.version_line or launcher.batch or launcher.name == "mpiexec"
    assert RANK_VARIABLES == ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "FLUX_TASK_RANK")


def test_hydra() -> None:
    result = made("hydra", "core", A="1")
    assert result.argv == ("/m/bin/launch", "-n", "2", "-bind-to", "core", "-genv", "A", "1", *PROGRAM)


@pytest.mark.parametrize("launcher", LAUNCHERS, ids=lambda launcher: launcher.name)
@pytest.mark.parametrize("bind", BINDINGS)
def test_a_mask_is_kept_by_those_that_would_leave_it(launcher: Launcher, bind: str) -> None:
    if unavailable_binding(launcher, bind):
        return
    usual, kept = (
        command(launcher, "/m/bin/launch", "mpich", 2, bind, {}, PROGRAM, 4, place=RankPlacement(processors=processors))
        for processors in ((), (8, 10))
    )
    if bind == "core" and launcher.name == "hydra":
        assert kept.argv == ("/m/bin/launch", "-n", "2", "-bind-to", "user:8,10", *PROGRAM)
    elif bind == "core" and launcher.name == "prterun":
        assert kept.argv == usual.argv
        assert kept.variables == {"PRTE_MCA_hwloc_default_cpu_list": "8,10"}
    else:
        assert kept == usual


def test_open_mpi_5() -> None:
    result = made("prterun", "socket", library="openmpi", OMPI_MCA_btl="self,tcp", UCX_TLS="tcp")
    assert result.argv == ("/m/bin/launch", "-n", "2", "--bind-to", "package", "-x", "UCX_TLS=tcp", *PROGRAM)


# Whole lines for launchers that nobody here has, each as its documentation spells it.
@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        # flux-run(1): -n, -N; flux-shell(1): -o cpu-affinity=per-task; --requires=host: takes a hostlist (RFC 35, 29).
        ("flux", "run -n 4 -N 2 --requires=host:n1,n2 -o cpu-affinity=per-task"),
        # ALCF, "Running Jobs on Polaris": -n, --ppn, --hosts, --cpu-bind, --env of PALS.
        ("pals", "-n 4 --ppn 2 --hosts=n1,n2 --cpu-bind=core --env A=1"),
        # Cray, S-2496, "Using the aprun Command": -n, -N, -L, -cc.  Variables go along by themselves.
        ("aprun", "-n 4 -N 2 -L n1,n2 -cc cpu"),
        # IBM, "jsrun command"; OLCF, Summit user guide: -n sets of -a ranks and -c cores, -r of them on a host.
        ("jsrun", "-n 4 -a 1 -c 1 -r 2 -b packed:1 -E A=1"),
    ],
)
def test_lines_of_launchers_that_could_not_be_run(name: str, tokens: str) -> None:
    launcher = launcher_named(name)
    place = RankPlacement(nodes=2, per_node=2, hosts=("n1", "n2") if launcher.hosts else ())
    made = command(launcher, "/b/launch", "mpich", 4, "core", {"A": "1"}, PROGRAM, 64, {}, place)
    assert made.argv == ("/b/launch", *tokens.split(), *PROGRAM)
    assert launcher.verified == NOT_RUN


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


def test_every_launcher_tells_its_traps_and_what_it_was_run_with() -> None:
    for launcher in LAUNCHERS:
        assert launcher.traps, launcher.name
        assert launcher.verified, launcher.name
    assert len({launcher.name for launcher in LAUNCHERS}) == len(LAUNCHERS)


def placed(name: str, place: RankPlacement, ranks: int = 2, cores: int = 4) -> Command:
    return command(launcher_named(name), "/m/launch", "mpich", ranks, "none", {}, PROGRAM, cores, {}, place)


@pytest.mark.parametrize("launcher", LAUNCHERS, ids=lambda launcher: launcher.name)
def test_every_launcher_and_place(launcher: Launcher) -> None:
    places = [RankPlacement(spread=spread) for spread in SPREADS]
    places += [RankPlacement(nodes=2, per_node=1), RankPlacement(nodes=2, per_node=1, hosts=("n1", "n2"))]
    plain = placed(launcher.name, RankPlacement())
    for place in places:
        if unavailable_place(launcher, place):
            with pytest.raises(UsageError, match=launcher.name):
                placed(launcher.name, place)
            continue
        made = placed(launcher.name, place)
        assert made != plain
        assert not any("{" in token for token in made.argv)
        if place.hosts:
            assert any("n1" in token and "n2" in token for token in made.argv)


@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        ("hydra", ("-ppn", "1", "-hosts", "n1,n2")),
        ("hydra-intel", ("-ppn", "1", "-hosts", "n1,n2")),
        ("prterun", ("--host", "n1:1,n2:1", "--map-by", "ppr:1:node")),
        ("srun", ("-N", "2", "--ntasks-per-node=1", "--nodelist=n1,n2")),
        ("flux", ("-N", "2", "--requires=host:n1,n2")),
        ("aprun", ("-N", "1", "-L", "n1,n2")),
        ("pals", ("--ppn", "1", "--hosts=n1,n2")),
    ],
)
def test_a_rank_on_each_of_two_nodes(name: str, tokens: tuple[str, ...]) -> None:
    made = placed(name, RankPlacement(nodes=2, per_node=1, hosts=("n1", "n2")))
    start = made.argv.index(tokens[0], 1 if name == "aprun" else 0)
    assert made.argv[start : start + len(tokens)] == tokens
