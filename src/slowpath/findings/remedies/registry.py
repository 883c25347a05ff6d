# SPDX-License-Identifier: Apache-2.0
"""Every remedy there is: the one table. What forces a state stands in launch.settings and is drawn from there."""

from __future__ import annotations

from slowpath.core.errors import UsageError
from slowpath.findings.remedies import memory, placement, variables, windows
from slowpath.findings.remedies.remedy import Remedy

REMEDIES: tuple[Remedy, ...] = (
    *variables.of_states(),
    *variables.MORE,
    *memory.REMEDIES,
    *windows.REMEDIES,
    *placement.REMEDIES,
)


def find(name: str) -> Remedy:
    """Raises: UsageError: no remedy of that name."""
    for remedy in REMEDIES:
        if remedy.name == name:
            return remedy
    raise UsageError(f"there is no remedy '{name}'; there are {', '.join(remedy.name for remedy in REMEDIES)}")


def for_rule(
    code: str, library: str | None = None, version: str | None = None, transport: str | None = None
) -> tuple[Remedy, ...]:
    """Those that may remove what rule `code` names, under this library; under any when none is named."""
    return tuple(
        remedy
        for remedy in REMEDIES
        if code in remedy.rules and (library is None or remedy.fits(library, version, transport))
    )
