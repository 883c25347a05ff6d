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


@pytest.mark.parametrize("offset", range(0, HEADER_BYTES, 3))
def test_a_flip_anywhere_in_a_header_costs_its_block(file: Path, offset: int) -> None:
    flip(file, 4 * BLOCK_BYTES + offset, 6)
    index = scan(file)
    assert index.headers["cell"].tolist() == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    assert f"bytes {4 * BLOCK_BYTES} to {5 * BLOCK_BYTES}" in index.notes[0]


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
    with pytest.raises(RecordError, match=r"samples\.blk: cannot be read: its block version is 2, not 1; update"):
        scan(file)


def test_an_empty_file_is_an_empty_index(tmp_path: Path) -> None:
    path = tmp_path / "samples.blk"
    path.touch()
    index = scan(path)
    assert len(index) == 0
    assert index.notes == ("samples.blk: no samples",)


@pytest.mark.parametrize(
    "changes",
    [{"duration_ns": [1.5]}, {"duration_ns": [[1]]}, {"start_ns": [1, 2]}, {"batch": 0}, {"phase": "cooldown"}],
)
def test_what_cannot_be_written(tmp_path: Path, changes: dict[str, object]) -> None:
    values: dict[str, object] = {"cell": 1, "launch": 1, "phase": "steady", "duration_ns": [1], **changes}
    with pytest.raises(ValueError, match=r"integer|start_ns|batch|phase"):
        write_blocks(tmp_path / "samples.blk", [Block(**values)])  # type: ignore[arg-type]
