# SPDX-License-Identifier: Apache-2.0
"""Times and rates of puts as numbers in one unit, which the head of their column states: ns, million per second."""

from __future__ import annotations

from slowpath.core.result import Interval
from slowpath.report import format as fmt

NANOSECOND = 1e-9
MILLION = 1e6


def nanoseconds(value_s: float | None, interval: Interval | None = None) -> str:
    """Return seconds as ns, rounded to their interval."""
    return _scaled(value_s, interval, NANOSECOND)


def millions(rate_per_s: float | None, interval: Interval | None = None) -> str:
    """Return a rate in million per second, rounded to its interval."""
    return _scaled(rate_per_s, interval, MILLION)


def nanoseconds_interval(value_s: float | None, interval: Interval | None) -> str | None:
    """Return the ends of an interval in ns, or None."""
    return fmt.ratio_interval(value_s, _ends(interval, NANOSECOND))


def millions_interval(rate_per_s: float | None, interval: Interval | None) -> str | None:
    """Return the ends of an interval in million per second, or None."""
    return fmt.ratio_interval(rate_per_s, _ends(interval, MILLION))


def _scaled(value: float | None, interval: Interval | None, unit: float) -> str:
    return fmt.number(None if value is None else value / unit, _ends(interval, unit))


def _ends(interval: Interval | None, unit: float) -> Interval | None:
    return (interval[0] / unit, interval[1] / unit) if interval else None
