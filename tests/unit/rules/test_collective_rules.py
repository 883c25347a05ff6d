# SPDX-License-Identifier: Apache-2.0
"""Cliffs, counts, paths, arrivals and shared cores of collectives: what explains them, and what does not."""

from __future__ import annotations

import pytest
from collective_plants import AFTER_S, BEFORE_S, PLANTS, WORK, call
from planted_results import KIB, Planted

from slowpath.core.results import Finding
from slowpath.experiments.registry import ROLES
from slowpath.mpi.settings import resolve
from slowpath.slowpaths.collectives.under import CLOSED
from slowpath.slowpaths.evaluate import findings


def only(run: Planted) -> Finding:
    found = findings(run.results(), ROLES)
    assert len(found) == 1, [one.text for one in found]
    return found[0]


def test_a_cause_that_was_toggled_is_explained_and_proven() -> None:
    run = Planted()
    PLANTS["SP037"](run, True)
    found = only(run)
    assert found.status == "proven", found.legs
    assert found.legs.explained.state == "shown"
    assert any("negative control" in line for line in found.legs.proven.evidence)


def test_page_faults_that_the_time_does_not_follow_explain_nothing() -> None:
    run = Planted()
    run.environment("kept", GLIBC_TUNABLES="glibc.malloc.mmap_max=0")
    for environment in ("default", "kept"):
        for length in (64 * KIB, 128 * KIB):
            faults = length / 4096 if environment == "default" and length > 64 * KIB else 0.0
            more = {"collective": "reduce", "message_bytes": length}
            call(run, 1e-5 if length == 64 * KIB else 8e-5, environment, faults, **more)
    found = only(run)
    assert (found.rule, found.legs.explained.state) == ("SP037", "missing")
    assert found.hypotheses == ["the library changes its algorithm or its protocol at this length"]


def test_collectives_that_step_at_one_length_are_one_finding() -> None:
    """What they share, their messages between two ranks, is a cause that each by itself does not suggest."""
    run = Planted()
    for name, slow_s in (("scan", 8e-6), ("bcast", 6e-6), ("reduce", 7e-6)):
        for length, time_s in ((2 * KIB, 1e-6), (4 * KIB, slow_s)):
            call(run, time_s, collective=name, message_bytes=length)
    for length, time_s in ((4 * KIB, 1e-6), (8 * KIB, 5e-6)):
        call(run, time_s, collective="alltoall", message_bytes=length)
    several, single = sorted(findings(run.results(), ROLES), key=lambda one: -(one.ratio or 0.0))
    assert several.text.startswith("Scan, reduce and bcast of 4 KiB are 3.0")
    assert "slower than 2 of 2 KiB" in several.text
    assert "take another protocol" in several.hypotheses[0]
    assert single.text.startswith("Alltoall of 8 KiB")


def test_more_ranks_than_cores_is_explained_by_ranks_that_lose_their_core() -> None:
    run = Planted()
    PLANTS["SP046"](run, True)
    for cell, switches in zip(run.cells, (400, 1), strict=True):
        cell["witness"]["steady"]["receive"]["involuntary_switches"] = switches
    found = only(run)
    assert found.legs.explained.state == "shown"
    assert any("not when waiting ranks give it up" in line for line in found.legs.explained.evidence)
    assert found.remedies[0].name == "set OMPI_MCA_mpi_yield_when_idle"


def paths(control: float | None = 1.0, level: str = "funneled") -> Finding:
    """MPI_THREAD_MULTIPLE closes a path; the remedy's own level opens it. control: of alltoall; None: not measured."""
    run = Planted()
    multiple = run.environment("threads", SLOWPATH_THREAD_LEVEL="multiple")
    remedy = run.environment("remedy", SLOWPATH_THREAD_LEVEL=level)
    never = run.environment("never", CLOSED, MPIR_CVAR_POSIX_NUM_COLLS_THRESHOLD="1000000")
    names = [("allreduce", AFTER_S, BEFORE_S)]
    if control is not None:
        names.append(("alltoall", BEFORE_S, control * BEFORE_S))
    for name, open_s, slow_s in names:
        usual, threads, _, _ = (
            call(run, time_s, environment, collective=name, message_bytes=8)
            for environment, time_s in (("default", open_s), (multiple, slow_s), (remedy, open_s), (never, BEFORE_S))
        )
        run.contrast("environment", WORK, (usual, "default"), (threads, "threads"), usual="a")
    return next(one for one in findings(run.results(), ROLES) if one.rule == "SP042" and "Allreduce" in one.text)


def test_a_remedy_that_the_run_toggled_proves_the_path_where_the_control_stayed() -> None:
    found = paths()
    assert found.status == "proven", found.legs
    assert found.remedies[0].name == "thread level funneled"
    assert found.remedies[0].removed_ratio is not None
    assert any("alltoall of 8 B, which has no such path" in line for line in found.legs.proven.evidence)


@pytest.mark.parametrize(("reduce_s", "status"), [(2e-5, "proven"), (3e-5, "explained")])
def test_a_forced_allreduce_is_a_remedy_where_other_collectives_stay(reduce_s: float, status: str) -> None:
    run = Planted()
    run.mpi |= {"name": "openmpi", "version": "5.0.11"}
    name, state = "unsplit", "allreduce_algorithm_without_splitting"
    forced = run.environment(name, state, **resolve("allreduce_algorithm_without_splitting", "openmpi", "5.0.11")[0])
    for environment, one_s, others_s in (("default", 6e-5, 2e-5), (forced, 2.1e-5, reduce_s)):
        more = {"op": "user", "message_bytes": 64 * KIB, "environment": environment}
        many = call(run, 2e-5, collective="allreduce", shape="elements", **more)
        one = call(run, one_s, collective="allreduce", shape="one_type", **more)
        call(run, others_s, collective="reduce", shape="one_type", **more)
        run.contrast("shape", WORK, (many, "elements"), (one, "one_type"))
    found = next(one for one in findings(run.results(), ROLES) if one.rule == "SP038")
    assert found.status == status, found.legs
    assert found.remedies[0].name == "allreduce that does not count elements in Open MPI"
