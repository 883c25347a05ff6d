# SPDX-License-Identifier: Apache-2.0
"""The doctor's line on what carries messages inside this node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slowpath.core.run_results import MessagePath
from slowpath.doctor import registry
from slowpath.doctor.registry import asked, conclusion
from slowpath.mpi.mpi import Mpi
from slowpath.run.process import Outcome


def row(**changes: Any) -> MessagePath:
    usual: dict[str, Any] = {
        "environment": "doctor", "scope": "on_node", "pairs": None, "layer": "library", "module": "pml ob1",
        "transport": "btl sm", "devices": [], "single_copy": "cma", "reason": None,
    }  # fmt: skip
    return MessagePath(**{**usual, **changes})


def test_shared_memory_is_said_with_its_module_and_copy() -> None:
    check = conclusion("openmpi", [row(), row(scope="between_nodes", transport="btl tcp")])
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
    assert conclusion("openmpi", [taken]).status == "warn"
    assert conclusion("openmpi", [row(layer="ucx", module="pml ucx", transport="UCX sysv, cma")]).status == "ok"


def test_what_is_not_said_is_no_warning_and_a_failed_job_is_one() -> None:
    unknown = row(layer=None, module=None, transport=None, single_copy=None, reason="it does not state")
    assert conclusion("mpich", [unknown]).status == "ok"
    failed = conclusion("mpich", "a job of two ranks crashed")
    assert (failed.status, failed.value, failed.means) == ("warn", None, "a job of two ranks crashed")


def test_the_library_is_asked_by_its_own_questions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: dict[str, Any] = {}

    def run(argv: list[str], environ: dict[str, str], out: Path, err: Path, *_: Any) -> Outcome:
        seen.update(argv=argv, environ=environ)
        out.write_text("")
        err.write_text('MPI startup(): libfabric provider: tcp\nLoad tuning file: "/a/tuning_spr_shm-ofi.dat"\n')
        return Outcome("ok", 0, None, None, 0.1)

    monkeypatch.setattr(registry, "run_job", run)
    mpi = Mpi("intelmpi", "2021.18", "option", tmp_path, tmp_path / "mpiexec", None, "mpich", False, "hydra", "")
    engine = type("Kept", (), {"program": tmp_path / "slowpath-engine"})()
    answer = asked(mpi, engine, {})
    assert not isinstance(answer, str)
    assert [path.words for path in answer][:1] == ["messages on one node go by fabric shm, shared memory"]
    assert "I_MPI_DEBUG" in " ".join(seen["argv"]) + " ".join(seen["environ"])


@pytest.mark.parametrize(
    ("launcher", "nodes", "one_node", "without"),
    [
        ("srun", 4, ["-N", "1", "--ntasks-per-node=2"], []),
        ("srun", 1, [], ["-N"]),
        ("prterun", 2, ["--map-by", "ppr:2:node"], []),
        ("hydra", 2, ["-ppn", "2"], []),
        ("mpiexec", 2, [], ["-N", "-ppn"]),  # can't be asked; what it says of two nodes is not said of one
    ],
)
def test_both_ranks_are_on_one_node_of_an_allocation(
    launcher: str, nodes: int, one_node: list[str], without: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In a job of several nodes srun puts two ranks on two, and the line was about the path between them."""
    seen: list[str] = []

    def run(argv: list[str], _: dict[str, str], out: Path, err: Path, *__: Any) -> Outcome:
        seen.extend(argv)
        for path in (out, err):
            path.write_text("")
        return Outcome("ok", 0, None, None, 0.1)

    monkeypatch.setattr(registry, "run_job", run)
    monkeypatch.setattr(registry, "allowed_cores", lambda: 1)
    mpi = Mpi("mpich", "5.0.2", "option", tmp_path, tmp_path / "start", None, "mpich", False, launcher, "")
    engine = type("Kept", (), {"program": tmp_path / "slowpath-engine"})()
    environ = {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": str(nodes), "SLURM_NNODES": str(nodes)}
    asked(mpi, engine, environ)
    options = seen[: seen.index(str(engine.program))]
    assert " ".join(one_node) in " ".join(options)
    assert not set(without) & set(options)
    # Two ranks on one node of one core share it, and two nodes have two.
    shares = [option for option in options if "overcommit" in option.lower() or "oversubscribe" in option.lower()]
    assert bool(shares) == (launcher in ("srun", "prterun")), options
