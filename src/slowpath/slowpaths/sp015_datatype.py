# SPDX-License-Identifier: Apache-2.0
"""SP015: derived datatypes that are moved block by block, in a program."""

from __future__ import annotations

from collections.abc import Mapping

from slowpath.findings.slow_path import (
    GPU,
    HOST,
    Control,
    Parameters,
    ProgramPrice,
    Remedy,
    SlowPath,
    When,
    nothing,
    on_gpu,
    set_to,
)
from slowpath.slowpaths.remedies import page_of

_READ_BY_PROCESSORS = HOST | {"shared mapping", "pinned host memory", "MPI's"}


def _packed(parameters: Parameters) -> Mapping[str, str] | None:
    """Of messages in blocks alone: packing what is contiguous copies it for nothing."""
    return set_to("pack", "mpi_pack")(parameters) if _in_blocks(parameters) else None


def _packed_by_loop(parameters: Parameters) -> Mapping[str, str] | None:
    """Of messages in blocks, in memory that a processor reads."""
    return set_to("pack", "loop")(parameters) if _in_blocks(parameters) and not on_gpu(parameters) else None


def _in_blocks(parameters: Parameters) -> bool:
    return parameters.get("datatype", "contiguous") != "contiguous"


PACKING_LOOP = Remedy(
    "packing loop",
    "Copy blocks into a contiguous buffer by a loop before sending.",
    ("datatype", "pack"),
    Control(
        parameters={"pattern": "ping_pong", "datatype": "contiguous", "message_bytes": "65536"},
    ),
    parameter="pack",
    change=_packed_by_loop,
    code="for (int i = 0; i < blocks; i++) packed[i] = data[places[i]];\nMPI_Send(packed, blocks, MPI_DOUBLE, ...);",
    phrase="a loop that packs before sending",
)

CONTIGUOUS_DATA = Remedy(
    "contiguous data",
    "Copy blocks into a contiguous buffer with MPI_Pack before sending.",
    ("datatype", "pack"),
    None,  # MPI_Pack also copies contiguous messages
    parameter="pack",
    change=_packed,
    code="MPI_Pack(data, count, type, packed, size, &at, comm);\nMPI_Send(packed, at, MPI_PACKED, ...);",
    phrase="MPI_Pack or a loop before sending",
)

SLOW_PATH: SlowPath = SlowPath(
    observe=nothing,
    kind="property",
    probes=("blocks",),
    remedies=(PACKING_LOOP, CONTIGUOUS_DATA),
    prices=(
        ProgramPrice(
            "small blocks",
            When(memory=_READ_BY_PROCESSORS, below_block_bytes=512, first=False),
            "in blocks",
            PACKING_LOOP,
        ),
        ProgramPrice(
            "small blocks of GPU memory",
            When(memory=GPU, below_block_bytes=512, first=False),
            "in blocks",
            CONTIGUOUS_DATA,
        ),
    ),
    **page_of("SP015"),
)
