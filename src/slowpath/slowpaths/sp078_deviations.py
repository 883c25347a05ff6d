# SPDX-License-Identifier: Apache-2.0
"""What is slower than in healthy runs, whatever the cause: the panel sees it, and no rule is needed for it."""

from __future__ import annotations

from slowpath.findings.slow_path import SlowPath

SLOW_PATH: SlowPath = SlowPath(
    code="SP078",
    name="outside of healthy runs",
    title="Slower than in healthy runs",
    summary="MPI calls take longer here than on machines that are known to be healthy. The finding names calls, "
    "the condition under which they are slow, and the added time: per call, per byte or per block.",
    needs="Cells slower than in every healthy run, by a margin with their whole interval; measured again, with "
    "lengths between those that are slow and those that are not.",
    remedy="Compare with a machine or an installation that is not slow: its library, settings, drivers and kernel. "
    "`slowpath reference add RUN` makes a run of it the reference.",
    observe=lambda facts: (),
    cause="",
    needs_law=False,
    kind="fault",
)
