# SPDX-License-Identifier: Apache-2.0
"""The machine around a run: processors, groups, other processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowpath.run.machine import (
    ASK_AGAIN_CORES,
    between,
    gpu_models,
    group_limits,
    machine_facts,
    others_now,
    processor_model,
    read_place,
    still_s,
    ticks,
)
from slowpath.slowpaths.sp048_load import LEAST_CORES

ARM = "processor\t: 0\nBogoMIPS\t: 2000.00\nCPU implementer\t: 0x41\nCPU variant\t: 0x0\nCPU part\t: 0xd4f\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("processor\t: 0\nmodel name\t: AMD EPYC 9654\n", "AMD EPYC 9654"),
        (ARM, "ARM implementer 0x41 part 0xd4f variant 0x0"),
        (
            "processor\t: 0\ncpu\t\t: POWER10 (architected), altivec supported\n",
            "POWER10 (architected), altivec supported",
        ),
        ("processor\t: 0\n", None),
    ],
)
def test_processors_are_named_on_every_architecture(tmp_path: Path, text: str, said: str | None) -> None:
    """Without a name no two runs are from one kind of machine."""
    (tmp_path / "cpuinfo").write_text(text)
    assert processor_model(tmp_path / "cpuinfo") == said


def test_gpus_are_named_by_their_driver_and_unknown_is_not_none(tmp_path: Path) -> None:
    for number in (0, 1):
        folder = tmp_path / "nvidia" / f"0000:0{number}:00.0"
        folder.mkdir(parents=True)
        (folder / "information").write_text("Model: \t\t NVIDIA H200\nIRQ: 16\n")
    nowhere = tmp_path / "nowhere"
    assert gpu_models(tmp_path / "nvidia", nowhere) == ["NVIDIA H200", "NVIDIA H200"]
    assert gpu_models(nowhere, nowhere) == []
    assert gpu_models(nowhere, tmp_path) is None
    assert isinstance(machine_facts({})["gpus"], list | None)


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
    limits = group_limits(own, root)
    assert (limits.processor_quota, limits.memory_limit_bytes, limits.memory_used_bytes) == (1.5, 1 << 30, 4096)
    assert still_s(limits.stat) == pytest.approx(2.5)


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
    limits = group_limits(own, root)
    assert (limits.processor_quota, limits.memory_limit_bytes) == (0.5, None)
    assert still_s(limits.stat) == pytest.approx(1.5)


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
    place = read_place(proc, system, tmp_path)
    assert (place.seccomp, place.ptrace_scope, place.processors, place.online) == (2, 1, "0-1,4", 8)
    assert (place.numa_nodes, place.numa_balancing, place.virtual) == (2, True, True)
    assert (place.processor_quota, place.gpu_driver) == (1.5, "580.65.06")
    assert place.shm_bytes is not None
    assert place.copy_errno is None


def proc(folder: Path, idle: list[int], busy: list[int], processes: dict[int, tuple[str, int]], on: int = 0) -> Path:
    """A /proc with so many ticks of each processor and of each process, all of which ran last on processor `on`."""
    folder.mkdir()
    lines = [
        f"cpu{number} {user} 0 0 {rest} 5 0 0 0 0 0" for number, (user, rest) in enumerate(zip(busy, idle, strict=True))
    ]
    (folder / "stat").write_text("\n".join(["cpu 1 2 3 4 5 6 7 8 9 10", *lines, "ctxt 1"]))
    for pid, (name, count) in processes.items():
        (folder / str(pid)).mkdir()
        rest = " ".join(["R", *["0"] * 10, str(count), "1", *["0"] * 23, str(on), *["0"] * 6])
        (folder / str(pid) / "stat").write_text(f"{pid} ({name}) {rest}")
    return folder


def test_a_busy_loop_on_one_of_two_processors_is_one_core(tmp_path: Path) -> None:
    before = ticks(proc(tmp_path / "a", [100, 100], [50, 50], {7: ("a (loop)", 50), 8: ("quiet", 3)}))
    after = ticks(proc(tmp_path / "b", [130, 101], [50, 79], {7: ("a (loop)", 79), 8: ("quiet", 4), 9: ("new", 30)}))
    others = between(before, after, frozenset({0, 1}), 0.3, 100)
    assert others is not None
    assert (others.processors, others.cores) == (2, 0.97)
    assert [(process.name, process.pid, process.cores) for process in others.processes] == [("a (loop)", 7, 0.97)]
    alone = between(before, after, frozenset({0}), 0.3, 100)
    assert alone is not None
    assert (alone.processors, alone.cores) == (1, 0.0)


@pytest.mark.parametrize(("second_busy", "cores"), [(30, 1.0), (0, 0.0)])
def test_load_is_what_is_still_there_at_a_second_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, second_busy: int, cores: float
) -> None:
    """A core that is busy for a moment is none that ranks have to share."""
    steps = iter([(0, 30), (30, 0), (30 - second_busy, second_busy)])  # idle and busy ticks of each sleep
    counted = [100, 100]

    def write() -> None:
        (tmp_path / "stat").write_text(f"cpu0 {counted[1]} 0 0 {counted[0]} 0 0 0 0 0 0\n")

    def sleep(_: float) -> None:
        for place, more in enumerate(next(steps)):
            counted[place] += more
        write()

    write()
    monkeypatch.setattr("slowpath.run.machine.time.sleep", sleep)
    others = others_now(frozenset({0}), 0.3, tmp_path)
    assert others is not None
    assert others.cores == cores
    assert ASK_AGAIN_CORES < LEAST_CORES
