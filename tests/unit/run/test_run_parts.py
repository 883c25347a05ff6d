# SPDX-License-Identifier: Apache-2.0
"""Parts of a run: choice of MPIs, places, progress, patience, slow cells."""

from __future__ import annotations

import io
import shutil
from collections import namedtuple
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from slowpath.cli.main import exit_code
from slowpath.core.errors import EnvironmentFailure, UsageError
from slowpath.core.plan import Environment, Placement, Plan
from slowpath.mpi import find
from slowpath.mpi.launchers import RankPlacement
from slowpath.plan.cost import FEWEST_ROUNDS, launch_parts_s, needed_bytes
from slowpath.record.folder import LaunchInfo, read_launches
from slowpath.run import measure
from slowpath.run.execute import CellTimes, Execution
from slowpath.run.machine import machine_facts
from slowpath.run.measure import RESERVE_BYTES, require_space
from slowpath.run.prepare import MpiCommands, choose_mpis, command_lines, cores_for, place_of, require_job
from slowpath.run.process import failure_line, signal_in
from slowpath.run.progress import Quiet, duration
from slowpath.run.schedule import Against, Patience, RunLimits

MakePlan = Callable[..., Plan]
Usage = namedtuple("Usage", "total used free")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (59.4, "59 s"), (60, "1 min 00 s"), (200, "3 min 20 s"), (3720, "1 h 02 min")]
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_room_on_the_disk(make_plan: MakePlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = make_plan(["ok"], rounds=2)
    assert needed_bytes(make_plan(["ok"], rounds=4)) == 2 * needed_bytes(plan)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1, 1, needed_bytes(plan) + RESERVE_BYTES))
    require_space(tmp_path, plan)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1, 1, needed_bytes(plan)))
    with pytest.raises(EnvironmentFailure, match="or name another place"):
        require_space(tmp_path, plan)


def test_command_lines_can_be_pasted(make_plan: MakePlan, fake_commands: MpiCommands) -> None:
    plan = make_plan(["ok"], 1, [Environment("e", {"UCX_TLS": "tcp,self", "X": "a b"})])
    (line,) = command_lines(fake_commands, plan, Path("RUN"))
    assert line.startswith(f"UCX_TLS=tcp,self X='a b' {fake_commands.mpi.mpiexec} -n 2 ")
    assert line.endswith("--plan RUN/launches/000001/plan.txt --out RUN/launches/000001")


def test_machine_facts_keep_only_telling_variables() -> None:
    facts = machine_facts({"UCX_TLS": "tcp", "SECRET_TOKEN": "x", "HOME": "/h"})
    assert facts["variables"] == {"UCX_TLS": "tcp"}
    assert facts["variables_not_recorded"] == {}
    assert facts["kernel"]
    assert facts["memory_bytes"] > 2**20


VERSIONS = {
    "mpich": "HYDRA build details:\n    Version:                                 5.0.2\n",
    "openmpi": "mpiexec (Open MPI) 5.0.11\n",
    "intelmpi": "Intel(R) MPI Library for Linux* OS, Version 2021.18.1 Build 20260626\n",
}


