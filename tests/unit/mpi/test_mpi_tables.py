# SPDX-License-Identifier: Apache-2.0
"""Settings become variables, or a reason."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from slowpath.core.errors import UsageError
from slowpath.mpi.alternatives import PlaceFacts, all_alternatives, alternatives_of
from slowpath.mpi.find import LIBRARIES
from slowpath.mpi.guidelines import COLLECTIVES, GUIDELINES
from slowpath.mpi.launchers import (
    BINDINGS,
    LAUNCHERS,
    NOT_RUN,
    SPREADS,
    Command,
    Launcher,
    RankPlacement,
    command,
    launcher_named,
    unavailable_binding,
    unavailable_place,
)
from slowpath.mpi.libraries import EVERYWHERE, AppliesTo, words_of
from slowpath.mpi.mpi import Mpi, listed_by
from slowpath.mpi.own_settings import why_not
from slowpath.mpi.place import network_is_up
from slowpath.mpi.settings import NAMES, SETTINGS, Setting, resolve


@pytest.mark.parametrize("row", SETTINGS, ids=lambda row: f"{row.name}-{words_of(row.applies)}")
def test_row_is_reached(row: Setting) -> None:
    first = ".".join(map(str, row.applies.first))
    assert resolve(row.name, row.applies.library or "", first, row.applies.transport) == (dict(row.variables), None)
    assert row.applies.library in LIBRARIES


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("library", [*LIBRARIES, "unknown"])
@pytest.mark.parametrize("version", ["0.1", "2", "4.1.4", "5.0.2", "2021.18.1", None])
def test_variables_or_a_reason_never_both_nor_neither(name: str, library: str, version: str | None) -> None:
    variables, reason = resolve(name, library, version)
    assert bool(variables) != bool(reason)


def test_version_decides_open_mpis_spelling() -> None:
    assert "OMPI_MCA_smsc" in resolve("single_copy_off", "openmpi", "5.0.11")[0]
    assert "OMPI_MCA_btl_vader_single_copy_mechanism" in resolve("single_copy_off", "openmpi", "4.1.4")[0]


def test_mpich_over_ucx_needs_a_network_to_be_sent_there(tmp_path: Path) -> None:
    assert resolve("network_path", "mpich", "5.0.2", network=True)[0]["UCX_TLS"] == "^sm"
    assert "lo" in (resolve("network_path", "mpich", "5.0.2", network=False)[1] or "")
    assert resolve("single_copy_off", "mpich", "5.0.2", network=False)[1] is None
    head = "Iface\tDestination\tGateway\n"
    four, six = tmp_path / "route", tmp_path / "ipv6_route"
    assert network_is_up((four, six))
    four.write_text(head)
    assert not network_is_up((four, six))
    six.write_text(f"{'0' * 32} 80 {'0' * 32} 00 {'0' * 32} 00000100 00000001 00000000 80200001       lo\n")
    assert not network_is_up((four, six))
    four.write_text(head + "eth0\t00000000\t0101A8C0\n")
    assert network_is_up((four, six))


@pytest.mark.parametrize(
    ("versions", "inside", "outside"),
    [
        ("", ["0.1", "5.0.2"], [None, "x"]),
        (">=4.2", ["4.2", "4.2.1", "5"], ["4.1.4", "4", None]),
        (">=2,<5", ["2", "4.1.4"], ["1.9", "5", "5.0.11"]),
        ("<5", ["4.9"], ["5"]),
    ],
)
def test_a_range_of_versions(versions: str, inside: list[str | None], outside: list[str | None]) -> None:
    row = AppliesTo("openmpi", versions)
    assert all(row.fits("openmpi", version) for version in inside)
    assert not any(row.fits("openmpi", version) for version in outside)


def test_library_and_transport_have_to_be_the_rows_own() -> None:
    row = AppliesTo("openmpi", ">=5", "ucx")
    assert row.fits("openmpi", "5.0.11", "ucx")
    assert not row.fits("openmpi", "5.0.11")
    assert not row.fits("mpich", "5.0.2", "ucx")
    assert AppliesTo("openmpi").fits("openmpi", "5", "")
    assert not AppliesTo("openmpi").fits("openmpi", "5", "ucx")
    assert EVERYWHERE.fits("unknown", None)
    assert (words_of(row), words_of(EVERYWHERE)) == ("Open MPI from 5, over UCX", "every library")
    with pytest.raises(ValueError, match="range of versions"):
        AppliesTo("mpich", "4.2+")


# Command lines, without starting anything.


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


def test_every_launcher_tells_what_it_was_run_with() -> None:
    for launcher in LAUNCHERS:
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


# The table of guidelines against the mock-ups that the engine has.


ENGINE = Path(__file__).parents[3] / "engine" / "mockups"
IN_ENGINE = {
    (collective, name)
    for source in ENGINE.glob("*.cpp")
    for name, collective in re.findall(r'\{"([^"]+)",\s*Collective::(\w+),', source.read_text(encoding="utf-8"))
}
#: Träff, Gropp, Thakur 2010, and the mock-ups of PGMPITuneLib.
DEMANDED = """
allgather <= allgatherv, allreduce, alltoall, gather+bcast
allreduce <= reduce+bcast, reduce_scatter_block+allgather, reduce_scatter+allgatherv
alltoall <= alltoallv
bcast <= allgatherv, scatter+allgather
gather <= allgather, gatherv, reduce
reduce <= allreduce, reduce_scatter_block+gather, reduce_scatter+gatherv, reduce_scatter
reduce_scatter_block <= reduce+scatter, reduce_scatter, allreduce
reduce_scatter <= allreduce, reduce+scatterv
scan <= exscan+reduce_local, allgather+reduce_local
scatter <= bcast, scatterv
"""


def test_what_the_guidelines_name_is_what_the_engine_has() -> None:
    assert len(IN_ENGINE) > 40
    named = {(guideline.collective, guideline.mockup) for guideline in GUIDELINES}
    assert named == {pair for pair in IN_ENGINE if pair[1] != "nonblocking"}


def test_collectives_are_those_of_the_engine_in_its_order() -> None:
    names = (ENGINE / "names.cpp").read_text(encoding="utf-8")
    assert tuple(re.findall(r'^    "(\w+)",$', names, re.MULTILINE)) == COLLECTIVES


@pytest.mark.parametrize("line", DEMANDED.strip().splitlines())
def test_every_guideline_of_the_literature_is_there(line: str) -> None:
    collective, _, mockups = line.partition(" <= ")
    assert {guideline.mockup for guideline in GUIDELINES if guideline.collective == collective} >= set(
        mockups.split(", ")
    )


# The table of alternatives: what holds for each row, and which rows apply to a job.


MEASURED = ("short messages", "long messages", "MPI_Allreduce", "one-sided")
OPEN_MPI = {"osc_sm_priority", "coll_han_priority", "coll_tuned_priority", "part_persist_free_list_num"}


def rows_of(library: str, version: str, facts: PlaceFacts, transport: str | None = None) -> dict[str, dict[str, str]]:
    """Names of the rows that apply, and their variables."""
    alternatives = alternatives_of(library, version, transport, facts, {}, MEASURED)
    return {row.name: dict(row.variables) for row in alternatives.rows}


def test_every_library_has_rows() -> None:
    counts = Counter(row.applies.library or row.applies.transport for row in all_alternatives())
    assert all(counts[name] >= 5 for name in ("openmpi", "mpich", "intelmpi", "craympich", "ucx"))


def test_names_are_unique_in_a_library() -> None:
    counts = Counter((row.applies.library, row.name) for row in all_alternatives())
    assert [name for name, count in counts.items() if count > 1] == []


def test_names_fit_an_environment_of_a_campaign() -> None:
    assert max(len(row.name) for row in all_alternatives()) <= 60


def test_each_row_sets_something_and_may_change_something() -> None:
    for row in all_alternatives():
        assert row.variables, row.name
        assert row.operations, row.name


def test_each_value_may_be_recorded() -> None:
    unfit = [
        (row.name, name) for row in all_alternatives() for name, value in row.variables.items() if why_not(name, value)
    ]
    assert unfit == []


def test_a_module_that_is_not_built_is_left_out() -> None:
    alternatives = alternatives_of("openmpi", "5.0.11", None, PlaceFacts(2, listed=frozenset(OPEN_MPI)), {}, MEASURED)
    names = {row.name for row in alternatives.rows}
    assert {"osc sm", "coll ^han", "part ^persist"} <= names
    assert "osc ucx" in alternatives.left_out
    assert "osc_ucx_priority" in alternatives.left_out["osc ucx"]
    assert "osc ucx" in alternatives.left_out


def test_a_library_that_can_not_be_asked_may_have_every_module() -> None:
    assert "osc ucx" in rows_of("openmpi", "5.0.11", PlaceFacts(2))


def test_rows_for_networks_need_nodes() -> None:
    alone, two = PlaceFacts(2), PlaceFacts(2, nodes=2)
    alternatives = alternatives_of("mpich", "5.0.2", None, two, {}, (*MEASURED, "messages between nodes"))
    names = {row.name for row in alternatives.rows}
    assert "netmod ofi" in names
    assert "netmod ofi" not in rows_of("mpich", "5.0.2", alone)
    assert "CMA on" not in names
    assert "CMA on" in rows_of("mpich", "5.0.2", alone)


def test_rows_for_gpu_memory_need_a_gpu() -> None:
    listed = frozenset({"coll_accelerator_priority"})
    assert "coll ^accelerator" not in rows_of("openmpi", "5.0.11", PlaceFacts(2, listed=listed))
    assert "coll ^accelerator" in rows_of("openmpi", "5.0.11", PlaceFacts(2, gpus=1, listed=listed))


def test_what_nothing_measures_is_left_out() -> None:
    alternatives = alternatives_of("mpich", "5.0.2", None, PlaceFacts(2), {}, ("MPI_Allreduce",))
    assert "long messages" in alternatives.left_out["CMA on"]
    assert "shared collectives at once" in {row.name for row in alternatives.rows}


def test_a_variable_of_the_user_stays() -> None:
    alternatives = alternatives_of("openmpi", "5.0.11", None, PlaceFacts(2), {"OMPI_MCA_btl": "self,tcp"}, MEASURED)
    assert alternatives.left_out["btl self,sm"] == "you set OMPI_MCA_btl yourself"
    assert not [row.name for row in alternatives.rows if "OMPI_MCA_btl" in row.variables]


def test_ucx_is_for_libraries_that_it_carries() -> None:
    assert "ucx protocols v1" in rows_of("openmpi", "5.0.11", PlaceFacts(2), "ucx")
    assert "ucx protocols v1" not in rows_of("openmpi", "5.0.11", PlaceFacts(2))


def test_an_installed_library_has_the_names_of_its_rows(mpi: Mpi) -> None:
    listed = listed_by(mpi, os.environ)
    rows = [
        row for row in all_alternatives() if row.applies.library == mpi.name and row.applies.fits(mpi.name, mpi.version)
    ]
    built = [row for row in rows if row.why_not(PlaceFacts(64, 2, 1, listed)) is None]
    own = {name for row in built for name in row.variables if not name.startswith(("FI_", "UCX_"))}
    assert len(built) > 7
    if mpi.name == "intelmpi":
        text = next(mpi.prefix.glob("lib/**/libmpi.so.12")).read_bytes()
        assert [name for name in own if name.encode() not in text] == []
    else:
        assert listed is not None
        assert [name for name in own if name.removeprefix("OMPI_MCA_") not in listed] == []
