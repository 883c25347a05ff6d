# SPDX-License-Identifier: Apache-2.0
"""Remedies that several slow paths of this family share. Pure."""

from __future__ import annotations

from slowpath.findings.library_remedies import tunings
from slowpath.findings.remedy import EAGER, PAD_LIBRARY, SHORT, TUNABLES, ProgramRemedy, Remedy, set_to

HANDLE_CACHE = tunings(
    Remedy(
        "handle cache",
        "Switch on UCX's cache of IPC handles.",
        ("live_buffers", "phase"),
        control=EAGER,
        side_effects=("driver memory of each open handle",),
        of_gpu_memory=True,
    )
)

HUGE_PAGES = Remedy(
    "huge pages",
    "Allocate communication buffers on 2 MiB boundaries and ask for huge pages.",
    ("pages", "environment", "touch"),
    SHORT,
    ("memory: each buffer takes whole pages of 2 MiB", "the first touch of a buffer takes longer"),
    ("madvise(2), MADV_HUGEPAGE", "docs/reference/findings.md"),
    parameter="pages",
    change=set_to("pages", "huge"),
    code=(
        "size_t length = (bytes + (2u << 20) - 1) & ~(size_t)((2u << 20) - 1);\n"
        "void* buffer = aligned_alloc(2u << 20, length);\n"
        "madvise(buffer, length, MADV_HUGEPAGE);"
    ),
)

PROGRAM_HUGE_PAGES = ProgramRemedy(
    "huge-pages",
    "malloc asks for huge pages, so messages from its memory use pages of 2 MiB.",
    "faults",
    "GNU C Library manual, Memory Allocation Tunables, glibc.malloc.hugetlb",
    table=("huge pages",),
    variables={TUNABLES: "glibc.malloc.hugetlb=1"},
    needs=("glibc 2.35", "huge pages by madvise"),
)

PROGRAM_RESERVED_HUGE_PAGES = ProgramRemedy(
    "reserved-huge-pages",
    "malloc takes long blocks from the machine's reserved huge pages.",
    "faults",
    "GNU C Library manual, Memory Allocation Tunables, glibc.malloc.hugetlb",
    variables={TUNABLES: "glibc.malloc.hugetlb=2"},
    needs=("glibc 2.35", "reserved huge pages"),
)

PROGRAM_PAD_HOST = ProgramRemedy(
    "pad-host",
    "Blocks of 4 MiB or more from malloc begin on 2 MiB, in multiples of it, on huge pages where those are enabled.",
    "pad report",
    "docs/how-to/padding.md",
    variables={"SLOWPATH_PAD_HOST": "1"},
    preload=PAD_LIBRARY,
)
