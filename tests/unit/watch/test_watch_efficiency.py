# SPDX-License-Identifier: Apache-2.0
"""Efficiencies of planted programs come out as planted, their products hold, and changes are found where they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from slowpath.watch.analysis import read_watched
from slowpath.watch.folder import WatchInfo, write_watch
from slowpath.watch.results import WatchResults
from support.watch_record import Job

STEP_S = 0.010
RUN_S = 12.0


def results(folder: Path, job: Job) -> WatchResults:
    job.write(folder / "ranks")
    info = WatchInfo(
        slowpath="1", command=("./app",), started="2026-01-01T00:00:00Z", working_folder="/", host="node1",
        library="/l.so", wall_s=1.0, exit_code=0,
    )  # fmt: skip
    write_watch(folder, info)
    return read_watched(folder).results


def program(
    computes_s: Callable[[int, float], float], transfer_s: float = 0.001, ranks: int = 2, run_s: float = RUN_S
) -> Job:
    """Iterations of computing and a reduction. computes_s: of a rank, at a time."""
    job, draw, at = Job(ranks, window_ns=20_000_000), np.random.default_rng(11), 0.0
    while at < run_s:
        enters = [at + computes_s(rank, at) * (1 + 0.02 * draw.standard_normal()) for rank in range(ranks)]
        end = max(enters) + transfer_s
        for rank, enter in zip(job.ranks, enters, strict=True):
            rank.collective("MPI_Allreduce", start_s=enter, end_s=end)
        at = end
    return job


def test_a_balanced_program_loses_its_transfer_alone(tmp_path: Path) -> None:
    found = results(tmp_path, program(lambda rank, at: 0.009)).efficiency
    assert found is not None
    assert found.parallel == pytest.approx(0.89, abs=0.02)
    assert found.load_balance == pytest.approx(1.0, abs=0.02)
    assert found.transfer == pytest.approx(0.90, abs=0.02)
    assert found.serialization == pytest.approx(1.0, abs=0.03)


def test_a_rank_that_computes_longer_is_a_matter_of_balance(tmp_path: Path) -> None:
    found = results(tmp_path, program(lambda rank, at: 0.009 if rank else 0.0045)).efficiency
    assert found is not None
    assert found.load_balance == pytest.approx(0.75, abs=0.02)
    assert found.transfer == pytest.approx(0.90, abs=0.02)


def test_ranks_that_compute_longer_in_turn_are_serialized(tmp_path: Path) -> None:
    """Both compute as long in all, but each waits for the other."""
    found = results(tmp_path, program(lambda rank, at: 0.012 if int(at / 0.05) % 2 == rank else 0.006)).efficiency
    assert found is not None
    assert found.load_balance == pytest.approx(1.0, abs=0.03)
    assert found.serialization == pytest.approx(0.75, abs=0.05)
    assert found.transfer == pytest.approx(0.92, abs=0.03)


@pytest.mark.parametrize("late_s", [0.0, 0.0045])
def test_the_products_hold_for_the_run_and_each_window(tmp_path: Path, late_s: float) -> None:
    watch = results(tmp_path, program(lambda rank, at: 0.009 - late_s * rank))
    assert watch.windows is not None
    assert watch.efficiency is not None
    assert len(watch.windows) == 60
    for one in (watch.efficiency, *watch.windows):
        assert one.parallel is not None
        assert one.load_balance is not None
        assert one.communication is not None
        assert one.serialization is not None
        assert one.transfer is not None
        assert one.parallel == pytest.approx(one.load_balance * one.communication)
        assert one.communication == pytest.approx(one.serialization * one.transfer)
        assert one.reason is None


def test_a_stationary_program_has_no_phases(tmp_path: Path) -> None:
    assert results(tmp_path, program(lambda rank, at: 0.009 - 0.003 * rank)).phases == ()


def test_a_program_that_becomes_slower_is_said_to_from_when_on(tmp_path: Path) -> None:
    """Rank 1 needs twice as long from 8 s on: the other waits, and all calls come less often."""
    found = results(tmp_path, program(lambda rank, at: 0.018 if rank and at > 8 else 0.009)).phases
    assert found is not None
    assert {phase.measure for phase in found} == {"parallel efficiency", "calls a second"}
    for phase in found:
        assert phase.start_s == pytest.approx(8.0, abs=0.5)
        assert phase.end_s == pytest.approx(RUN_S, abs=0.5)
    slower = next(phase for phase in found if phase.measure == "calls a second")
    assert slower.level / slower.usual == pytest.approx(10 / 19, abs=0.05)


def test_one_slow_phase_in_which_all_ranks_compute_longer_is_seen_by_the_rate_of_calls(tmp_path: Path) -> None:
    found = results(tmp_path, program(lambda rank, at: 0.013 if 5 < at < 7 else 0.009, 0.0001)).phases
    assert found is not None
    assert [phase.measure for phase in found] == ["calls a second"]
    assert found[0].start_s == pytest.approx(5.0, abs=0.5)
    assert found[0].end_s == pytest.approx(7.0, abs=0.5)
    assert found[0].level / found[0].usual == pytest.approx(9.1 / 13.1, abs=0.05)
    assert "from 5.00 s to 7.00 s the ranks begin 150 messages and collectives a second; in most" in found[0].text


def test_what_can_not_be_computed_has_a_reason(tmp_path: Path) -> None:
    job = Job(2)
    job.ranks[0].event("MPI_Comm_dup", 0.1, 0.2, kind=0)
    found = results(tmp_path / "short", job)
    assert found.windows is None
    assert found.phases is None
    assert found.efficiency is not None
    assert found.efficiency.transfer is None or found.efficiency.reason is None
    assert (found.efficiency.transfer is None) == (found.efficiency.reason is not None)
