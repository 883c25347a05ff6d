# SPDX-License-Identifier: Apache-2.0
"""What a watched program spends, as a diagnosis for it takes it."""

from __future__ import annotations

import pytest

from slowpath.watch.results import CollectiveClass
from slowpath.watch.spending import program_use
from support.watch_results import a_program, results


def test_messages_are_spent_by_class_without_the_waiting() -> None:
    watched = results()
    found = program_use(watched)
    assert (found.name, found.ranks, found.groups) == ("lmp", 4, {})
    transfers = [alike.transfer_s for alike in watched.classes if alike.transfer_s and alike.call == "MPI_Sendrecv"]
    spent = [part.seconds for part in found.spent if part.experiment == "p2p" and part.low_bytes >= 2**20]
    assert transfers
    assert set(transfers) <= set(spent)
    assert found.mpi_s < found.span_s


def test_a_collective_is_spent_by_the_ranks_of_its_communicator() -> None:
    half = CollectiveClass(
        id=0, collective="allreduce", call="MPI_Allreduce", bytes=8, ranks=2, count=100, work_s=1e-3, sites=(0,)
    )
    found = program_use(results(program=a_program(), collectives=(half,)))
    assert [part.seconds for part in found.spent if part.collective == "allreduce"] == pytest.approx([0.05])
