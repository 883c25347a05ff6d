# SPDX-License-Identifier: Apache-2.0
"""Remedies that several slow paths of this family share. Pure."""

from __future__ import annotations

from slowpath.findings.remedy import ProgramRemedy

PROGRAM_TWO_COPIES = ProgramRemedy(
    "two-copies",
    "Messages inside a node use two copies through shared memory instead of one by the kernel.",
    "control variable",
    "docs/reference/launching.md, single_copy_off",
    state="single_copy_off",
)
