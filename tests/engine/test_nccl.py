# SPDX-License-Identifier: Apache-2.0
"""MPI on device memory next to NCCL, with stubs of the CUDA driver and of NCCL whose streams are threads."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ranks import Ranks, ends_of_cells, events_in

from slowpath.experiments.nccl.experiment import INIT_PARTS, STEPS, TOTAL, WHOLE
from slowpath.record.blocks import BlockIndex, read, scan

ENGINE = Path(__file__).parents[2] / "engine"
SOURCES = (
    ENGINE / "studies" / "cannon" / "gpu" / "tests" / "stub_cuda_streams.c",
    ENGINE / "studies" / "nccl" / "tests" / "stub_nccl.c",
    ENGINE / "studies" / "nccl" / "tests" / "stub_nvshmem.c",
)
LIBRARIES = ("mpi_staged", "mpi", "nccl", "nvshmem")  # what pins memory before NCCL is opened
OPERATIONS = ("send", "allreduce", "bcast", "allgather", "reduce_scatter", "alltoall")
MS = 1_000_000


@dataclass(frozen=True)
class Done:
    """What a launch left. cells: one cell_end a cell, in the order of the plan."""

    code: int
    index: BlockIndex
    events: list[dict[str, Any]]
    cells: list[dict[str, Any]]

    def took_ns(self, cell: int, part: int, rank: int = 0) -> int | None:
        """Of a part of a first call; None: the part is not there."""
        rows = self.index.select(cell=cell, rank=rank, phase="first")
        found = [int(row) for row in rows if self.index.headers["part"][row] == part]
        return int(read(self.index, found[0]).duration_ns[0]) if found else None


OnDevices = Callable[..., Done]


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The stubs, by the variables that make the engine load them."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler for the stubs")
    folder = tmp_path_factory.mktemp("nccl")
    argv = [compiler, "-O1", "-shared", "-fPIC", "-pthread", "-I", str(ENGINE / "memory" / "tests")]
    for source in SOURCES:
        subprocess.run([*argv, "-o", str(folder / f"{source.stem}.so"), str(source), "-lrt"], check=True)
    return {
        "SLOWPATH_CUDA_DRIVER": str(folder / "stub_cuda_streams.so"),
        "SLOWPATH_NCCL": str(folder / "stub_nccl.so"),
        "SLOWPATH_NVSHMEM": str(folder / "stub_nvshmem.so"),
        "SLOWPATH_STUB_CUDA_DEVICES": "16",
        "SLOWPATH_MPI_TAKES_DEVICE": "on",
    }


@pytest.fixture
def on_devices(ranks: Ranks, libraries: dict[str, str], tmp_path: Path) -> OnDevices:
    """Runs cells of nccl on some ranks and reads what they left."""

    def run(cells: Sequence[str], number: int, **variables: str) -> Done:
        out = tmp_path / "out"
        plan = [f"nccl samples=8 allocations=2 time_limit_s=0 warmup_s=0 {words}" for words in cells]
        done = ranks.run_plan(out, plan, ranks=number, of_all={**libraries, **variables})
        assert done.returncode in (0, 1), done.stderr
        events = events_in(out)
        return Done(done.returncode, scan(out / "samples.blk"), events, ends_of_cells(events))

    return run


def test_every_library_does_every_operation(on_devices: OnDevices) -> None:
    """Three ranks, so that a block of one's own differs from the first and from the last; one byte too long.

    Each rank's GPU is its own, also where a library that allocates memory of its own came before: NCCL refuses two
    ranks on one.
    """
    cells = [
        f"operation={operation} library={library} message_bytes=4096 overalloc_bytes=1"
        for operation in OPERATIONS
        for library in LIBRARIES
        if (operation, library) != ("send", "nvshmem")  # its barrier is of all ranks
    ]
    done = on_devices(cells, 3)
    # Elements of 4096 B that all ranks get.
    got = {"send": 1, "allreduce": 3, "bcast": 2, "allgather": 9, "reduce_scatter": 3, "alltoall": 9}
    for cell, end in zip(cells, done.cells, strict=True):
        assert end["status"] == "ok", f"{cell}: {end['reason']}"
        assert end["steady_samples"] == 8
        operation = cell.split("operation=")[1].split()[0]
        # After the first call with each pair of buffers, and after the last.
        assert end["validated_bytes"] == 3 * 4096 * got[operation]
    assert done.code == 0


def test_a_first_use_by_steps(on_devices: OnDevices) -> None:
    """What is planted is found where it was planted; a longer message than a mailbox holds arrives whole."""
    cells = [
        f"pattern=first_use operation={operation} library={library} message_bytes=300000"
        for operation in ("allreduce", "send")
        for library in ("nccl", "mpi")
    ]
    planted = {"INIT_MS": "120", "FIRST_MS": "60", "START_MS": "50"}
    done = on_devices(cells, 2, **{f"SLOWPATH_STUB_NCCL_{name}": ms for name, ms in planted.items()})
    assert [end["status"] for end in done.cells] == ["ok"] * 4
    # NCCL's runtime starts on rank 0 for the id, and only then on the others; all wait for the last one.
    for rank, part in enumerate(("unique_id", "share_id")):
        assert (done.took_ns(0, STEPS[part], rank) or 0) >= 50 * MS
        assert (done.took_ns(0, STEPS["runtime"], rank) or 0) >= 50 * MS
    for cell in (0, 2):
        init, first = done.took_ns(cell, STEPS["init"]), done.took_ns(cell, STEPS["one_element"])
        assert init is not None
        assert first is not None
        assert init >= 120 * MS
        assert first >= 60 * MS
        assert done.took_ns(cell, INIT_PARTS["init_alloc"]) == done.took_ns(cell, TOTAL) == 120 * MS
    for cell in range(4):
        whole = done.took_ns(cell, WHOLE)
        steps = [done.took_ns(cell, part) for part in STEPS.values()]
        assert whole == sum(step for step in steps if step is not None)
    # Opened once a process; MPI is there from the start.
    assert [done.took_ns(cell, STEPS["load"]) is not None for cell in range(4)] == [True, False, False, False]
    assert done.took_ns(1, STEPS["share_id"]) is None
    notes = [event["text"] for event in done.events if event["event"] == "note" and event.get("cell") == 0]
    assert [text for text in notes if text.startswith("NCCL 2.32.3 from ") and "NCCL_NVLS_ENABLE=0" in text]


def test_a_first_use_of_memory_of_ones_own(on_devices: OnDevices) -> None:
    """NVSHMEM, by steps; it is initialised once a process, and then it says so."""
    cells = [f"pattern=first_use operation={name} library=nvshmem message_bytes=300000" for name in ("send", "bcast")]
    done = on_devices(cells, 2, SLOWPATH_STUB_NVSHMEM_INIT_MS="120")
    assert [end["status"] for end in done.cells] == ["ok", "skipped"]
    assert "once a process" in done.cells[1]["reason"]
    # One element and the message after the first calls, and the message once more.
    assert done.cells[0]["validated_bytes"] == 4 + 2 * 300000
    took = {name: done.took_ns(0, part) for name, part in STEPS.items()}
    assert {name for name, one in took.items() if one is None} == {"runtime"}
    assert (took["init"] or 0) >= 120 * MS
    assert done.took_ns(0, WHOLE) == sum(one for one in took.values() if one is not None)
    notes = [event["text"] for event in done.events if event["event"] == "note" and event.get("cell") == 0]
    assert [text for text in notes if text.startswith("NVSHMEM 3.4.5 from ") and "NVSHMEM_DISABLE_NVLS=1" in text]


@pytest.mark.parametrize(
    ("variables", "statuses", "reason"),
    [
        ({"SLOWPATH_STUB_NVSHMEM_FAIL": "nvshmemx_hostlib_init_attr"}, ["skipped", "ok"], "init_attr failed: 7"),
        ({"SLOWPATH_NVSHMEM": "/no/libnvshmem_host.so.3"}, ["skipped", "ok"], "SLOWPATH_NVSHMEM: /no/lib"),
        ({"SLOWPATH_STUB_NVSHMEM_MAJOR": "4"}, ["skipped", "ok"], "NVSHMEM 4.4.5 is not one whose interface is known"),
        ({"SLOWPATH_STUB_NVSHMEM_WRONG": "1"}, ["failed", "ok"], "element 1023 after the first call: "),
    ],
    ids=["init fails", "no library", "another version", "wrong sum"],
)
def test_nvshmem_fails_alone(
    on_devices: OnDevices, variables: dict[str, str], statuses: list[str], reason: str
) -> None:
    cells = [f"operation=allreduce library={library} message_bytes=4096" for library in ("nvshmem", "mpi")]
    done = on_devices(cells, 2, **variables)
    assert [end["status"] for end in done.cells] == statuses
    assert reason in next(end["reason"] for end in done.cells if end["status"] != "ok")


@pytest.mark.parametrize(
    ("variables", "statuses", "reason"),
    [
        ({"SLOWPATH_STUB_NCCL_FAIL": "ncclCommInitRank"}, ["skipped", "ok"], "ncclCommInitRank failed: stub error"),
        ({"SLOWPATH_NCCL": "/no/libnccl.so.2"}, ["skipped", "ok"], "SLOWPATH_NCCL: /no/libnccl.so.2"),
        ({"SLOWPATH_STUB_NCCL_WRONG": "1"}, ["failed", "ok"], "element 1023 after the first call: "),
        ({"SLOWPATH_MPI_TAKES_DEVICE": "off"}, ["ok", "skipped"], "SLOWPATH_MPI_TAKES_DEVICE=off"),
    ],
    ids=["init fails", "no library", "wrong sum", "no device memory"],
)
def test_what_fails_fails_alone(
    on_devices: OnDevices, variables: dict[str, str], statuses: list[str], reason: str
) -> None:
    cells = [f"operation=allreduce library={library} message_bytes=4096" for library in ("nccl", "mpi")]
    done = on_devices(cells, 2, **variables)
    assert [end["status"] for end in done.cells] == statuses
    assert reason in next(end["reason"] for end in done.cells if end["status"] != "ok")
    assert done.code == (1 if "failed" in statuses else 0)
