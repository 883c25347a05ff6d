# SPDX-License-Identifier: Apache-2.0
"""What is slower than in healthy runs, whatever the cause: the panel sees it, and no rule is needed for it."""

from __future__ import annotations

from slowpath.findings.slow_path import SlowPath

SLOW_PATH: SlowPath = SlowPath(
    code="SP078",
    name="outside of healthy runs",
    title="Slower than in healthy runs",
    summary="MPI calls take longer here than on machines that are known to be healthy.",
    needs="Slowpath compares each cell with healthy runs, and measures slow ones again, with lengths between.",
    remedy="Compare library, settings, drivers and kernel with a machine that is not slow (slowpath reference "
    "add RUN).",
    observe=lambda facts: (),
    needs_law=False,
    kind="fault",
)
