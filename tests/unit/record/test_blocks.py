# SPDX-License-Identifier: Apache-2.0
"""Blocks come back as they were written, and every kind of damage costs what was hit and nothing else."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowpath.core.errors import RecordError
from slowpath.record import blocks
from slowpath.record.blocks import Block, Witness, layout, read, scan, write_blocks

HEADER_BYTES = 128
N = 50
BLOCK_BYTES = HEADER_BYTES + 8 * N


def ten_blocks(path: Path) -> Path:
    rng = np.random.default_rng(0)
    times = rng.integers(1, 10**6, (10, N))
    write_blocks(path, [Block(cell=i, launch=42, phase="steady", duration_ns=times[i]) for i in range(10)])
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return ten_blocks(tmp_path / "samples.blk")


def flip(path: Path, offset: int, bit: int = 0) -> None:
    data = bytearray(path.read_bytes())
    data[offset] ^= 1 << bit
    path.write_bytes(data)


def cells(path: Path) -> list[int]:
    return scan(path).headers["cell"].tolist()


def test_everything_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "samples.blk"
    witness = Witness(7, 1, 2000, 3000, 4, 5)
    block = Block(
        cell=3, launch=42, phase="first", duration_ns=[10, 20, 2**62], start_ns=[0, 11, 32], rank=1, batch=4,
        allocation=2, t0_ns=-5, seq0=9, flags=("imported", "migrated"), witness=witness, cpu_begin=0, cpu_end=1,
    )  # fmt: skip
    assert write_blocks(path, [block]) == 1
    index = scan(path)
    header, samples = index.headers[0], read(index, 0)
    assert samples.duration_ns.tolist() == [10, 20, 2**62]
    assert samples.start_ns is not None
    assert samples.start_ns.tolist() == [0, 11, 32]
    assert index.phase(0) == "first"
    assert {name: header[name] for name in ("cell", "launch", "rank", "batch", "allocation", "t0_ns", "seq0")} == {
        "cell": 3, "launch": 42, "rank": 1, "batch": 4, "allocation": 2, "t0_ns": -5, "seq0": 9,
    }  # fmt: skip
    assert [int(header[name]) for name in Witness.__dataclass_fields__] == [7, 1, 2000, 3000, 4, 5]
    assert [name for name in layout().flags if index.flag(name)[0]] == ["witness", "migrated", "imported"]
    assert index.notes == ()


def test_bytes_stand_where_the_schema_says(file: Path) -> None:
    data = file.read_bytes()
    assert data[:4] == b"SPB1"
    assert struct.unpack_from("<HHII", data, 4) == (128, 1, 0, 42)
    assert data[20] == 3
    assert struct.unpack_from("<Q", data, 32) == (N,)
    assert struct.unpack_from("<II", data, 120) == (zlib.crc32(data[128:BLOCK_BYTES]), zlib.crc32(data[:124]))


def test_select(file: Path) -> None:
    write_blocks(file, [Block(cell=3, launch=42, phase="first", duration_ns=[1], rank=1)])
    index = scan(file)
    assert index.select(cell=3).tolist() == [3, 10]
    assert index.select(cell=3, phase="first").tolist() == [10]
    assert index.select(rank=1, launch=42).tolist() == [10]
    assert index.select(launch=41).tolist() == []


@pytest.mark.parametrize("kept", [0, 3, 9])
@pytest.mark.parametrize("torn", [1, 100, HEADER_BYTES, HEADER_BYTES + 8, BLOCK_BYTES - 1])
def test_a_torn_tail_costs_only_the_tail(file: Path, kept: int, torn: int) -> None:
    with file.open("r+b") as opened:
        opened.truncate(kept * BLOCK_BYTES + torn)
    index = scan(file)
    assert index.headers["cell"].tolist() == list(range(kept))
    assert f"the last {torn} bytes, from byte {kept * BLOCK_BYTES} on" in index.notes[0]


@pytest.mark.parametrize("cell", [0, 4, 9])
def test_a_flipped_sample_costs_its_block(file: Path, cell: int) -> None:
    flip(file, cell * BLOCK_BYTES + HEADER_BYTES + 77, 3)
    index = scan(file)
    assert index.headers["cell"].tolist() == [i for i in range(10) if i != cell]
    (note,) = index.notes
    assert note.startswith(f"samples.blk: block of cell {cell} at byte {cell * BLOCK_BYTES} left out")


def test_two_threads_find_the_same_damage(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flip(file, 2 * BLOCK_BYTES + HEADER_BYTES)
    flip(file, 7 * BLOCK_BYTES + HEADER_BYTES)
    alone = scan(file)
    monkeypatch.setattr(blocks, "WORTH_THREADS_BYTES", 0)
    together = scan(file)
    assert alone.headers["cell"].tolist() == together.headers["cell"].tolist() == [0, 1, 3, 4, 5, 6, 8, 9]
    assert alone.notes == together.notes


def test_without_verification_the_block_stays(file: Path) -> None:
    flip(file, HEADER_BYTES)
    assert len(scan(file, verify=False)) == 10


@pytest.mark.parametrize("offset", range(0, HEADER_BYTES, 3))
def test_a_flip_anywhere_in_a_header_costs_its_block(file: Path, offset: int) -> None:
    flip(file, 4 * BLOCK_BYTES + offset, 6)
    index = scan(file)
    assert index.headers["cell"].tolist() == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    assert f"damaged between byte {4 * BLOCK_BYTES} and byte {5 * BLOCK_BYTES}" in index.notes[0]


def test_a_flipped_first_header(file: Path) -> None:
    flip(file, 0)
    assert cells(file) == list(range(1, 10))


def test_a_flipped_last_header(file: Path) -> None:
    flip(file, 9 * BLOCK_BYTES + 8)
    index = scan(file)
    assert len(index) == 9
    assert f"the last {BLOCK_BYTES} bytes" in index.notes[0]


@pytest.mark.parametrize("whole", [8, HEADER_BYTES, HEADER_BYTES + 16])
def test_a_block_cut_short_with_more_behind_it(file: Path, whole: int) -> None:
    """A full disk cuts one write short; the next one succeeds."""
    data = file.read_bytes()
    file.write_bytes(data[: 4 * BLOCK_BYTES + whole] + data[5 * BLOCK_BYTES :])
    index = scan(file)
    assert index.headers["cell"].tolist() == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    assert index.notes


@pytest.mark.parametrize("magic_bytes_in_first_chunk", [0, 1, 2, 3, 4])
def test_a_long_gap_is_searched_across_chunks(file: Path, magic_bytes_in_first_chunk: int) -> None:
    data = file.read_bytes()
    # Reading resumes one byte into the gap, in pieces of 1 MiB: the magic of the next block lies across their border.
    gap = b"S" * ((1 << 20) + 1 - magic_bytes_in_first_chunk)
    file.write_bytes(data[: 2 * BLOCK_BYTES] + gap + data[2 * BLOCK_BYTES :])
    assert cells(file) == list(range(10))


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10 * BLOCK_BYTES - 1), st.integers(0, 7))
def test_no_single_flip_costs_more_than_one_block(
    tmp_path_factory: pytest.TempPathFactory, offset: int, bit: int
) -> None:
    file = ten_blocks(tmp_path_factory.mktemp("flip") / "samples.blk")
    flip(file, offset, bit)
    index = scan(file)
    assert index.headers["cell"].tolist() == [i for i in range(10) if i != offset // BLOCK_BYTES]
    assert index.notes


def resealed(header: bytes, offset: int, value: bytes) -> bytes:
    changed = bytearray(header)
    changed[offset : offset + len(value)] = value
    return bytes(changed[:-4]) + struct.pack("<I", zlib.crc32(changed[:-4]))


def test_a_newer_version_is_refused(file: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(resealed(data[:HEADER_BYTES], 6, struct.pack("<H", 2)) + data[HEADER_BYTES:])
    with pytest.raises(RecordError, match=r"samples\.blk: was written by a newer slowpath \(block version 2"):
        scan(file)


def test_a_newer_version_with_a_longer_header_is_refused(file: Path) -> None:
    longer = resealed(file.read_bytes()[:HEADER_BYTES] + bytes(32), 4, struct.pack("<HH", 160, 3))
    file.write_bytes(longer)
    with pytest.raises(RecordError, match="block version 3"):
        scan(file)


def test_a_batch_of_zero_is_left_out(file: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(resealed(data[:HEADER_BYTES], 24, bytes(4)) + data[HEADER_BYTES:])
    index = scan(file)
    assert index.headers["cell"].tolist() == list(range(1, 10))
    assert "batch 0" in index.notes[0]


def test_an_absurd_length_is_a_torn_block(file: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(resealed(data[:HEADER_BYTES], 32, struct.pack("<Q", 2**63)) + data[HEADER_BYTES:])
    assert cells(file) == list(range(1, 10))


def test_an_empty_file_is_an_empty_index(tmp_path: Path) -> None:
    path = tmp_path / "samples.blk"
    path.touch()
    index = scan(path)
    assert len(index) == 0
    assert index.notes == ("samples.blk: no samples",)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"samples\.blk: is missing") as caught:
        scan(tmp_path / "samples.blk")
    assert "\n" not in str(caught.value)


def test_a_file_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Doing MPI_Send/Recv from rank 0 to rank 1\n" * 100)
    with pytest.raises(RecordError, match="has no block"):
        scan(path)


def test_an_empty_block(tmp_path: Path) -> None:
    path = tmp_path / "samples.blk"
    write_blocks(path, [Block(cell=1, launch=1, phase="steady", duration_ns=np.array([], dtype=np.int64))])
    index = scan(path)
    assert read(index, 0).duration_ns.shape == (0,)
    assert index.notes == ()


def test_a_file_that_shrank_since_the_scan(file: Path) -> None:
    index = scan(file)
    with file.open("r+b") as opened:
        opened.truncate(BLOCK_BYTES)
    with pytest.raises(RecordError, match="became shorter"):
        read(index, 5)


def test_a_file_that_grows_is_read_as_it_was(file: Path) -> None:
    index = scan(file)
    write_blocks(file, [Block(cell=10, launch=42, phase="steady", duration_ns=[1])])
    assert len(index) == 10
    assert read(index, 9).duration_ns.shape == (N,)
    assert len(scan(file)) == 11


@pytest.mark.parametrize(
    "changes",
    [
        {"duration_ns": [1.5]},
        {"duration_ns": [[1]]},
        {"start_ns": [1, 2]},
        {"batch": 0},
        {"phase": "cooldown"},
    ],
)
def test_what_cannot_be_written(tmp_path: Path, changes: dict[str, object]) -> None:
    values: dict[str, object] = {"cell": 1, "launch": 1, "phase": "steady", "duration_ns": [1], **changes}
    with pytest.raises(ValueError, match=r"integer|start_ns|batch|phase"):
        write_blocks(tmp_path / "samples.blk", [Block(**values)])  # type: ignore[arg-type]


def test_a_selection_is_what_a_look_at_every_header_gives(tmp_path: Path) -> None:
    """Blocks of a cell and a phase are looked up, not searched; cells come in any order, as a launch shuffles them."""
    shuffled = np.random.default_rng(1).permutation(60)
    blocks = [
        Block(cell=n % 5, launch=1, rank=n % 3, phase=("first", "steady")[n % 2], duration_ns=np.arange(3) + n)
        for n in shuffled.tolist()
    ]
    write_blocks(tmp_path / "shuffled", blocks)
    index = scan(tmp_path / "shuffled")
    heads = index.headers
    for cell in range(6):
        for phase in ("first", "steady"):
            of_phase = (heads["cell"] == cell) & (heads["phase"] == layout().phase_number(phase))
            assert index.select(cell=cell, phase=phase).tolist() == np.flatnonzero(of_phase).tolist()
            for rank in range(4):
                wanted = np.flatnonzero(of_phase & (heads["rank"] == rank))
                assert index.select(cell=cell, phase=phase, rank=rank).tolist() == wanted.tolist()
