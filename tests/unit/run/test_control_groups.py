# SPDX-License-Identifier: Apache-2.0
"""Control groups as kernels show them: version 1 and 2, in and out of containers, with and without limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowpath.run.machine import group_limits, read_place, still_s


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_version_2_the_least_of_the_groups_above_holds(tmp_path: Path) -> None:
    own = tree(tmp_path, {"own": "0::/a/b\n"}) / "own"
    root = tree(
        tmp_path / "cgroup",
        {
            "a/cpu.max": "150000 100000\n",
            "a/memory.max": "1073741824\n",
            "a/memory.current": "4096\n",
            "a/b/cpu.max": "max 100000\n",
            "a/b/memory.max": "max\n",
            "a/cpu.stat": "usage_usec 7\nnr_throttled 3\nthrottled_usec 2500000\n",
        },
    )
    found = group_limits(own, root)
    assert (found.processor_quota, found.memory_limit_bytes, found.memory_used_bytes) == (1.5, 1 << 30, 4096)
    assert still_s(found.stat) == pytest.approx(2.5)


def test_version_1_and_a_path_of_another_namespace(tmp_path: Path) -> None:
    own = tree(tmp_path, {"own": "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n"}) / "own"
    root = tree(
        tmp_path / "cgroup",
        {
            "cpu/cpu.cfs_quota_us": "50000\n",
            "cpu/cpu.cfs_period_us": "100000\n",
            "cpu/cpu.stat": "nr_periods 9\nnr_throttled 3\nthrottled_time 1500000000\n",
            "memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
    )
    found = group_limits(own, root)
    assert (found.processor_quota, found.memory_limit_bytes) == (0.5, None)
    assert still_s(found.stat) == pytest.approx(1.5)


def test_a_place_from_recorded_trees(tmp_path: Path) -> None:
    proc = tree(
        tmp_path / "proc",
        {
            "self/status": "Name:\tx\nSeccomp:\t2\nCpus_allowed_list:\t0-1,4\n",
            "self/cgroup": "0::/\n",
            "sys/kernel/yama/ptrace_scope": "1\n",
            "sys/kernel/numa_balancing": "1\n",
            "cpuinfo": "processor : 0\nflags : fpu hypervisor sse\n",
            "driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun\n",
        },
    )
    system = tree(
        tmp_path / "sys",
        {
            "fs/cgroup/cpu.max": "150000 100000\n",
            "devices/system/cpu/online": "0-7\n",
            "devices/system/node/online": "0-1\n",
        },
    )
    found = read_place(proc, system, tmp_path)
    assert (found.seccomp, found.ptrace_scope, found.processors, found.online) == (2, 1, "0-1,4", 8)
    assert (found.numa_nodes, found.numa_balancing, found.virtual) == (2, True, True)
    assert (found.processor_quota, found.gpu_driver) == (1.5, "580.65.06")
    assert found.shm_bytes is not None
    assert found.copy_errno is None
