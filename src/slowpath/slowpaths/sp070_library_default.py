# SPDX-License-Identifier: Apache-2.0
"""SP070: what the library chose by itself is slower than another choice that it has."""

from __future__ import annotations

from slowpath.findings.slow_path import SlowPath, nothing

SLOW_PATH: SlowPath = SlowPath(
    code="SP070",
    name="library default",
    title="The library's own choice is slower than another one that it has",
    summary="A library's defaults were made for another machine.",
    needs="Slowpath runs short cells with each alternative, and a trial of each that looked faster.",
    remedy="Set the variable that the finding names.",
    observe=nothing,
    needs_law=False,
    kind="opportunity",
    refinements=("alternatives",),
    probes=("control",),
)
