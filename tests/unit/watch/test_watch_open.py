# SPDX-License-Identifier: Apache-2.0
"""slowpath.open of a watch: typed results, calls and messages as arrays on one clock."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import slowpath
from slowpath.watch.folder import WatchInfo, write_watch
from slowpath.watch.proof import write_proof
from slowpath.watch.report.api import Watch
from slowpath.watch.report.write import write_watch as write_derived
from support.watch_record import Job
from support.watch_results import a_proof, results


@pytest.fixture
def watch(tmp_path: Path) -> Watch:
    """Two ranks: rank 1 waits 5 ms for a message of 1 KiB."""
    job = Job(ranks=2)
    a, b = job.ranks
    a.send(1, tag=7, start_s=0.010, end_s=0.011, message_bytes=1024)
    b.receive(0, tag=7, start_s=0.005, end_s=0.0112, message_bytes=1024)
    job.write(tmp_path / "ranks")
    info = WatchInfo(slowpath="1", command=("a",), started="", working_folder="/", host="n", library="l")
    write_watch(tmp_path, info)
    write_derived(tmp_path, results())
    (tmp_path / "proof-1").mkdir()
    write_proof(tmp_path / "proof-1", a_proof())
    opened = slowpath.open(tmp_path)
    assert isinstance(opened, Watch)
    return opened


def test_results_are_those_of_the_file(watch: Watch) -> None:
    assert watch.results == results()
    assert watch.to_dict()["findings"][0]["rule"] == "SP008"
    row = watch.rows()[0]
    assert (row["call"], row["function"], row["line"]) == ("MPI_Sendrecv", "CommBrick::forward_comm(int)", 512)
    assert [one.remedy for one in watch.proofs] == ["huge-pages"]


def test_calls_are_arrays(watch: Watch) -> None:
    events = watch.events
    received = events.call == watch.calls.index("MPI_Recv")
    assert events.rank[received].tolist() == [1]
    np.testing.assert_allclose(events.duration_s[received], [0.0062], rtol=1e-6)
    assert [record.rank for record in watch.records] == [0, 1]
    assert int(watch.records[0].profile["count"].sum()) == 1


def test_messages_have_both_sides(watch: Watch) -> None:
    (one,) = watch.messages
    assert (one["source"], one["destination"], one["tag"], one["bytes"]) == (0, 1, 7, 1024)
    assert one["sent_s"] - one["posted_s"] == pytest.approx(0.005)
    assert one["arrived_s"] - one["sent_s"] == pytest.approx(0.0012)
