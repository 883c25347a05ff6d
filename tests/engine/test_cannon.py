# SPDX-License-Identifier: Apache-2.0
"""Cannon's algorithm under real MPIs: every style is right, faults are found, and the record says what happened."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from ranks import Event, Ranks, described, ends_of_cells, events_in

from slowpath.experiments.cannon.experiment import FLOPS_PER_S
from slowpath.experiments.cannon.runs import ALONE, CEILING, PARTS, TOTAL
from slowpath.mpi.mpi import Mpi
from slowpath.record.blocks import BlockIndex, read, scan
from slowpath.run.engine.build import PACKAGED, PLUGIN
from slowpath.run.engine.cache import Engine

pytestmark = pytest.mark.needs("minutes")

FAULTS = Path(__file__).parents[2] / "engine" / "studies" / "cannon" / "tests"
# Short, and no waiting for a quiet machine: it is the products that count.
QUICK = "repetitions=2 quiet_wait_s=0"
N = 48  # a multiple of the steps of every grid here


@dataclass(frozen=True)
class Done:
    """What a launch left. cells: one cell_end a cell, in the order of the plan."""

    code: int
    index: BlockIndex
    events: list[Event]
    cells: list[Event]

    def of(self, name: str, cell: int) -> list[Event]:
        return [event for event in self.events if event["event"] == name and event.get("cell") == cell]


Cannon = Callable[..., Done]


@pytest.fixture
def cannon(ranks: Ranks, tmp_path: Path) -> Cannon:
    """Runs cells of cannon on some ranks and reads what they left."""

    def run(
        cells: list[str], number: int, variables: Mapping[str, str] | None = None, program: Path | None = None
    ) -> Done:
        out = tmp_path / "out"
        plan = [f"cannon {cell}" for cell in cells]
        done = ranks.run_plan(out, plan, program=program, ranks=number, of_all=variables)
        assert done.returncode in (0, 1), done.stderr
        events = events_in(out)
        ends = ends_of_cells(events)
        assert len(ends) == len(cells)
        return Done(done.returncode, scan(out / "samples.blk"), events, ends)

    return run


@pytest.fixture
def variants(engine: Engine) -> list[str]:
    """All of the engine's."""
    experiment = next(e for e in described(engine)["experiments"] if e["name"] == "cannon")
    return next(p for p in experiment["parameters"] if p["name"] == "variant")["choices"]


@pytest.fixture(autouse=True)
def _blas(engine: Engine) -> None:
    if not (engine.program.parent / PLUGIN).exists():
        pytest.skip("the engine was built without a BLAS")


@pytest.fixture
def faulty_blas(mpi: Mpi, engine: Engine, tmp_path: Path) -> Path:
    """The engine with a BLAS of plain loops that can be told to be wrong."""
    folder = tmp_path / "faulty"
    folder.mkdir()
    shutil.copy2(engine.program, folder)
    for library in engine.program.parent.glob("*.so"):
        if library.name not in (PLUGIN, PACKAGED):
            shutil.copy2(library, folder)
    source = str(FAULTS / "faulty_blas.c")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", str(folder / PLUGIN), source], check=True)
    return folder / engine.program.name


def all_of(variants: list[str], more: str) -> list[str]:
    return [f"variant={variant} n={N} {QUICK} {more}" for variant in variants]


def assert_right(done: Done, cells: list[str]) -> None:
    """Every cell was measured and validated."""
    for end, cell in zip(done.cells, cells, strict=True):
        said = f"{cell}: {end['reason']}"
        assert end["status"] == "ok", said
        assert end["steady_samples"] == 2, said
        no_product = any(f"variant={variant} " in cell for variant in (ALONE, CEILING))
        checked = 0 if no_product else 2 * N * N * 8  # the first warm-up and the last repetition
        assert end["validated_bytes"] == checked, said
        assert end["wrong_bytes"] == 0, said
    assert done.code == 0


MANY = [pytest.param(number, marks=pytest.mark.needs("minutes")) for number in (9, 16)]


@pytest.mark.parametrize("number", [1, 4, *MANY])
def test_every_variant_gives_the_same_bits(cannon: Cannon, variants: list[str], number: int) -> None:
    """2 x 2 has one move, so that 3 x 3 is the first grid that uses a buffer again."""
    cells = all_of(variants, "numbers=integer")
    assert_right(cannon(cells, number), cells)


def test_every_variant_is_right_in_every_setting(cannon: Cannon, variants: list[str]) -> None:
    settings = ["numbers=real", "skew=moved", "window=create", "source=root", "source=file", "grid=ring"]
    cells = [cell for more in settings for cell in all_of(variants, more)]
    assert_right(cannon(cells, 4), cells)


