# SPDX-License-Identifier: Apache-2.0
"""What a contrast of a campaign may name as its remedy: a remedy of the table, or advice that belongs to no rule."""

from __future__ import annotations

from slowpath.core.errors import UsageError
from slowpath.core.units import listed
from slowpath.findings.slow_path import Remedy
from slowpath.slowpaths.registry import REMEDIES

MORE: tuple[Remedy, ...] = (
    Remedy("predefined datatype", "Put contiguous runs with a predefined datatype.", ("datatype",)),
    Remedy("fewer live buffers", "Use fewer communication buffers, and reuse them.", ("live_buffers",)),
    Remedy("op that commutes", "Tell MPI_Op_create that the op commutes (second argument) if it does.", ("op",)),
    Remedy("blocking call", "Call the blocking collective where there is nothing to do meanwhile.", ("start",)),
    Remedy("int count", "Call MPI_Put instead of MPI_Put_c where an int can hold the count.", ("datatype",)),
    Remedy(
        "no request",
        "Call MPI_Put and MPI_Win_flush_local where no individual put must complete.",
        ("operation",),
    ),
    Remedy(
        "share memory",
        "Share memory (variants shared_direct and get_from_home), or turn single copy off.",
        ("environment",),
    ),
)
ADVICE = (*REMEDIES, *MORE)


def find_advice(name: str, axis: str) -> Remedy:
    """Raises: UsageError: nothing has that name, or it does not help on the slow side of this axis."""
    advice = next((advice for advice in ADVICE if advice.name == name), None)
    if advice is None:
        fitting = ", ".join(f"'{advice.name}'" for advice in ADVICE if axis in advice.axes)
        raise UsageError(f"there is no remedy '{name}'; for axis {axis} there are {fitting or 'none'}")
    if axis not in advice.axes:
        raise UsageError(f"remedy '{name}' is for {listed(advice.axes)}, not for axis {axis}")
    return advice


def advice_text(name: str) -> str:
    """The sentence for a name; plans of earlier versions hold the sentence itself."""
    return next((advice.text for advice in ADVICE if advice.name == name), name)
