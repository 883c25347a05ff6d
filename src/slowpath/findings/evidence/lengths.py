# SPDX-License-Identifier: Apache-2.0
"""How long a cell's buffers are, in words. Pure."""

from __future__ import annotations

from slowpath.core.units import format_bytes
from slowpath.findings.evidence.compared import Cell


def buffer_words(cell: Cell) -> str:
    """` of 1 GiB + 1 B` for the sender's allocation; empty where it is as long as the message, or not told."""
    parameters = cell["parameters"]
    length = str(parameters.get("allocation_bytes") or parameters.get("buffer_bytes") or "message").split(":")[0]
    extra = str(parameters.get("overalloc_bytes", "0")).split(":")[0]
    if length == "message":
        length = str(parameters.get("message_bytes", "")) if extra not in ("", "0") else ""
    if not (length.isdecimal() and extra.isdecimal()):
        return ""
    pad = str(parameters.get("pad_to_bytes", "0")).split(":")[0]
    whole = int(length) + int(extra)
    if pad.isdecimal() and int(pad) > 0:
        whole = -(-whole // int(pad)) * int(pad)
    return f" of {format_bytes(whole)}"
