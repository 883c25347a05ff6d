# SPDX-License-Identifier: Apache-2.0
"""Cliffs, counts, paths, arrivals and shared cores of collectives: what explains them, and what does not."""

from __future__ import annotations

import pytest
from collective_plants import AFTER_S, BEFORE_S, PLANTS, WORK, call
from planted_results import KIB, Planted

from slowpath.core.results import Finding
from slowpath.experiments.registry import ROLES
from slowpath.findings.evaluate import findings


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


@pytest.mark.parametrize("code", ["SP038", "SP042"])
def test_that_the_fast_side_is_fast_is_no_proof(code: str) -> None:
    run = Planted()
    PLANTS[code](run, True)
    found = only(run)
    assert found.status == "explained"
    assert found.legs.proven.state == "missing"


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
    assert len(found.hypotheses) == 2


def test_a_step_without_page_faults_is_observed_only() -> None:
    run = Planted()
    for length, time_s in ((64 * KIB, 8e-5), (128 * KIB, 4e-5)):
        call(run, time_s, collective="allgather", message_bytes=length)
    found = only(run)
    assert "of 64 KiB takes" in found.text
    assert found.status == "observed"


def test_a_path_that_is_not_the_one_that_closes_is_not_named() -> None:
    """The fast side stays fast with its path closed: the level costs a lock, and no path."""
    run = Planted()
    level = run.environment("threads", SLOWPATH_THREAD_LEVEL="multiple")
    never = run.environment("never", "collectives_never_open", MPIR_CVAR_POSIX_NUM_COLLS_THRESHOLD="1000000")
    usual = call(run, AFTER_S, collective="allreduce", message_bytes=8)
    threads = call(run, BEFORE_S, level, collective="allreduce", message_bytes=8)
    call(run, AFTER_S, never, collective="allreduce", message_bytes=8)
    run.contrast("environment", WORK, (usual, "default"), (threads, "threads"), usual="a")
    found = only(run)
    assert (found.rule, found.legs.explained.state) == ("SP042", "missing")
    assert found.legs.proven.state == "missing"  # no other collective was measured that the level must leave


def test_more_ranks_than_cores_is_explained_by_ranks_that_lose_their_core() -> None:
    run = Planted()
    PLANTS["SP046"](run, True)
    for cell, switches in zip(run.cells, (400, 1), strict=True):
        cell["witness"]["steady"]["receive"]["involuntary_switches"] = switches
    found = only(run)
    assert found.legs.explained.state == "shown"
    assert any("not with waits that give it away" in line for line in found.legs.explained.evidence)
    assert found.remedies[0].name == "set OMPI_MCA_mpi_yield_when_idle"


def test_with_a_core_each_the_setting_is_no_remedy() -> None:
    run = Planted()
    yields = run.environment("yields", "yield_when_idle", OMPI_MCA_mpi_yield_when_idle="1")
    usual = call(run, 4e-6, collective="barrier", message_bytes=0)
    better = call(run, 2e-6, yields, collective="barrier", message_bytes=0)
    run.contrast("environment", WORK, (better, "yields"), (usual, "default"), usual="b")
    assert "SP046" not in [one.rule for one in findings(run.results(), ROLES)]
