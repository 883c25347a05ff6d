# SPDX-License-Identifier: Apache-2.0
"""Every remedy there is: the one table. What is known of each library's variables is drawn from slowpath.mpi."""

from __future__ import annotations

from slowpath.core.errors import UsageError
from slowpath.findings.remedies import collectives, memory, placement, variables, windows
from slowpath.findings.remedies.remedy import Remedy

REMEDIES: tuple[Remedy, ...] = (
    *variables.of_states(),
    *variables.of_tunings(),
    *variables.MORE,
    *memory.REMEDIES,
    *windows.REMEDIES,
    *placement.REMEDIES,
    *collectives.REMEDIES,
)


def find(name: str) -> Remedy:
    """Raises: UsageError: no remedy of that name."""
    for remedy in REMEDIES:
        if remedy.name == name:
            return remedy
    raise UsageError(f"there is no remedy '{name}'; there are {', '.join(remedy.name for remedy in REMEDIES)}")


def remedies_for(
    code: str,
    axis: str | None = None,
    library: str | None = None,
    version: str | None = None,
    transport: str | None = None,
) -> tuple[Remedy, ...]:
    """Those that may remove what rule `code` names.

    Args: axis: of the contrast in which it was seen; None: it was seen in no contrast, or all axes are asked for.
          library, version, transport: of the MPI in use; library None: for any.
    """
    return tuple(
        remedy
        for remedy in REMEDIES
        if code in remedy.rules
        and (axis is None or axis in remedy.axes)
        and (library is None or remedy.applies.fits(library, version, transport))
    )
