# SPDX-License-Identifier: Apache-2.0
"""First uses with one slow path each, planted and clean: windows by their length."""

from __future__ import annotations

from planted_results import MIB, Planted

LENGTHS = tuple(one * MIB for one in (1, 2, 4, 8, 16, 32, 48, 64))
TOUCH_S_PER_BYTE, PAGE_S = 2.4e-10, 1.2e-6
COMMUNICATORS, EACH_S = 40, 2e-5


def windows(run: Planted, slow: bool, **parameters: str) -> None:
    """The library's windows cost a constant more than the same memory without MPI, and for each page, or no page."""
    for length in LENGTHS:
        touched_s = TOUCH_S_PER_BYTE * length
        for memory, extra_s in (("library", 2e-4 + (PAGE_S / 4096 * length if slow else 0.0)), ("program", 2e-6)):
            run.cell(
                {"shared_window_use_s": {"first": touched_s + 2 * extra_s, "steady": touched_s + extra_s}},
                experiment="first_use",
                pattern="shared_window",
                window_bytes=length,
                memory=memory,
                **parameters,
            )


PLANTS = {
    "SP044": windows,
}
