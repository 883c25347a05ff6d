# SPDX-License-Identifier: Apache-2.0
"""Numbers as the report shows them: rounding by `slowpath.core.units`, plus intervals, missing values and words."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.units import format_bytes, format_interval, format_rate, format_ratio, format_time
from slowpath.core.units import plural as plural

MISSING = "–"
PLAIN = str.maketrans({"µ": "u", "×": "x", "–": "-", "→": ">", "·": ","})
_FACTORS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_PREFIXES = {"T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3}
_RATES = {"B/s": "B/s", "bytes/s": "B/s", "1/s": "/s", "messages/s": "/s"}
Interval = Sequence[float] | None

PHRASES = {
    "one_way_s": "one-way time",
    "send_s": "send time",
    "receive_s": "receive time",
    "send_barrier_s": "send and barrier",
    "half_round_trip_latency_s": "half round-trip latency",
    "time_per_message_s": "time per message",
    "bandwidth_bytes_per_s": "bandwidth",
    "message_rate_per_s": "message rate",
}


def metric_name(name: str) -> str:
    """Return the name of a metric in prose."""
    return PHRASES.get(name, name.removesuffix("_s").replace("_", " "))


def _half(interval: Interval) -> float | None:
    return (interval[1] - interval[0]) / 2 if interval else None


def quantity(value: float | None, unit: str = "s", interval: Interval = None) -> str:
    """Return `value` in `unit` ("s", "B/s", "1/s" or any other), with a prefix and rounded to its interval."""
    if value is None:
        return MISSING
    if unit == "s":
        return format_time(value, _half(interval))
    if unit in _RATES:
        return format_rate(value, _half(interval), _RATES[unit])
    return f"{format_ratio(value, _half(interval))} {unit}".rstrip()


def quantity_interval(value: float | None, unit: str, interval: Interval) -> str | None:
    """Return the interval of a quantity with the unit and digits of its value, or None."""
    if value is None or interval is None:
        return None
    name = quantity(value, unit, interval).partition(" ")[2]
    factor = _FACTORS.get(name, 1.0) if unit == "s" else _PREFIXES.get(name[:1], 1.0) if unit in _RATES else 1.0
    ends = interval[0] / factor, interval[1] / factor
    return f"{format_interval(ends, value / factor)} {name}".rstrip()


def beside(shown: str, ends: str | None) -> str:
    """`34.34 ns [33.76, 35.12]`: a quantity and its interval, the unit once."""
    return f"{shown} {ends.removesuffix(shown.partition(' ')[2]).rstrip()}" if ends else shown


def with_kind(shown: str | None, kind: str | None) -> str:
    """Return an interval with its kind, or "no interval" and the reason."""
    if shown is None:
        return kind if kind and "no interval" in kind else f"no interval: {kind or 'no reason was recorded'}"
    return f"{shown}, {kind}" if kind else shown


def time(value_s: float | None, interval: Interval = None) -> str:
    """Return seconds as ns, us, ms or s. Pages show `µs` (slowpath.report.page)."""
    return quantity(value_s, "s", interval)


def ratio(value: float | None, interval: Interval = None) -> str:
    """Return a ratio, such as 2.71×."""
    return MISSING if value is None else f"{format_ratio(value, _half(interval))}×"


def ratio_interval(value: float | None, interval: Interval) -> str | None:
    """Return the interval of a ratio with the digits of the ratio, or None."""
    if value is None or interval is None:
        return None
    return format_interval((interval[0], interval[1]), value)


def count_bytes(count: int | None) -> str:
    """Return an exact number of bytes, such as 1 GiB + 1 B."""
    return MISSING if count is None else format_bytes(int(count))


def percent(share: float | None, places: int = 1) -> str:
    """Return a share as a percentage."""
    return MISSING if share is None else f"{100 * share:.{places}f} %"


def duration(seconds: float | None) -> str:
    """Return a wall time, such as 43 s, 12 min 5 s or 2 h 3 min."""
    if seconds is None:
        return MISSING
    whole = round(seconds)
    if whole < 120:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def date(moment: str | None) -> str | None:
    """Return date and time of an ISO 8601 moment, such as `2026-11-22 09:59`."""
    return moment[:16].replace("T", " ") if moment else None


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Return rows of a text table, two blanks between columns.  Args: left: columns that are aligned left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            word.ljust(width) if place < left else word.rjust(width)
            for place, (word, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
