# SPDX-License-Identifier: Apache-2.0
"""All targets of tools/fuzz: readers in Python, and names of those of the engine (engine/fuzz/targets.cpp)."""

from __future__ import annotations

from fuzz_machine_targets import MACHINE_TARGETS
from fuzz_run_targets import RUN_TARGETS
from fuzz_target import Target
from fuzz_watch_targets import WATCH_TARGETS

TARGETS: tuple[Target, ...] = (*RUN_TARGETS, *WATCH_TARGETS, *MACHINE_TARGETS)
ENGINE_TARGETS = (
    "engine-arguments", "engine-block", "engine-clauses",
    "engine-plan", "engine-proc", "engine-ranks", "engine-smaps", "engine-tuning", "engine-values",
)  # fmt: skip
