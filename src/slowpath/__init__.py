# SPDX-License-Identifier: Apache-2.0
"""Slowpath finds, explains and proves slow paths in MPI communication.

import slowpath
run = slowpath.open("slowpath-runs/checkup-20260131-120000")      # docs/how-to/other-tools.md
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slowpath.core.version import __version__

if TYPE_CHECKING:
    from slowpath.report.opened import open

__all__ = ["__version__", "open"]


def __getattr__(name: str) -> Any:
    """`open` is imported when it is first used, so that `--help` does not pay for numpy."""
    if name == "open":
        from slowpath.report.opened import open as found

        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
