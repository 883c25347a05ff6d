# SPDX-License-Identifier: Apache-2.0
"""Groups of processors, from a made-up node."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

from slowpath.mpi.place import SYSTEM, processor_groups


def node(folder: Path) -> Path:
    """Two sockets of one NUMA node each, two core groups a socket, one core of two threads in each group."""
    for cpu in range(8):
        core, group, socket = cpu % 4, cpu % 4, (cpu % 4) // 2
        one = folder / f"cpu{cpu}"
        for index, (level, shared) in enumerate([(1, f"{core},{core + 4}"), (3, f"{group},{group + 4}")]):
            (one / f"cache/index{index}").mkdir(parents=True)
            (one / f"cache/index{index}/level").write_text(f"{level}\n")
            (one / f"cache/index{index}/shared_cpu_list").write_text(f"{shared}\n")
        (one / "topology").mkdir()
        (one / "topology/thread_siblings_list").write_text(f"{core},{core + 4}\n")
        (one / "topology/package_cpus_list").write_text("0-1,4-5\n" if socket == 0 else "2-3,6-7\n")
        (one / f"node{socket}").mkdir()
    return folder


def test_groups(tmp_path: Path) -> None:
    groups = processor_groups(range(8), node(tmp_path))
    assert groups["core"] == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert groups["core_group"] == groups["core"]
    assert groups["socket"] == groups["numa"] == [[0, 1, 4, 5], [2, 3, 6, 7]]


def test_this_machine() -> None:
    """Each processor that this process may use is in one group of each level that the kernel tells."""
    mine = sorted(os.sched_getaffinity(0))
    told = all((SYSTEM / f"cpu{cpu}" / "topology" / "thread_siblings_list").exists() for cpu in mine)
    groups = processor_groups()
    assert ("core" in groups) == told
    for level, parts in groups.items():
        assert sorted(itertools.chain(*parts)) == mine, level