def ask(argv: list[str], environ: Mapping[str, str]) -> str | None:
    """A launcher prints the version of the library in whose folder it lies."""
    return VERSIONS.get(Path(argv[0]).parents[1].name.partition("-")[0]) if argv[1:] == ["--version"] else ""


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A machine with MPICH and Open MPI on its PATH, and a second MPICH that is not on it."""
    monkeypatch.setattr(find, "embedded_folders", lambda: [])
    monkeypatch.setattr(find, "WELL_KNOWN", ())
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in ("mpich", "openmpi", "mpich-other"):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "bin" / "mpiexec").touch(0o755)
    return {"PATH": f"{tmp_path}/mpich/bin:{tmp_path}/openmpi/bin", "XDG_DATA_HOME": str(tmp_path / "data")}


def names(option: str | None, campaign: list[str] | None, environ: Mapping[str, str]) -> list[str]:
    return [mpi.name for mpi in choose_mpis(option, campaign, environ, ask).mpis]


def test_one_mpi_unless_several_are_asked_for(environ: dict[str, str]) -> None:
    assert names(None, None, environ) == ["mpich"]
    assert names("openmpi", None, environ) == ["openmpi"]


def test_the_option_goes_before_the_variable_and_that_before_the_campaign(environ: dict[str, str]) -> None:
    campaign = ["openmpi", "mpich"]
    assert names(None, campaign, environ) == ["openmpi", "mpich"]
    environ["SLOWPATH_MPI"] = "mpich"
    assert names(None, campaign, environ) == ["mpich"]
    assert names("openmpi", campaign, environ) == ["openmpi"]


def test_all_is_every_installation_once(environ: dict[str, str], tmp_path: Path) -> None:
    environ["PATH"] += f":{tmp_path}/mpich-other/bin"
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "mpiexec").symlink_to(tmp_path / "mpich" / "bin" / "mpiexec")
    environ["PATH"] += f":{tmp_path}/again"
    for chosen in (choose_mpis("all", None, environ, ask), choose_mpis(None, ["all"], environ, ask)):
        assert [mpi.name for mpi in chosen.mpis] == ["mpich", "openmpi", "mpich"]
        assert chosen.unbuilt == "leave out"


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("mpich,intelmpi", "--mpi intelmpi: no such MPI here"),
        ("intelmpi", "--mpi intelmpi: no such MPI here"),
        ("mpich,opnmpi", "did you mean openmpi"),
        ("mpich,", "'' is not an MPI"),
        ("mpich,all", "all and other names can't be combined"),
        ("mpich,mpich", "'mpich' is listed twice"),
    ],
)
def test_what_the_option_names_must_be_there(environ: dict[str, str], option: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as error:
        choose_mpis(option, None, environ, ask)
    assert "\n" not in str(error.value)


def test_a_loaded_library_that_the_campaign_does_not_name_comes_first_and_the_embedded_one_stands_back(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cray MPICH, by its module, CC and srun; MPICH came with Python, and Open MPI is named by the campaign."""
    monkeypatch.setattr(find, "embedded_folders", lambda: [tmp_path / "mpich" / "bin"])
    monkeypatch.setattr(find, "_is_packaged", lambda: True)
    (tmp_path / "cray").mkdir()
    for name in ("CC", "srun"):
        (tmp_path / "cray" / name).touch(0o755)
    loaded = {"CRAY_MPICH_VERSION": "8.1.29", "PE_ENV": "GNU", "PATH": f"{tmp_path}/mpich/bin:{tmp_path}/cray"}
    plain = {**environ, "PATH": f"{tmp_path}/mpich/bin"}
    assert names(None, ["mpich", "openmpi"], plain) == ["mpich"]

    def ask_slurm(argv: list[str], variables: Mapping[str, str]) -> str | None:
        return "slurm 23.02.7\n" if argv[0].endswith("srun") else ask(argv, variables)

    chosen = choose_mpis(None, ["mpich", "openmpi"], environ | loaded, ask_slurm)
    assert [mpi.identity for mpi in chosen.mpis] == ["craympich 8.1.29"]
    assert "--mpi craympich,embedded" in chosen.missing["mpich"]
    both = choose_mpis("craympich,embedded", None, environ | loaded, ask_slurm)
    assert [mpi.name for mpi in both.mpis] == ["craympich", "mpich"]
    with pytest.raises(EnvironmentFailure, match="needs a job"):
        require_job(chosen.mpis, environ | loaded)
    require_job(chosen.mpis, environ | loaded | {"SLURM_JOB_ID": "7"})
    require_job(both.mpis, environ | loaded)  # asked for by name


def test_place() -> None:
    placement = Placement("pair n1 n2", nodes=2, ranks_per_node=1, hosts=["n1", "n2"])
    assert place_of(placement) == RankPlacement(None, 2, 1, ("n1", "n2"))


def test_ranks_are_kept_on_the_processors_of_a_mask_that_holds_them() -> None:
    assert place_of(Placement("bound"), 2, (8, 10)).processors == (8, 10)
    assert place_of(Placement("neighbours", spread="core"), 2, (8, 10)).processors == (8, 10)
    assert place_of(Placement("bound"), 3, (8, 10)).processors == (), "they would share a core"
    assert place_of(Placement("apart", spread="socket"), 2, (8, 10)).processors == ()
    assert place_of(Placement("pair", nodes=2, ranks_per_node=1), 2, (8, 10)).processors == ()


def test_cores_are_those_of_the_nodes_in_use() -> None:
    assert cores_for(Placement("any"), 8, 4) == 8
    assert cores_for(Placement("one", nodes=1), 8, 4) == 2


