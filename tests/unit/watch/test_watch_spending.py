# SPDX-License-Identifier: Apache-2.0
"""What a watched program spends, as a diagnosis for it takes it."""

from __future__ import annotations

import pytest

from slowpath.watch.messages import collective_uses, program_use
from slowpath.watch.results import CollectiveClass
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


def a_kind(collective: str, length: int, work_s: float, ranks: int = 4, call: str | None = None) -> CollectiveClass:
    return CollectiveClass(
        id=0,
        collective=collective,
        call=call or f"MPI_{collective.capitalize()}",
        bytes=length,
        ranks=ranks,
        count=100,
        work_s=work_s,
        sites=(0,),
    )


def test_what_a_tuning_is_for_has_most_time_first_and_one_use_a_size_class() -> None:
    kinds = (
        a_kind("bcast", 65540, 3e-3),
        a_kind("bcast", 66000, 1e-3, call="MPI_Bcast_c"),
        a_kind("allreduce", 8, 2e-3, ranks=2),
        a_kind("alltoallv", 1024, 9e-3),
        a_kind("barrier", 0, 5e-3),
        a_kind("reduce", 6, 1e-4),
    )
    uses, others = collective_uses(results(program=a_program(), collectives=kinds), "mpich")
    assert [(use.collective, use.ranks, use.bytes, use.calls) for use in uses] == [
        ("barrier", 4, 0, 100),
        ("bcast", 4, 65536, 200),
        ("allreduce", 2, 8, 100),
        ("reduce", 4, 4, 100),
    ]
    assert [use.seconds for use in uses] == pytest.approx([0.5, 0.4, 0.1, 0.01])
    assert others == {"MPI_Alltoallv": pytest.approx(0.9)}
