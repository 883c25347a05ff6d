# SPDX-License-Identifier: Apache-2.0
"""Cannon's algorithm on device memory, with stubs of the CUDA driver and of cuBLAS whose streams are threads."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ranks import Ranks, ends_of_cells, events_in

from slowpath.experiments.cannon.runs import PARTS
from slowpath.record.blocks import BlockIndex, read, scan

pytestmark = pytest.mark.needs("minutes")

ENGINE = Path(__file__).parents[2] / "engine"
SOURCES = ENGINE / "studies" / "cannon" / "gpu" / "tests"
STYLES = ("compute_only", "sendrecv", "isend_wait", "shared_copy", "shared_direct")
MOVING = STYLES[1:4]
NUMBERS = ("real", "integer", "bfloat16")
C_BYTES = {"real": 8, "integer": 8, "bfloat16": 4}
N = 48


@dataclass(frozen=True)
class Done:
    """What a launch left. cells: one cell_end a cell, in the order of the plan."""

    code: int
    stderr: str
    index: BlockIndex | None
    events: list[dict[str, Any]]
    cells: list[dict[str, Any]]


OnDevices = Callable[..., Done]


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The stubs, by the variables that make the engine load them."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler for the stubs")
    folder = tmp_path_factory.mktemp("gpu")
    for name in ("stub_cuda_streams", "stub_cublas"):
        argv = [compiler, "-O1", "-shared", "-fPIC", "-pthread", "-I", str(ENGINE / "memory" / "tests")]
        subprocess.run([*argv, "-o", str(folder / f"{name}.so"), str(SOURCES / f"{name}.c")], check=True)
    return {
        "SLOWPATH_CUDA_DRIVER": str(folder / "stub_cuda_streams.so"),
        "SLOWPATH_CUBLAS": str(folder / "stub_cublas.so"),
        "SLOWPATH_STUB_CUDA_DEVICES": "16",
        "SLOWPATH_MPI_TAKES_DEVICE": "on",
    }


@pytest.fixture
def on_devices(ranks: Ranks, libraries: dict[str, str], tmp_path: Path) -> OnDevices:
    """Runs cells of cannon, on device memory, on some ranks and reads what they left."""

    def run(cells: list[str], number: int, **variables: str) -> Done:
        out = tmp_path / "out"
        plan = [f"cannon memory=device n={N} repetitions=2 quiet_wait_s=0 {words}" for words in cells]
        done = ranks.run_plan(out, plan, seed=5, ranks=number, of_all={**libraries, **variables})
        if done.returncode not in (0, 1):
            return Done(done.returncode, done.stderr, None, [], [])
        events = events_in(out)
        ends = ends_of_cells(events)
        assert len(ends) == len(cells)
        return Done(done.returncode, done.stderr, scan(out / "samples.blk"), events, ends)

    return run


def spans(done: Done, cell: int, rank: int, part: str) -> np.ndarray:
    """Begin and end of each steady interval of a part, shape (repetitions, intervals, 2), ns."""
    assert done.index is not None
    number = next(number for number, name in PARTS.items() if name == part)
    positions = done.index.select(cell=cell, rank=rank, phase="steady")
    [i] = [i for i in positions if done.index.headers["part"][i] == number]
    samples = read(done.index, int(i))
    assert samples.start_ns is not None
    begin = samples.start_ns + int(done.index.headers["t0_ns"][i])
    return np.stack([begin, begin + samples.duration_ns], 1).reshape(2, -1, 2)


@pytest.mark.parametrize(("number", "kinds"), [(1, NUMBERS), (2, NUMBERS), (4, NUMBERS), (6, ("bfloat16",))])
def test_every_style_gives_the_product(on_devices: OnDevices, number: int, kinds: tuple[str, ...]) -> None:
    """2 x 3 moves panels of strips, and uses places again."""
    cells = [f"variant={style} numbers={numbers}" for numbers in kinds for style in STYLES]
    done = on_devices(cells, number)
    for cell, end in zip(cells, done.cells, strict=True):
        assert end["status"] == "ok", f"{cell}: {end['reason']}"
        assert end["steady_samples"] == 2
        unchecked = "compute_only" in cell and number > 1
        assert end["validated_bytes"] == (0 if unchecked else 2 * N * N * C_BYTES[cell.split("numbers=")[1]])
    assert done.code == 0


@pytest.mark.parametrize("delays", [("20000", "0"), ("0", "20000")])
def test_work_waits_for_what_it_needs(on_devices: OnDevices, delays: tuple[str, str]) -> None:
    """Slow copies, then slow multiplications: a missing event would let one see what was there before."""
    cells = [f"variant={style} numbers=integer grid=ring" for style in MOVING]
    done = on_devices(cells, 4, SLOWPATH_STUB_CUDA_COPY_US=delays[0], SLOWPATH_STUB_CUDA_WORK_US=delays[1])
    assert [end["status"] for end in done.cells] == ["ok"] * len(cells)


def test_the_next_panel_comes_while_the_device_multiplies(on_devices: OnDevices) -> None:
    """Blocking moves nothing before the multiplication is over."""
    variables = {"SLOWPATH_STUB_CUDA_COPY_US": "20000", "SLOWPATH_STUB_CUDA_WORK_US": "300000"}
    done = on_devices([f"variant={style}" for style in MOVING], 2, **variables)
    for rank in range(2):
        for cell, part in enumerate(("wait", "wait", "copy")):
            first, moved = spans(done, cell, rank, "dgemm")[:, 0], spans(done, cell, rank, part)[:, 0]
            if cell == 0:
                assert (moved[:, 0] >= first[:, 1]).all()
            else:
                assert (moved[:, 0] < first[:, 1]).all()
        total, dgemm = spans(done, 2, rank, "total"), spans(done, 2, rank, "dgemm")
        assert (dgemm[:, :, 0].min(axis=1) >= total[:, 0, 0]).all()
        assert (dgemm[:, :, 1].max(axis=1) <= total[:, 0, 1]).all()


@pytest.mark.parametrize("numbers", NUMBERS)
def test_a_copy_that_moves_nothing_is_found(on_devices: OnDevices, numbers: str) -> None:
    [end] = on_devices([f"variant=shared_copy numbers={numbers}"], 4, SLOWPATH_STUB_CUDA_DROP="1").cells
    assert end["status"] == "failed"
    assert "wrong product: row " in end["reason"]


@pytest.mark.parametrize("style", ["sendrecv", "isend_wait"])
def test_a_message_that_does_not_arrive_is_found(
    ranks: Ranks, on_devices: OnDevices, blankless: Path, style: str
) -> None:
    preload = ranks.compiled(Path(shutil.copy(SOURCES / "faulty_transfers.c", blankless)))
    for numbers in NUMBERS:  # the fault is in the first transfer of a process
        [end] = on_devices([f"variant={style} numbers={numbers}"], 4, LD_PRELOAD=str(preload)).cells
        assert end["status"] == "failed"
        assert "wrong product: row " in end["reason"]


@pytest.mark.parametrize("numbers", NUMBERS)
def test_a_wrong_multiplication_is_found(on_devices: OnDevices, numbers: str) -> None:
    done = on_devices([f"variant=shared_direct numbers={numbers}"], 2, SLOWPATH_STUB_CUBLAS_WRONG="7")
    assert done.code == 1
    assert "wrong product: row 7 " in done.cells[0]["reason"]


@pytest.mark.parametrize(
    ("style", "variables", "said"),
    [
        ("pscw", {}, "no form for memory=device; these have: compute_only sendrecv"),
        ("sendrecv", {"SLOWPATH_MPI_TAKES_DEVICE": "off"}, "SLOWPATH_MPI_TAKES_DEVICE=off"),
        ("shared_copy", {"SLOWPATH_STUB_CUDA_DEVICES": "1"}, "2 ranks on a node that shows 1 GPUs"),
        ("shared_copy", {"SLOWPATH_STUB_CUDA_DEVICES": "0"}, "no device; memory=device needs an NVIDIA GPU"),
        ("shared_copy", {"SLOWPATH_CUDA_DRIVER": "libnone.so"}, "no CUDA driver"),
        ("shared_copy", {"SLOWPATH_CUBLAS": "libnone.so"}, "SLOWPATH_CUBLAS: "),
        ("shared_copy", {"SLOWPATH_STUB_CUBLAS_FAIL": "cublasCreate_v2=3"}, "cublasCreate failed with cublas"),
        ("shared_copy", {"SLOWPATH_STUB_CUDA_FAIL": "cuMemAlloc_v2=2"}, "CUDA_ERROR_OUT_OF_MEMORY"),
        ("shared_direct", {"SLOWPATH_STUB_CUDA_FAIL": "cuIpcGetMemHandle=2"}, "cuIpcGetMemHandle"),
        ("shared_direct", {"SLOWPATH_STUB_CUDA_FAIL": "cuIpcOpenMemHandle_v2=2"}, "cuIpcOpenMemHandle"),
    ],
)  # fmt: skip
def test_what_cannot_run_is_skipped_with_the_reason(
    on_devices: OnDevices, style: str, variables: dict[str, str], said: str
) -> None:
    done = on_devices([f"variant={style}"], 2, **variables)
    assert done.code == 0, done.stderr
    assert done.cells[0]["status"] == "skipped"
    assert said in done.cells[0]["reason"]


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"SLOWPATH_STUB_CUBLAS_FAIL": "cublasDgemm_v2=14"}, "cublasDgemm failed with cublasStatus_t 14"),
        ({"SLOWPATH_STUB_CUDA_FAIL": "cuMemcpyDtoDAsync_v2=2"}, "cuMemcpyDtoDAsync"),
        ({"SLOWPATH_STUB_CUDA_FAIL": "cuMemcpyHtoD_v2=2"}, "cuMemcpyHtoD"),
    ],
)
def test_a_call_that_fails_later_ends_the_job(on_devices: OnDevices, variables: dict[str, str], said: str) -> None:
    """Work that was started before the failure is still running when the memory that it reads would be freed."""
    done = on_devices(["variant=shared_copy"], 2, SLOWPATH_STUB_CUDA_WORK_US="100000", **variables)
    assert done.code != 0
    assert said in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("numbers=bfloat16 memory=host", "numbers=bfloat16 needs memory=device"),
        ("numbers=bfloat16 n=65537", "numbers=bfloat16 is exact up to n=65536"),
        ("skew=moved", "memory=device goes with skew=in_place"),
        ("source=root", "memory=device goes with skew=in_place"),
    ],
)
def test_what_cannot_be_meant_is_refused(ranks: Ranks, words: str, said: str) -> None:
    given = dict(pair.split("=") for pair in f"memory=device {words}".split())
    done = ranks.run_engine("cannon", *(f"--{name}={value}" for name, value in given.items()), ranks=1)
    assert done.returncode == 2
    assert said in done.stderr


def test_the_record_names_gpus_and_library(on_devices: OnDevices) -> None:
    done = on_devices(["variant=shared_copy"], 2)
    notes = [event for event in done.events if event["event"] == "note"]
    assert [note["gpu"]["ordinal"] for note in notes if "gpu" in note] == [0, 1]
    [blas] = [note["blas"] for note in notes if "blas" in note]
    assert blas["name"] == "cuBLAS 13.1.2"
    assert blas["file"].endswith("stub_cublas.so")
