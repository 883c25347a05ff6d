# SPDX-License-Identifier: Apache-2.0
"""Intel MPI's variables I_MPI_ADJUST_...: algorithm by ranks and length. Pure.

Syntax: Intel MPI Library Developer Reference, "I_MPI_ADJUST family": ID:FIRST-LAST@RANKS-RANKS;...
"""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.mpi.tuning import Range

FILE = "intelmpi.sh"


def variables(ranges: Sequence[Range]) -> dict[str, str]:
    """One variable for each collective; elsewhere the library chooses."""
    found: dict[str, list[str]] = {}
    for picked in ranges:
        rule = f"{picked.name}:{picked.first}-{picked.last}@{picked.ranks}-{picked.ranks}"
        found.setdefault(f"I_MPI_ADJUST_{picked.collective.upper()}", []).append(rule)
    return {name: ";".join(rules) for name, rules in sorted(found.items())}


def script_text(ranges: Sequence[Range]) -> str:
    """The same as a script to be read by a shell: `. intelmpi.sh`."""
    lines = [f"export {name}='{value}'" for name, value in variables(ranges).items()]
    return "\n".join(["# Algorithms of collectives, by slowpath tune", *lines, ""])
