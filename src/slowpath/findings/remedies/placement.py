# SPDX-License-Identifier: Apache-2.0
"""Remedies that are flags of the launcher."""

from __future__ import annotations

from slowpath.findings.remedies.remedy import Control, Remedy

# Both ranks computing at once would not do: where they share a core, that is what binding mends.
_CALL = Control(
    "an empty call needs one rank's core alone: no message, no memory, no second rank",
    experiment="put",
    parameters={"design": "empty_call"},
    metric="time_per_put_s",
)
REMEDIES = (
    Remedy(
        "bind to cores",
        "Bind each rank to a core of its own.",
        ("SP011", "SP022"),
        ("placement",),
        _CALL,
        side_effects=("threads of a rank share its core unless more are given to it",),
        sources=("docs/reference/launching.md",),
        bind="core",
        phrase="a core of its own for each rank",
        cores_per_rank=1,
    ),
)
