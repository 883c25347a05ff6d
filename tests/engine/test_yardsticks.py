# SPDX-License-Identifier: Apache-2.0
"""What a launch measures without MPI, under a real MPI: floors lie below messages, and a forced detour far above."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from ranks import Ranks

from slowpath.mpi.settings import resolve
from slowpath.mpi.topology import network_is_up
from slowpath.record.blocks import read, scan
from slowpath.record.events import Yardstick, read_events

ATTEMPTS = 5  # a launch in which others take the processors says nothing about the machine
SHORT, LONG = 8, 65536
CELLS = [f"p2p pattern=ping_pong message_bytes={length} samples=30 time_limit_s=0.02" for length in (SHORT, LONG)]


def measured(ranks: Ranks, folder: Path, **variables: str) -> tuple[dict[str, float], dict[int, float]]:
    """Least seconds of each way (with its length), and of the steady messages by cell."""
    done = ranks.run_plan(folder, CELLS, exported=variables)
    assert done.returncode == 0, done.stderr
    ways = {
        f"{one.name} {one.bytes}": min(one.samples_ns) * 1e-9 / one.operations
        for one in read_events(folder / "events.jsonl").of(Yardstick)
        if one.samples_ns
    }
    index, messages = scan(folder / "samples.blk"), {}
    for i, head in enumerate(index.headers):
        if index.phase(i) == "steady":
            least = float(np.min(read(index, i).duration_ns)) * 1e-9 / (2 * int(head["batch"]))
            messages[int(head["cell"])] = min(least, messages.get(int(head["cell"]), least))
    return ways, messages


def test_messages_lie_above_their_floor_and_a_detour_far_above(ranks: Ranks, tmp_path: Path) -> None:
    mpi = ranks.mpi
    forced, _ = resolve("network_path", mpi.name, mpi.version, mpi.transport, network_is_up())
    good = False
    for _ in range(ATTEMPTS):
        ways, messages = measured(ranks, tmp_path / "own")
        if not {"flag 0", f"copy_across {SHORT}", f"copy_across {LONG}", f"memcpy {LONG}"} <= set(ways):
            continue  # a launch has 4 ms for them, which a stall can use up: another one has them
        copies = [ways[way] for way in (f"copy_across {LONG}", f"process_vm_readv {LONG}") if way in ways]
        above = messages[0] / ways["flag 0"]
        good = above > 0.9 and messages[1] / min(copies) > 0.9
        if good and forced:  # where no network is up there is no detour
            detour_ways, detour = measured(ranks, tmp_path / "detour", **forced)
            good = detour[0] / detour_ways["flag 0"] > 3 * above
        if good:
            break
    assert good