def test_every_variant_is_right_on_a_grid_that_is_not_square(cannon: Cannon, variants: list[str]) -> None:
    cells = all_of(variants, "numbers=integer") + all_of(variants, "numbers=integer skew=moved")
    done = cannon(cells, 6)
    assert_right(done, cells)
    grids = [event["grid"] for event in done.events if "grid" in event]
    assert grids[0] == {"rows": 2, "columns": 3, "steps": 6}


@pytest.mark.parametrize("fault", ["drop", "off_by_one", "float"])
def test_a_wrong_multiplication_fails(cannon: Cannon, faulty_blas: Path, fault: str) -> None:
    """The fault is in the first multiplication of a process, so each variant has a launch of its own."""
    numbers = "real" if fault == "float" else "integer"
    chosen = ("sendrecv_replace", "shared_direct", "put_fence")
    cells = [f"variant={variant} n={N} {QUICK} numbers={numbers}" for variant in chosen]
    assert_right(cannon(cells, 2, program=faulty_blas), cells)
    for cell in cells:
        done = cannon([cell], 2, {"SLOWPATH_FAULT": fault}, faulty_blas)
        assert done.code == 1
        assert done.cells[0]["status"] == "failed"
        assert "wrong product: row " in done.cells[0]["reason"]
        assert done.cells[0]["wrong_bytes"] > 0


@pytest.mark.parametrize("variant", ["sendrecv_replace", "put_fence", "pscw", "put_flag", "get_from_home"])
def test_a_transfer_that_moves_nothing_is_found(ranks: Ranks, cannon: Cannon, blankless: Path, variant: str) -> None:
    preload = ranks.compiled(Path(shutil.copy(FAULTS / "faulty_mpi.c", blankless)))
    for numbers in ("integer", "real"):  # the fault is in the first transfer of a process
        cells = [f"variant={variant} n={N} {QUICK} numbers={numbers}"]
        done = cannon(cells, 4, {"LD_PRELOAD": str(preload)})
        assert done.code == 1
        assert "wrong product" in done.cells[0]["reason"], "a stale or poisoned block must show"


def test_the_record_holds_every_interval(cannon: Cannon) -> None:
    cells = [f"variant={v} n={N} {QUICK} skew=moved" for v in ("isend_wait", "put_fence", "shared_copy")]
    done = cannon(cells, 4)
    for cell, parts in enumerate(
        (
            {"total": 1, "dgemm": 2, "issue": 1, "wait": 1, "skew": 1, "generate": 1},
            {"total": 1, "dgemm": 2, "issue": 1, "synchronise": 2, "skew": 1, "generate": 1},
            {"total": 1, "dgemm": 2, "copy": 2, "synchronise": 1, "generate": 1},
        )
    ):
        for rank in range(4):
            assert intervals_of(done, cell, rank) == parts
            [disturbed] = [event for event in done.of("repetitions", cell) if event["rank"] == rank]
            assert len(disturbed["involuntary_switches"]) == len(disturbed["other_cpu_s"]) == 2
            assert all(switches >= 0 for switches in disturbed["involuntary_switches"])
            assert disturbed["clock_from"]
            assert len(disturbed["clock_hz"]) == 2
            assert all(hz is None or hz > 0 for hz in disturbed["clock_hz"])
            inside_the_total(done, cell, rank)


def intervals_of(done: Done, cell: int, rank: int) -> dict[str, int]:
    """Part -> its intervals in one repetition, as the event says and the blocks have."""
    events = {event["part"]: event["steps"] for event in done.of("intervals", cell) if event["rank"] == rank}
    counted = {}
    for i in done.index.select(cell=cell, rank=rank, phase="steady"):
        part = int(done.index.headers["part"][i])
        samples = read(done.index, int(i))
        assert len(samples.duration_ns) == 2 * len(events[part])
        assert samples.start_ns is not None
        counted[PARTS[part]] = len(events[part])
    assert {PARTS[part] for part in events} == counted.keys()
    return counted


