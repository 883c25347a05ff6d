# SPDX-License-Identifier: Apache-2.0
"""How the report of a watch writes counts, places, classes and intervals."""

from __future__ import annotations

from slowpath.core.units import format_bytes
from slowpath.report import format as fmt
from slowpath.watch.results import MessageClass


def count(number: int) -> str:
    """`18,432`."""
    return f"{number:,}"


def lengths(low: int, high: int) -> str:
    """Of a size class: `64 KiB to 131071 B`, `no bytes`."""
    if high == 0:
        return "no bytes"
    if low == high:
        return format_bytes(low)
    top = format_bytes(high + 1) if (high + 1).bit_count() == 1 else format_bytes(high)
    return f"{format_bytes(low)} to {'below ' if (high + 1).bit_count() == 1 else ''}{top}"


def buffer(message_class: MessageClass) -> str:
    """`mapping, 4 KiB pages, odd length, starts on a line, blocks of 8 B, first use`."""
    parts = [message_class.memory if message_class.memory != "not known" else "memory not known"]
    parts += [f"{format_bytes(message_class.page_bytes)} pages"] if message_class.page_bytes else []
    parts += ["odd length"] if message_class.is_odd else []
    parts += {"page": ["starts on a page"], "line": ["starts on a line"]}.get(message_class.start, [])
    irregular = "irregular " if message_class.is_uneven else ""
    known = message_class.block_bytes is not None
    parts += [f"{irregular}blocks of {format_bytes(message_class.block_bytes or 0)}"] if known else []
    return ", ".join([*parts, *(["first use"] if message_class.first else [])])


def messages(message_class: MessageClass) -> str:
    """`MPI_Send, 1 MiB to below 2 MiB`; `MPI_Sendrecv, receive, ...`, where the call does not say which side it is."""
    name = message_class.call.lower()
    plain = message_class.side not in ("send", "receive") or ("send" in name) != ("recv" in name)
    return ", ".join(
        [
            message_class.call,
            *([] if plain else [message_class.side]),
            lengths(message_class.bytes_low, message_class.bytes_high),
        ]
    )


def time(value_s: float | None) -> str:
    """As fmt.time; nothing at all is 0, not 0 ns."""
    return "0" if value_s == 0 else fmt.time(value_s)
