# SPDX-License-Identifier: Apache-2.0
"""Where a law asks for a point: the parameters of a cell that lies there. Pure."""

from __future__ import annotations

from collections.abc import Mapping

_LENGTHS = ("allocation_bytes", "sender_allocation_bytes", "receiver_allocation_bytes")


def placed(parameters: Mapping[str, str], place: Mapping[str, float]) -> dict[str, str] | None:
    """A cell's parameters moved to a place of a sweep; None: no parameter sets what the place asks for."""
    found = dict(parameters)
    base = place.get("buffer_bytes")
    if base is not None and parameters.get("buffer_bytes", "message").isdecimal():
        found["buffer_bytes"] = str(round(base))
    for name, value in place.items():
        if name in _LENGTHS:
            length = found.get("buffer_bytes", "message")
            asked = int(found["message_bytes"]) if length == "message" else int(length)
            if round(value) < asked:
                found["buffer_bytes"], asked = str(round(value)), round(value)
            if asked < int(found["message_bytes"]):
                return None
            found["overalloc_bytes"] = str(round(value) - asked)
        elif name in parameters and name != "buffer_bytes":
            found[name] = str(round(value))
        elif name != "buffer_bytes":
            return None
    return found
