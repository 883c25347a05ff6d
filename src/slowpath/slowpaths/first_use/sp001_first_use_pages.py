# SPDX-License-Identifier: Apache-2.0
"""SP001: the first use of a buffer costs by its pages."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.facts import Facts
from slowpath.findings.slow_path import (
    COLD,
    FIRST_METRICS,
    GPU,
    NOT_BY_BYTES,
    SIDE,
    UNTOUCHED,
    USER,
    WAITING,
    Observation,
    ProgramPrice,
    SlowPath,
    When,
)
from slowpath.slowpaths.first_use.first_uses import PROBES, first_use_witness, first_uses_observed
from slowpath.slowpaths.remedies import (
    KEEP_BUFFERS,
    LIBSLOWPATH_PAD_SO,
    NO_MAPPING_OF_GPU_MEMORY,
    PAD_TO_2_MIB,
    PROGRAM_PAD,
)


def observe(facts: Facts) -> Sequence[Observation]:
    """First uses whose excess follows pages or granules."""
    return first_uses_observed(facts, lambda use: use.by == "pages" and not facts.over_network(use.slow))


SLOW_PATH: SlowPath = SlowPath(
    code="SP001",
    name="first use by pages",
    title="The first message from a buffer costs extra for each of its pages",
    what="The library maps or pins a buffer when it first sends from it, and pays for every page of the mapping. "
    "GPU drivers map with the largest page that divides length and base: 1 GiB + 1 byte takes 262145 pages of "
    "4 KiB, 1 GiB takes 512 of 2 MiB.",
    needs="A sweep of allocation lengths with and without a remainder at one message length: law 'granules' or "
    "'pages'. Explained when page faults or system time grow alike.",
    remedy="Pad communication buffers to 2 MiB, or preload libslowpath-pad.so; keep buffers.",
    observe=observe,
    cause="The buffer is mapped or pinned page by page at its first use.",
    witnesses=first_use_witness,
    hypotheses=("the GPU driver maps an opened handle page by page", "the kernel pins the buffer page by page"),
    kind="opportunity",
    rivals=(COLD, NOT_BY_BYTES, UNTOUCHED, WAITING, USER, SIDE),
    probes=PROBES,
    remedies=(
        *NO_MAPPING_OF_GPU_MEMORY,
        PAD_TO_2_MIB,
        LIBSLOWPATH_PAD_SO,
        KEEP_BUFFERS,
    ),
    program_remedies=(PROGRAM_PAD,),
    prices=(
        ProgramPrice(
            "fresh GPU memory",
            When(memory=GPU, odd=False, first=True),
            "for the first time from GPU memory",
            KEEP_BUFFERS,
            metrics=FIRST_METRICS,
            phase="first",
            both_sides=True,
        ),
    ),
)
