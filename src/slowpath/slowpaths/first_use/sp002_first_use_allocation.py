# SPDX-License-Identifier: Apache-2.0
"""SP002: the first use of host memory costs by the length of the whole allocation."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.facts import Facts, is_device
from slowpath.findings.slow_path import (
    COLD,
    FIRST_METRICS,
    GPU,
    NOT_BY_PAGES,
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
    PROGRAM_PAD,
)


def observe(facts: Facts) -> Sequence[Observation]:
    """First uses whose excess follows the allocation's length; GPU memory is SP023's."""

    def wanted(use: FirstUse) -> bool:
        return use.by == "allocation" and not is_device(use.slow) and not facts.over_network(use.slow)

    return first_uses_observed(facts, wanted)


SLOW_PATH: SlowPath = SlowPath(
    code="SP002",
    name="first use by allocation",
    title="The first message pays for the whole allocation, not only for its own bytes",
    what="A short message from a long buffer pays once for all of the buffer, because the library maps, pins or "
    "registers the whole allocation.",
    needs="Allocations of 5 lengths or more at one message length: law 'allocation'. Explained when system time or "
    "page faults account for the excess.",
    remedy="Send from a dedicated communication buffer that is no longer than needed, and keep it.",
    observe=observe,
    cause="The whole allocation is mapped or registered at its first use.",
    witnesses=first_use_witness,
    kind="opportunity",
    rivals=(COLD, NOT_BY_PAGES, UNTOUCHED, WAITING, USER, SIDE),
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
    ),
    prices=(
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
    ),
)
