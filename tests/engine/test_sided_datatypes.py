# SPDX-License-Identifier: Apache-2.0
"""p2p with blocks on one side alone: payloads arrive whole, and the library is told what each side has."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from ranks import Ranks, ends_of_cells, events_in
from told import shim, told

MESSAGE_BYTES, BLOCK_BYTES = 4096, 8
BLOCKS = MESSAGE_BYTES // BLOCK_BYTES
FEW = f"message_bytes={MESSAGE_BYTES} samples=4 time_limit_s=0 warmup_s=0"


def test_every_byte_and_gap_is_right_whichever_side_has_the_blocks(ranks: Ranks, tmp_path: Path) -> None:
    cells = [
        f"p2p pattern={pattern} datatype={datatype} block_bytes={block} {FEW}"
        for pattern in ("ping_pong", "one_way", "windowed", "overlap")
        for datatype in ("vector:contiguous", "contiguous:indexed", "vector:indexed", "indexed_uneven:vector")
        for block in (BLOCK_BYTES, 4)  # of MPI_DOUBLE, and of MPI_BYTE
    ]
    cells += [
        f"p2p pattern={pattern} datatype={datatype} blocks={BLOCKS} pack={pack} {FEW}"
        for pattern in ("ping_pong", "one_way")
        for datatype in ("vector:contiguous", "contiguous:indexed")
        for pack in ("mpi_pack", "loop")
    ]
    cells += [
        f"p2p pattern={pattern} datatype={datatype} block_bytes={block} pack=loop {odd_start} {FEW}"
        for pattern in ("ping_pong", "one_way")
        for datatype in ("contiguous", "vector", "indexed_uneven:vector")
        for block, odd_start in ((BLOCK_BYTES, ""), (64, "offset_bytes=3 overalloc_bytes=64"), (4, ""))
    ]
    cells.append(f"p2p pattern=windowed direction=both datatype=vector:contiguous blocks={BLOCKS} in_flight=3 {FEW}")
    odd = FEW.replace(str(MESSAGE_BYTES), str(MESSAGE_BYTES - BLOCK_BYTES))
    cells.append(f"p2p pattern=windowed datatype=indexed_uneven block_bytes={BLOCK_BYTES} {odd}")
    done = ranks.run_plan(tmp_path / "out", cells, ranks=3)  # the third rank has no side
    assert done.returncode == 0, done.stderr
    ends = ends_of_cells(events_in(tmp_path / "out"))
    assert len(ends) == len(cells)
    for cell, end in zip(cells, ends, strict=True):
        assert (end["status"], end["wrong_bytes"]) == ("ok", 0), cell
        assert end["validated_bytes"] > 0, cell


@pytest.mark.parametrize(
    ("pack", "of_sender"),
    [
        ("none", f"send 1 {MESSAGE_BYTES} {(2 * BLOCKS - 1) * BLOCK_BYTES} 0"),
        ("mpi_pack", f"send {MESSAGE_BYTES} 1 1 1"),
        ("loop", f"send {BLOCKS} {BLOCK_BYTES} {BLOCK_BYTES} 0"),
    ],
)
def test_each_side_names_the_same_elements(
    ranks: Ranks, blankless: Path, tmp_path: Path, pack: str, of_sender: str
) -> None:
    """The side in one piece has basic elements of the blocks' own type, and packs nothing."""
    cell = f"p2p pattern=one_way datatype=vector:contiguous blocks={BLOCKS} pack={pack} messages=3 {FEW}"
    done = ranks.run_plan(tmp_path / "out", [cell], of_ranks=shim(ranks, blankless, tmp_path))
    assert done.returncode == 0, done.stderr
    columns = ("call", "count", "bytes", "extent", "packed")
    sent, received = ({" ".join(words) for words in told(tmp_path, rank, *columns)} for rank in (0, 1))
    first_exchange = {f"{call} {MESSAGE_BYTES} 1 1 0" for call in ("send", "receive")}  # bytes, both ways
    sent, received = sent - first_exchange, received - first_exchange
    assert sent == {of_sender}
    assert received == {f"receive {BLOCKS} {BLOCK_BYTES} {BLOCK_BYTES} 0"}


def test_check_says_the_extent_of_each_side(ranks: Ranks) -> None:
    plan = f"slowpath-plan 1\nlaunch 0\nseed 1\ncell 0 p2p datatype=vector:contiguous blocks={BLOCKS} {FEW}\n"
    argv = [str(ranks.engine.program), "check", "--plan", "-"]
    done = subprocess.run(argv, input=plan, capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    assert said["blocks"] == BLOCKS
    assert said["span_bytes"] == [2 * MESSAGE_BYTES - BLOCK_BYTES, MESSAGE_BYTES]
