# SPDX-License-Identifier: Apache-2.0
"""Which allocation an environment stands for."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowpath.core.errors import EnvironmentFailure
from slowpath.mpi.batch_systems import BATCH_SYSTEMS, NodeAllocation, expand_hostlist, find_allocation, names_in_file
from slowpath.mpi.launchers import launcher_named


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("n1", ["n1"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[08-10,2],login", ["n08", "n09", "n10", "n2", "login"]),
        ("r[1-2]n[1-2]-ib", ["r1n1-ib", "r1n2-ib", "r2n1-ib", "r2n2-ib"]),
    ],
)
def test_host_lists(text: str, names: list[str]) -> None:
    assert expand_hostlist(text) == names


def test_host_files() -> None:
    assert names_in_file(["# all", "n1:2", "n2 slots=1", "", "n2", "n3 # last"]) == ["n1", "n2", "n3"]


def test_slurm() -> None:
    environ = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_JOB_NUM_NODES": "2"}
    assert find_allocation(environ) == NodeAllocation("slurm", "7", 2, ("n1", "n2"), "srun")


def test_pbs(tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text("a\na\nb\nb\n")
    found = find_allocation({"PBS_JOBID": "7.server", "PBS_NODEFILE": str(tmp_path / "nodes")})
    assert found == NodeAllocation("pbs", "7.server", 2, ("a", "b"), "aprun")
    with pytest.raises(EnvironmentFailure, match="list of this job's nodes"):
        find_allocation({"PBS_JOBID": "7", "PBS_NODEFILE": str(tmp_path / "gone")})


@pytest.mark.parametrize(
    ("hosts", "names"),
    [
        ("a 40 b 40", ("a", "b")),
        ("batch1 1 a 40 b 40", ("a", "b")),  # for jsrun, from a launch node (Summit user guide, OLCF)
        ("batch1 1 a 40", ("a",)),
        ("a 1", ("a",)),
        ("a 1 b 1 c 2", ("a", "b", "c")),  # of slots wherever they were free (bsub -n 4): all of them hold ranks
        ("a 1 b 2 c 4", ("a", "b", "c")),
    ],
)
def test_lsf_leaves_the_launch_node_out(hosts: str, names: tuple[str, ...]) -> None:
    """LSB_MCPU_HOSTS: IBM Spectrum LSF 10.1, "Environment variables set for job execution"."""
    found = find_allocation({"LSB_JOBID": "7", "LSB_MCPU_HOSTS": hosts, "LSB_HOSTS": "ignored"})
    assert found == NodeAllocation("lsf", "7", len(names), names, "jsrun")


def test_a_task_of_flux_inside_slurm_is_flux() -> None:
    environ = {"FLUX_URI": "local:///x", "FLUX_JOB_NNODES": "3", "FLUX_JOB_ID": "f2", "SLURM_JOB_ID": "7"}
    assert find_allocation(environ) == NodeAllocation("flux", "f2", 3, (), "flux")


def test_grid_engine(tmp_path: Path) -> None:
    """qsub(1): JOB_ID, NHOSTS, PE_HOSTFILE; sge_pe(5): a line for each host and queue."""
    (tmp_path / "hosts").write_text("a.site 8 all.q@a.site UNDEFINED\nb.site 8 all.q@b.site UNDEFINED\n")
    job = {"JOB_ID": "7", "SGE_TASK_ID": "undefined"}
    assert find_allocation(job) == NodeAllocation("grid engine", "7", 1)
    assert find_allocation({**job, "NHOSTS": "2"}) == NodeAllocation("grid engine", "7", 2)
    found = find_allocation({**job, "PE_HOSTFILE": str(tmp_path / "hosts")})
    assert found == NodeAllocation("grid engine", "7", 2, ("a.site", "b.site"))
    assert find_allocation({"JOB_ID": "7"}) is None


@pytest.mark.parametrize("size", ["COBALT_JOBSIZE", "COBALT_PARTSIZE"])
def test_cobalt(size: str, tmp_path: Path) -> None:
    """ALCF, "Running Jobs on XC40"."""
    assert find_allocation({"COBALT_JOBID": "7", size: "128"}) == NodeAllocation("cobalt", "7", 128, (), "aprun")
    (tmp_path / "nodes").write_text("cc001\ncc002\n")
    found = find_allocation({"COBALT_JOBID": "7", size: "9", "COBALT_NODEFILE": str(tmp_path / "nodes")})
    assert found == NodeAllocation("cobalt", "7", 2, ("cc001", "cc002"), "aprun")


def test_the_launcher_of_every_batch_system_is_known() -> None:
    for system in BATCH_SYSTEMS:
        assert system.launcher is None or launcher_named(system.launcher).batch
