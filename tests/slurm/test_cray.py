# SPDX-License-Identifier: Apache-2.0
"""Cray MPICH as its users have it, by a stand-in (cray.py): CC, srun, the module's variables, no mpiexec."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest
from cluster import Cluster, Done
from cray import ANSWERS, SONAME, CrayMachine, cray_machine

from slowpath.core.files import data_folder
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.cache import dynamic
from watchdog import WATCHDOG_S

pytestmark = [
    pytest.mark.needs("root", "slurm", "iproute2", "no mpiexec"),
    pytest.mark.parametrize("mpi", ["embedded"], indirect=True),
]
SLOWPATH = [sys.executable, "-m", "slowpath.cli"]
SPELLED = {
    "CMA": {"MPICH_SMP_SINGLE_COPY_MODE": "CMA"},
    "XPMEM": {"MPICH_SMP_SINGLE_COPY_MODE": "XPMEM", "MPICH_GPU_SUPPORT_ENABLED": "0"},
    "no single copy": {"MPICH_SMP_SINGLE_COPY_MODE": "NONE"},
    "network path": {"MPICH_NO_LOCAL": "1"},
}


def environment(machine: CrayMachine, cache: Path) -> dict[str, str]:
    """That of a user in an activated Python environment: its folder first, and no mpiexec but the embedded one."""
    system = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"]
    folders = [str(Path(sys.executable).parent), str(machine.programs), *system]
    # The nodes are namespaces, joined by TCP.
    own = {"PATH": os.pathsep.join(folders), "SLOWPATH_CACHE_DIR": str(cache), "UCX_TLS": "tcp,self"}
    return {**machine.env, **own}


def in_a_job(slurm: Cluster, words: list[str], env: dict[str, str], folder: Path) -> Done:
    job = ["salloc", "--quiet", "-N", "2", "--ntasks-per-node=2", "--exclusive", *SLOWPATH, *words]
    done = slurm.run(job, env=env, cwd=folder, limit_s=WATCHDOG_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture
def machine(mpi: Mpi, engine_cache: Path) -> CrayMachine:
    return cray_machine(engine_cache / "cray", mpi, "8.1.29")


@pytest.fixture
def host_only(tmp_path: Path) -> Path:
    """The campaign pinned-host with what needs no GPU, and short."""
    text = (data_folder("campaigns") / "pinned-host.toml").read_text()
    for key, value in (("rounds", "1"), ("memory", '"host"'), ("message_bytes", '"1MiB"')):
        text = re.sub(rf"^{key} = .*", f"{key} = {value}", text, flags=re.MULTILINE)
    head, *contrasts = text.split("[[contrast]]")
    kept = [one for one in contrasts if 'axis = "memory"' not in one]
    (tmp_path / "host.toml").write_text("[[contrast]]".join([head, *kept]))
    return tmp_path / "host.toml"


def test_host_cells_of_pinned_host_in_a_job_without_mpiexec(
    slurm: Cluster, machine: CrayMachine, engine_cache: Path, host_only: Path
) -> None:
    in_a_job(
        slurm, ["run", str(host_only), "--out", "run", "--quiet"], environment(machine, engine_cache), host_only.parent
    )
    results = json.loads((host_only.parent / "run" / "results.json").read_text())
    mpi = results["run"]["mpi"]
    assert (mpi["name"], mpi["version"], mpi["launcher"]) == ("craympich", "8.1.29", "srun")
    assert mpi["library"] == ANSWERS["8.1.29"].partition("\\n")[0]
    assert not [line for line in results["verdict"]["lines"] if "was asked for" in line["text"]]
    assert {cell["status"] for cell in results["cells"]} == {"ok", "skipped"}
    skipped = [cell for cell in results["cells"] if cell["status"] == "skipped"]
    assert all("this node has no GPU driver" in json.dumps(cell) for cell in skipped)
    plan = json.loads((host_only.parent / "run" / "plan.json").read_text())
    assert {one["name"]: one["variables"] for one in plan["environments"] if one["variables"]} == SPELLED
    engine = Path(mpi["engine"]["path"]).parent
    needed = dynamic(engine / "slowpath-engine")
    assert needed is not None
    assert SONAME in needed.needed
    # What is preloaded into other programs brings no MPI with it.
    preloaded = ("witness", "pad", "count", "plant", "coll")
    for name in (f"libslowpath-{one}.so" for one in preloaded):
        found = dynamic(engine / name)
        assert found is not None
        assert not [one for one in found.needed if "libmpi" in one], name


@pytest.mark.parametrize("campaign", ["pinned-host", "overalloc", "put-overhead"])
def test_shipped_campaigns_are_planned_for_the_loaded_library(
    slurm: Cluster, machine: CrayMachine, engine_cache: Path, tmp_path: Path, campaign: str
) -> None:
    done = in_a_job(slurm, ["run", campaign, "--dry-run"], environment(machine, engine_cache), tmp_path)
    said = done.stdout + done.stderr
    assert "MPI: craympich 8.1.29 (PATH)" in done.stderr
    assert "no way is known" not in said
    assert "mpiexec" not in done.stdout
    if campaign == "pinned-host":
        spelled = [f"{name}={value}" for one in SPELLED.values() for name, value in one.items()]
        assert [one for one in spelled if one not in done.stdout] == []


def test_on_a_login_node_the_library_is_named_and_no_job_is_queued(
    slurm: Cluster, mpi: Mpi, machine: CrayMachine, engine_cache: Path, tmp_path: Path
) -> None:
    newer = cray_machine(engine_cache / "cray", mpi, "9.0.1")
    listed = slurm.run([*SLOWPATH, "mpi", "list"], env=environment(newer, engine_cache)).stdout
    assert listed.index("craympich 9.0.1") < listed.index("mpich 5")
    stale = {**environment(newer, engine_cache), "CRAY_MPICH_VERSION": "8.1.32"}
    checks = json.loads(slurm.run([*SLOWPATH, "doctor", "--json"], env=stale).stdout)
    (found,) = [check for check in checks["checks"] if check["name"] == "MPI"]
    assert found["status"] == "warn"
    assert "the module is Cray MPICH 8.1.32, but programs load 9.0.1" in found["means"]
    env = environment(machine, engine_cache)
    done = slurm.run([*SLOWPATH, "run", "checkup", "--out", str(tmp_path / "run")], env=env)
    assert done.returncode != 0
    assert "outside a job every launch would wait" in done.stderr
    assert not (tmp_path / "run").exists()
