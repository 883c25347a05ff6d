# SPDX-License-Identifier: Apache-2.0
"""SP001: the first use of a buffer costs by its pages."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.facts import Facts, is_device
from slowpath.findings.slow_path import (
    COLD,
    FIRST_METRICS,
    GPU,
    HOST,
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
from slowpath.slowpaths.first_use.first_uses import PROBES, FirstUse, first_use_witness, first_uses_observed
from slowpath.slowpaths.remedies import (
    KEEP_BUFFERS,
    LIBSLOWPATH_PAD_SO,
    NO_MAPPING_OF_GPU_MEMORY,
    PAD_TO_2_MIB,
    PROGRAM_KEEP_FREED_MEMORY,
    PROGRAM_KEEP_HUGE_PAGES,
    PROGRAM_PAD,
)


def observe(facts: Facts) -> Sequence[Observation]:
    """First uses whose excess follows pages or the allocation's length; by its length GPU memory is SP023's. GPU memory
    that is slower by no law is slow by its length as well: launches vary too much there for a law.
    """

    def wanted(use: FirstUse) -> bool:
        return use.by == "pages" or use.by == ("unknown" if is_device(use.slow) else "allocation")

    return first_uses_observed(facts, wanted)


SLOW_PATH: SlowPath = SlowPath(
    code="SP001",
    name="first use by pages",
    title="The first message from a buffer pays for every page of its allocation",
    what="The library maps or pins a buffer when it first sends from it, and pays for every page of the mapping. "
    "GPU drivers map with the largest page that divides length and base: 1 GiB + 1 byte takes 262145 pages of "
    "4 KiB, 1 GiB takes 512 of 2 MiB. A short message from a long buffer pays for all of it.",
    needs="Allocation lengths with and without a remainder at one message length: law 'granules', 'pages' or "
    "'allocation'. Explained when page faults or system time grow alike.",
    remedy="Pad communication buffers to 2 MiB, or preload libslowpath-pad.so; keep buffers, no longer than needed.",
    observe=observe,
    cause="The whole allocation is mapped or pinned at its first use, page by page.",
    witnesses=first_use_witness,
    hypotheses=(
        "the GPU driver maps an opened handle page by page",
        "the kernel pins the buffer page by page",
        "memory is registered with the network card at the first use of a buffer",
    ),
    kind="opportunity",
    rivals=(COLD, NOT_BY_BYTES, UNTOUCHED, WAITING, USER, SIDE),
    probes=PROBES,
    remedies=(
        *NO_MAPPING_OF_GPU_MEMORY,
        PAD_TO_2_MIB,
        LIBSLOWPATH_PAD_SO,
        KEEP_BUFFERS,
    ),
    program_remedies=(
        PROGRAM_KEEP_FREED_MEMORY,
        PROGRAM_PAD,
        PROGRAM_KEEP_HUGE_PAGES,
    ),
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
        ProgramPrice(
            "odd allocation",
            When(memory=GPU, odd=True, first=True),
            "for the first time from GPU memory whose length is not a multiple of its page",
            PAD_TO_2_MIB,
            metrics=FIRST_METRICS,
            phase="first",
            remedied_phase="first",
            both_sides=True,
        ),
        ProgramPrice(
            "fresh host memory",
            When(memory=HOST, first=True, least_bytes=4096),
            "for the first time from their buffers",
            KEEP_BUFFERS,
            metrics=FIRST_METRICS,
            phase="first",
            both_sides=True,
        ),
    ),
)