def reached(folder: Path, plan: Plan, commands: MpiCommands, limits: RunLimits) -> list[LaunchInfo]:
    Execution(folder, plan, commands, limits, Quiet(io.StringIO())).execute()
    return read_launches(folder)


@pytest.mark.needs("minutes")
def test_patience_ends_a_launch_that_does_not_move_by_what_it_was_estimated_to_take(
    run_folder: Path, make_plan: MakePlan, fake_commands: MpiCommands
) -> None:
    """One line says so, the other cells are measured, and no launch of the rounds to come is left out for its time."""
    heard, plan = io.StringIO(), make_plan(["ok", "hang", "ok"], rounds=3)
    limits = RunLimits(cell_timeout_s=600.0, budget_s=300.0, patience=Patience(launch_s=1.5))
    result = Execution(run_folder, plan, fake_commands, limits, Quiet(heard)).execute()
    infos = sorted(read_launches(run_folder), key=lambda info: info.started)
    assert [info.ended for info in infos] == ["hung", "hung", "ok", "ok"]
    assert (result.cells_ok, result.launches_ok) == (6, 2)
    said = "hung: no progress for 30 s (longest step: 1.50 s)"
    assert [line for line in heard.getvalue().splitlines() if "hang" in line] == [
        f"launch {info.launch:06d}: hang 0: {said}" for info in infos[:2]
    ]
    assert all(30.0 <= (info.wall_s or 0.0) < limits.cell_timeout_s for info in infos[:2])


def test_a_run_is_patient_by_its_plan_unless_the_user_sets_a_limit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def resume(*arguments: Any) -> None:
        limits = arguments[3]
        raise EnvironmentFailure(f"{limits.cell_timeout_s:g} s at most, {limits.patience}")

    monkeypatch.setattr(measure, "resume", resume)
    for more, said in (([], f"60 s at most, {Patience()}"), (["--cell-timeout", "90s"], "90 s at most, None")):
        assert exit_code(["run", "--resume", "x", *more]) == 4
        assert said in capsys.readouterr().err


@pytest.mark.needs("minutes")
def test_patience_does_not_end_a_launch_that_is_held_against_others(
    run_folder: Path, make_plan: MakePlan, fake_commands: MpiCommands
) -> None:
    """How slow the user's own state is, is the result; a clean launch that hangs is a hang."""
    plan = make_plan(["hang"], environments=[Environment("clean"), Environment("yours")])
    against = Against("clean", "free", times=8.0, least_s=2.0, unknown_s=50.0)
    limits = RunLimits(cell_timeout_s=600.0, against=against, patience=Patience())
    infos = reached(run_folder, plan, fake_commands, limits)
    yours = [info.reason for info in infos if info.environment == "yours"]
    assert yours == [against.words]
    clean = [info for info in infos if info.environment == "clean"]
    assert [info.ended for info in clean] == ["hung", "hung"]
    assert all(info.reason is not None and info.reason.startswith("no progress for 10 s") for info in clean)


LENGTHS = (8, 8, 2**20, 2**20, 2**20)


def plan_of_lengths(make_plan: MakePlan) -> Plan:
    plan = make_plan(["ok"] * len(LENGTHS), rounds=10)
    sized = [
        replace(cell, parameters={"message_bytes": str(length)})
        for cell, length in zip(plan.cells, LENGTHS, strict=True)
    ]
    return replace(plan, cells=sized)


def estimated_s(plan: Plan) -> float:
    """Of a cell."""
    ((_, cells_s),) = launch_parts_s(plan).values()
    assert len(set(cells_s)) == 1
    return cells_s[0]


def held(times: CellTimes, plan: Plan, launch: int, left_s: float) -> tuple[int, ...]:
    planned = plan.launches[launch]
    return times.held(planned, planned.cells, plan.launches[launch:], left_s)


def test_every_launch_measures_all_cells_where_they_take_what_was_estimated(make_plan: MakePlan) -> None:
    plan = plan_of_lengths(make_plan)
    times, each_s = CellTimes(plan), estimated_s(plan)
    assert held(times, plan, 0, left_s=0.1) == tuple(plan.launches[0].cells)
    times.saw(plan.launches[0], {cell.cell: 2 * each_s for cell in plan.cells})
    assert held(times, plan, 1, left_s=0.1) == tuple(plan.launches[1].cells)


