# SPDX-License-Identifier: Apache-2.0
"""What a launch measures without MPI, under a real MPI: floors lie below messages, and a forced detour far above."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from ranks import Ranks

from slowpath.mpi.place import network_is_up
from slowpath.mpi.settings import resolve
from slowpath.record.blocks import read, scan
from slowpath.record.events import Yardstick, read_events

LAUNCHES = 5  # others only ever add to a time: the least of several launches is the machine's own
MOST_LAUNCHES = 25  # on a busy machine a launch may have no time for a way
DETOUR = 8  # times the floor at least; over the network it takes about 26 times as long, by shared memory twice
SHORT, LONG = 8, 65536
WAYS = {"flag 0", f"copy_across {SHORT}", f"copy_across {LONG}", f"memcpy {LONG}"}
CELLS = [f"p2p pattern=ping_pong message_bytes={length} samples=30 time_limit_s=0.02" for length in (SHORT, LONG)]


def measured(ranks: Ranks, folder: Path, **variables: str) -> tuple[dict[str, float], dict[int, float]]:
    """Return the least seconds of each way (with its length; inf: no launch had time for it), and of the steady
    messages by cell, over all launches."""
    ways: dict[str, float] = {}
    messages: dict[int, float] = {}
    for launch in range(MOST_LAUNCHES):
        if launch >= LAUNCHES and set(ways) >= WAYS:
            break
        done = ranks.run_plan(folder, CELLS, exported=variables)
        assert done.returncode == 0, done.stderr
        for way in read_events(folder / "events.jsonl").of(Yardstick):
            name = f"{way.name} {way.bytes}"
            each_s = [sample_ns * 1e-9 / way.operations for sample_ns in way.samples_ns or ()]
            ways[name] = min([*each_s, ways.get(name, np.inf)])
        index = scan(folder / "samples.blk")
        for i, head in enumerate(index.headers):
            if index.phase(i) == "steady":
                least = float(np.min(read(index, i).duration_ns)) * 1e-9 / (2 * int(head["batch"]))
                messages[int(head["cell"])] = min(least, messages.get(int(head["cell"]), least))
    return ways, messages


def test_messages_lie_above_their_floor_and_a_detour_far_above(ranks: Ranks, tmp_path: Path) -> None:
    mpi = ranks.mpi
    forced, _ = resolve("network_path", mpi.name, mpi.version, mpi.transport, network_is_up())
    ways, messages = measured(ranks, tmp_path / "own")
    assert set(ways) >= WAYS
    assert messages[0] > 0.9 * ways["flag 0"]
    assert messages[1] > 0.9 * min(ways[f"memcpy {LONG}"], ways[f"copy_across {LONG}"])
    if forced:  # where no network is up there is no detour
        detour_ways, detour = measured(ranks, tmp_path / "detour", **forced)
        assert detour[0] > DETOUR * detour_ways["flag 0"]
