# SPDX-License-Identifier: Apache-2.0
"""SP070: what the library chose by itself is slower than another choice that it has."""

from __future__ import annotations

from slowpath.findings.slow_path import SlowPath, nothing

SLOW_PATH: SlowPath = SlowPath(
    code="SP070",
    name="library default",
    title="The library's own choice is slower than another one that it has",
    summary="A library's defaults for module, transport, copying, waiting and algorithms were made for another "
    "machine. A variable changes each choice.",
    needs="Short cells run with the library's defaults, with a variable that nothing reads, and with each "
    "alternative; a trial follows for each that looked faster.",
    remedy="Set the variable that the finding names.",
    observe=nothing,
    cause="The library's own choice is slower here than another one that it has.",
    hypotheses=("the alternative does less: it leaves something out",),
    needs_law=False,
    kind="opportunity",
    refinements=("alternatives",),
    probes=("control",),
)
