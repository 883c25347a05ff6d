# SPDX-License-Identifier: Apache-2.0
"""What is slower than in healthy runs, whatever the cause: the panel sees it, and no rule is needed for it."""

from __future__ import annotations

from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.remedies import page_of

SLOW_PATH: SlowPath = SlowPath(
    observe=lambda facts: (),
    needs_law=False,
    kind="fault",
    **page_of("SP078"),
)