def test_the_slowest_are_put_off_until_the_others_have_their_rounds(make_plan: MakePlan) -> None:
    plan = plan_of_lengths(make_plan)
    times, each_s = CellTimes(plan), estimated_s(plan)
    took_s = {cell.cell: each_s * (1000 if cell.cell == 3 else 1) for cell in plan.cells}
    (start_s, _) = next(iter(launch_parts_s(plan).values()))
    fits_s = 1.2 * FEWEST_ROUNDS * (start_s + len(took_s) * each_s)
    for launch in range(FEWEST_ROUNDS):
        expected = {0, 1, 2, 3, 4} - ({3} if launch else set())
        assert set(held(times, plan, launch, fits_s)) == expected
        times.saw(plan.launches[launch], {cell: took_s[cell] for cell in expected})
    assert set(held(times, plan, FEWEST_ROUNDS, fits_s)) == {0, 1, 2, 3, 4}


def test_a_launch_that_stands_still_is_hung_and_not_slow(
    run_folder: Path, make_plan: MakePlan, fake_commands: MpiCommands
) -> None:
    """Its cell is named, and the others are measured in a launch that goes on."""
    limits = RunLimits(cell_timeout_s=3.0, fair_s=60.0)
    Execution(run_folder, make_plan(["ok", "hang", "ok"]), fake_commands, limits, Quiet(io.StringIO())).execute()
    first, second = read_launches(run_folder)
    assert (first.ended, [cell.cell for cell in first.failed_cells]) == ("hung", [1])
    assert second.continues == first.launch


HYDRA_ABORT = """
===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 7551 RUNNING AT vm
=   EXIT CODE: 9
=   CLEANING UP REMAINING PROCESSES
=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES
===================================================================================
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Terminated (signal 15)
This typically refers to a problem with your application.
Please see the FAQ page for debugging suggestions
"""
INTEL_ABORT = """
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   RANK 0 PID 7570 RUNNING AT vm
=   KILLED BY SIGNAL: 9 (Killed)
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   RANK 1 PID 7571 RUNNING AT vm
=   KILLED BY SIGNAL: 6 (Aborted)
"""
OPEN_MPI_ABORT = """[vm:07560] *** Process received signal ***
[vm:07560] Signal: Aborted (6)
[vm:07560] [ 0] /lib/x86_64-linux-gnu/libc.so.6(+0x3c050)[0x7f8859e5a050]
[vm:07560] *** End of error message ***
--------------------------------------------------------------------------
prterun noticed that process rank 1 with PID 7560 on node vm exited on
signal 6 (Aborted).
"""
INTEL_INIT = """Abort(337265551) on node 0 (rank 0 in comm 0): Fatal error in internal_Init: Other MPI error, stack:
internal_Init(43633).........: MPI_Init(argc=0x7ffc, argv=0x7ffc) failed
"""
OPEN_MPI_PREFIX = """--------------------------------------------------------------------------
A prefix was supplied to mpiexec that only contained slashes.

This is a fatal error; mpiexec will now abort.  No processes were launched.
--------------------------------------------------------------------------
"""
ENGINE = "warning: something failed before\nslowpath-engine: error: MPI_Send: truncated (rank 0 of 2 on vm, a.cpp:3)\n"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (ENGINE, "slowpath-engine: error: MPI_Send"),
        (INTEL_INIT, "Fatal error in internal_Init"),
        (OPEN_MPI_ABORT, "Signal: Aborted (6)"),
        (INTEL_ABORT, "KILLED BY SIGNAL: 6"),
        (OPEN_MPI_PREFIX, "A prefix was supplied to mpiexec that only contained slashes."),
        (HYDRA_ABORT, "EXIT STRING: Terminated"),
        ("x: error while loading shared libraries: libmpi.so.12: cannot open\nmore\n", "loading shared libraries"),
        ("just this\n\n", "just this"),
    ],
)
def test_failure_line(text: str, part: str) -> None:
    assert part in (failure_line(text) or "")


@pytest.mark.parametrize(
    ("code", "text", "name"),
    [
        (-11, "", "SIGSEGV"),
        (139, "", "SIGSEGV"),
        (134, OPEN_MPI_ABORT, "SIGABRT"),
        (255, INTEL_ABORT, "SIGABRT"),
        (15, HYDRA_ABORT, None),
        (1, "", None),
        (4, "", None),
    ],
)
def test_signal(code: int, text: str, name: str | None) -> None:
    assert signal_in(code, text) == name
