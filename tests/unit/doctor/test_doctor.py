# SPDX-License-Identifier: Apache-2.0
"""What the doctor says of the batch system; which one it is, is tested in tests/unit/mpi."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from slowpath.core.run_results import MessagePath
from slowpath.doctor import gpu, registry
from slowpath.doctor.check import abilities
from slowpath.doctor.registry import allocation, asked, blas_check, conclusion, own_settings_check, unbuilt
from slowpath.mpi.mpi import Mpi
from slowpath.mpi.own_settings import OwnSetting, own_settings
from slowpath.run.engine.build import BlasInSight
from slowpath.run.process import LaunchedJob, Outcome


@pytest.mark.parametrize(
    ("environ", "value"),
    [
        ({}, "none"),
        ({"JOB_ID": "7"}, "none"),
        ({"SLURM_JOB_ID": "7"}, "Slurm job 7, 1 node"),
        ({"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-3]"}, "Slurm job 7, 3 nodes"),
        ({"PBS_JOBID": "7.server"}, "PBS job 7.server, 1 node"),
        ({"LSB_JOBID": "7", "LSB_MCPU_HOSTS": "a 2 b 2"}, "LSF job 7, 2 nodes"),
        ({"FLUX_URI": "x", "FLUX_JOB_NNODES": "2", "FLUX_JOB_ID": "f3"}, "Flux job f3, 2 nodes"),
        ({"FLUX_URI": "x", "FLUX_JOB_NNODES": "2"}, "Flux, 2 nodes"),
        ({"JOB_ID": "7", "SGE_TASK_ID": "undefined"}, "Grid Engine job 7, 1 node"),
        ({"COBALT_JOBID": "7", "COBALT_JOBSIZE": "8"}, "Cobalt job 7, 8 nodes"),
    ],
)
def test_each_batch_system_by_its_name(environ: dict[str, str], value: str) -> None:
    check = allocation(environ)
    assert (check.value, check.status) == (value, "ok")


# What the doctor says of the user's settings.


def test_none() -> None:
    assert own_settings_check(own_settings({"PATH": "/bin", "PMI_RANK": "0"}), "mpich").value == "none"


def test_each_with_its_place_and_those_of_another_library() -> None:
    check = own_settings_check([OwnSetting("UCX_TLS", "tcp"), OwnSetting("OMPI_MCA_btl", "tcp", "/a", 3)], "openmpi")
    assert (check.status, check.value) == ("ok", "UCX_TLS=tcp, OMPI_MCA_btl=tcp (line 3 of /a)")
    check = own_settings_check(own_settings({"I_MPI_FABRICS": "shm", "UCX_TLS": "tcp"}), "mpich")
    assert check.status == "warn"
    assert check.means == "I_MPI_FABRICS: ignored: only Intel MPI reads it, and this is MPICH"


# What the doctor says of the BLAS.


OPENBLAS = ("OpenBLAS 0.3.34", "SkylakeX", "/opt/lib/libopenblas.so")
FAULTY = Path(__file__).parents[3] / "engine" / "studies" / "cannon" / "tests" / "faulty_blas.c"


def test_a_variable_that_chooses_the_code_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    check = blas_check(OPENBLAS, {"OPENBLAS_CORETYPE": "Haswell"})
    assert check.status == "warn"
    assert "OPENBLAS_CORETYPE=Haswell" in check.means
    assert check.do == "unset OPENBLAS_CORETYPE"
    monkeypatch.setenv("BLIS_ARCH_TYPE", "0")
    monkeypatch.setattr(registry, "_plugin", lambda: None)
    monkeypatch.setattr(
        registry, "blas_in_sight", lambda environ: BlasInSight((Path("/usr/lib/libblis.so"),), None, "")
    )
    blas = registry.blas()
    assert blas.status == "warn"
    assert "BLIS_ARCH_TYPE=0" in blas.means


def test_before_the_engine_is_built() -> None:
    assert unbuilt(BlasInSight((Path("/usr/lib/libopenblas.so"),), None, ""), {}).value == "/usr/lib/libopenblas.so"
    package = unbuilt(BlasInSight((), Path("/x/scipy_openblas32"), ""), {})
    assert package.status == "ok"
    assert "scipy-openblas32" in (package.value or "")
    nothing = unbuilt(BlasInSight((), None, ""), {})
    assert nothing.status == "missing"
    assert "pip install 'slowpath[blas]'" in (nothing.do or "")


def test_the_engines_own_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = tmp_path / "libslowpath-toolchain.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(plugin), str(FAULTY)], check=True)
    for name in registry.STEERING:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(registry, "_plugin", lambda: plugin)
    assert registry.blas().value == "loops, faulty_blas.c"
    plugin.write_text("no library")
    assert registry.blas().status == "missing"


@pytest.mark.parametrize(
    ("gets", "mode", "possible"),
    [
        (True, None, True),
        (True, "never", True),
        (False, "madvise", True),
        (False, "never", False),
        (False, None, False),
    ],
)
def test_huge_pages_are_there_where_memory_gets_them(
    monkeypatch: pytest.MonkeyPatch, gets: bool, mode: str | None, possible: bool
) -> None:
    monkeypatch.setattr(registry, "gets_huge_pages", lambda: gets)
    monkeypatch.setattr(registry, "bracketed", lambda path: mode)
    check = registry.transparent_huge_pages()
    assert (check.status == "ok") == gets
    assert {each.task: each.possible for each in abilities([check])}["huge pages by madvise"] == possible


def test_a_process_that_may_have_no_huge_pages_gets_none() -> None:
    code = (
        "import ctypes; from slowpath.doctor.registry import gets_huge_pages; "
        "ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE := 41, 1, 0, 0, 0); print(gets_huge_pages())"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


# The doctor's line on what carries messages inside this node.


def row(**changes: Any) -> MessagePath:
    usual: dict[str, Any] = {
        "environment": "doctor", "scope": "on_node", "pairs": None, "layer": "library", "module": "pml ob1",
        "transport": "btl sm", "devices": [], "single_copy": "cma", "reason": None,
    }  # fmt: skip
    return MessagePath(**{**usual, **changes})


def test_shared_memory_is_said_with_its_module_and_copy() -> None:
    check = conclusion([row(), row(scope="between_nodes", transport="btl tcp")])
    assert (check.status, check.do) == ("ok", None)
    assert check.value is not None
    assert "pml ob1, btl sm (single copy by cma)" in check.value
    assert "tcp" not in check.value, "the line is about this node"


@pytest.mark.parametrize(
    "taken",
    [
        row(transport="btl tcp", single_copy=None),
        row(layer="ofi", module="fabric ofi", transport="provider tcp"),
        row(layer="ucx", module="pml ucx", transport="UCX tcp", devices=["lo"]),
        row(layer="ucx", module="pml ucx", transport="UCX rc_mlx5, self", devices=["mlx5_0:1"]),
    ],
)
def test_a_network_inside_the_node_is_warned_of(taken: MessagePath) -> None:
    assert conclusion([taken]).status == "warn"
    assert conclusion([row(layer="ucx", module="pml ucx", transport="UCX sysv, cma")]).status == "ok"


def test_what_is_not_said_is_no_warning_and_a_failed_job_is_one() -> None:
    unknown = row(layer=None, module=None, transport=None, single_copy=None, reason="it does not state")
    assert conclusion([unknown]).status == "ok"
    failed = conclusion("a job of two ranks crashed")
    assert (failed.status, failed.value, failed.means) == ("warn", None, "a job of two ranks crashed")


def test_the_library_is_asked_by_its_own_questions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: dict[str, Any] = {}

    def run(job: LaunchedJob) -> Outcome:
        seen.update(argv=job.argv, environ=job.environ)
        job.stdout.write_text("")
        job.stderr.write_text('MPI startup(): libfabric provider: tcp\nLoad tuning file: "/a/tuning_spr_shm-ofi.dat"\n')
        return Outcome("ok", 0, None, None, 0.1)

    monkeypatch.setattr(gpu, "run_jobs", lambda jobs: [run(job) for job in jobs])
    mpi = Mpi("intelmpi", "2021.18", "option", tmp_path, tmp_path / "mpiexec", None, "mpich", False, "hydra", "")
    engine = type("Kept", (), {"program": tmp_path / "slowpath-engine"})()
    answer = asked(mpi, engine, {})
    assert not isinstance(answer, str)
    assert [path.words for path in answer][:1] == ["messages on one node go by fabric shm, shared memory"]
    assert "I_MPI_DEBUG" in " ".join(seen["argv"]) + " ".join(seen["environ"])