def inside_the_total(done: Done, cell: int, rank: int) -> None:
    """Parts 1 to 9 lie in the whole multiplication and don't overlap; the inputs are made before it."""
    spans: dict[int, np.ndarray] = {}
    for i in done.index.select(cell=cell, rank=rank, phase="steady"):
        samples = read(done.index, int(i))
        begin = samples.start_ns + int(done.index.headers["t0_ns"][i])
        spans[int(done.index.headers["part"][i])] = np.stack([begin, begin + samples.duration_ns], 1).reshape(2, -1, 2)
    for repetition in (0, 1):
        begin, end = spans[TOTAL][repetition, 0]
        inner = np.concatenate(
            [span[repetition] for part, span in spans.items() if PARTS[part] not in ("total", "generate")]
        )
        inner = inner[np.argsort(inner[:, 0])]
        assert (inner[:, 0] >= begin).all()
        assert (inner[:, 1] <= end).all()
        assert (inner[1:, 0] >= inner[:-1, 1]).all()
        made = next(span for part, span in spans.items() if PARTS[part] == "generate")
        assert made[repetition, 0, 1] <= begin


def test_variants_take_turns_within_each_repetition(cannon: Cannon) -> None:
    """Whatever the order in the plan, and beside cells of another n."""
    cells = [
        f"variant={v} n={n} quiet_wait_s=0 repetitions=4" for v in ("sendrecv", "pscw", "put_flag") for n in (N, 24)
    ]
    done = cannon(cells, 2)
    begins = []
    for cell in (0, 2, 4):
        [i] = [
            i for i in done.index.select(cell=cell, rank=0, phase="steady") if done.index.headers["part"][i] == TOTAL
        ]
        samples = read(done.index, int(i))
        begins.append(samples.start_ns + int(done.index.headers["t0_ns"][i]))
    table = np.array(begins)
    assert table.shape == (3, 4)
    assert (table.max(axis=0)[:-1] < table.min(axis=0)[1:]).all()
    assert len({tuple(np.argsort(column)) for column in table.T}) > 1, "nobody is always the first"


def test_the_multiplication_is_recorded(cannon: Cannon) -> None:
    cells = [f"variant=isend_test n={N} {QUICK} piece=5", f"variant=isend_test n={N} {QUICK}",
             f"variant=isend_test n=2 {QUICK}"]  # fmt: skip
    cells += [f"variant=isend_wait n={N} {QUICK} numbers=integer kernel={kernel}" for kernel in FLOPS_PER_S]
    done = cannon(cells, 2, {"OPENBLAS_NUM_THREADS": "7"})
    [note] = [event for event in done.of("note", 0) if "blas" in event]
    assert note["blas"]["name"]
    assert note["blas"]["threads"] == 1, "one rank, one thread, whatever the user's environment says"
    assert note["blas"]["file"]
    assert note["blas"]["compiled_for"].startswith("-O3")
    assert note["grid"] == {"rows": 1, "columns": 2, "steps": 2}
    assert intervals_of(done, 0, 0)["test"] == 4  # pieces of 5 of a panel of 24, in the step that moves
    assert intervals_of(done, 1, 0)["test"] == 1, "384 columns are more than a panel has, so it is cut in two"
    assert "2 pieces of 12 columns" in done.of("note", 1)[0]["remark"]
    assert (done.cells[2]["status"], done.cells[2]["reason"].partition(";")[0]) == (
        "skipped", "variant=isend_test: each step multiplies 1 column of k, which can't be cut for an MPI_Testall"
    )  # fmt: skip
    for cell, kernel in enumerate(FLOPS_PER_S, start=3):
        assert done.cells[cell]["status"] == "ok", kernel
        known = done.of("note", cell)[0]["blas"]
        assert known["name"].startswith("plain loop") == kernel.startswith("loop"), known
        if kernel.startswith("loop_O"):
            assert known["compiled_for"] == kernel.replace("loop_", "-")


def test_without_a_blas_cells_are_skipped(cannon: Cannon, engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "without"
    folder.mkdir()
    shutil.copy2(engine.program, folder)
    for library in engine.program.parent.glob("libslowpath-layers.so"):
        shutil.copy2(library, folder)
    done = cannon([f"n={N}", f"n={N} variant=pscw"], 2, program=folder / engine.program.name)
    assert done.code == 0
    for end in done.cells:
        assert end["status"] == "skipped"
        assert "no BLAS" in end["reason"]
        assert "pip install 'slowpath[blas]'" in end["reason"]


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("n=65537 numbers=integer", "numbers=integer is exact up to n=65536"),
        ("n=48 skew=moved source=root", "skew=moved goes with source=in_place"),
        ("n=48 variant=sendrecv_replaced", "did you mean sendrecv_replace"),
        ("n=0", "n: '0' is too small"),
    ],
)
def test_wrong_parameters_are_refused(ranks: Ranks, cell: str, said: str) -> None:
    words = [word for pair in cell.split() for word in ("--" + pair.split("=")[0], pair.split("=")[1])]
    done = ranks.run_engine("cannon", *words, ranks=1)
    assert done.returncode == 2
    assert said in done.stderr
