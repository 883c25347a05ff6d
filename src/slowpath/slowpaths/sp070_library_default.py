# SPDX-License-Identifier: Apache-2.0
"""SP070: what the library chose by itself is slower than another choice that it has."""

from __future__ import annotations

from slowpath.findings.slow_path import SlowPath, nothing
from slowpath.slowpaths.remedies import page_of

SLOW_PATH: SlowPath = SlowPath(
    observe=nothing,
    needs_law=False,
    kind="opportunity",
    refinements=("alternatives",),
    probes=("control",),
    **page_of("SP070"),
)
