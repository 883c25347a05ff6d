# SPDX-License-Identifier: Apache-2.0
"""Messages inside real libraries' collectives: counted exactly, with more ranks than cores."""

from __future__ import annotations

import os
from pathlib import Path

from ranks import Ranks

from slowpath.analyse.cells import messages
from slowpath.core.cell_results import MessageCounts
from slowpath.mpi.place import network_is_up
from slowpath.mpi.settings import resolve
from slowpath.record.events import read_events
from slowpath.run.prepare import witness_variables

RANKS = 5  # the fewest at which a chain, a star and a tree are distinguished, and a barrier of Open MPI is linear
SCAN, BARRIER = range(2)
ROUNDS = {"mpich": (3, 3), "openmpi": (4, 8), "intelmpi": (3, 3)}
ALGORITHMS = {
    "mpich": ("recursive doubling", "dissemination"),
    "openmpi": ("linear chain", "linear up and down"),
    "intelmpi": ("recursive doubling", "dissemination"),
}


def test_rounds_of_scan_and_barrier_are_those_of_the_librarys_algorithms(ranks: Ranks, tmp_path: Path) -> None:
    mpi = ranks.mpi
    variables, reason = resolve("messages_by_sockets", mpi.name, mpi.version, mpi.transport, network_is_up())
    if reason is not None:
        assert "only lo" in reason
        return
    exported = witness_variables(ranks.engine.program, tmp_path, variables, os.environ, ranks.mpi.name)
    words = ["coll", "--pattern", "messages", "--collective", "scan,barrier", "--message-bytes", "8"]
    done = ranks.run_engine(*words, "--out", str(tmp_path), ranks=RANKS, exported=exported)
    assert done.returncode == 0, done.stderr
    events = read_events(tmp_path / "events.jsonl")
    found: list[MessageCounts] = []
    for cell, collective in enumerate(("scan", "barrier")):
        parameters = {"pattern": "messages", "collective": collective, "message_bytes": "8"}
        counts, why = messages(parameters, [events.messages(cell)])
        assert counts is not None, why
        found.append(counts)
    assert all(one.settled and one.exact for one in found)
    assert tuple(one.rounds for one in found) == ROUNDS[mpi.name]
    assert tuple(one.algorithms[0] for one in found) == ALGORITHMS[mpi.name]
