# SPDX-License-Identifier: Apache-2.0
"""A metric: what its numbers are, and the rates that follow from them. Definitions: docs/reference/metrics.md. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from slowpath.core.engine_description import DescribedMetric, recorded
from slowpath.core.result import Interval


@dataclass(frozen=True)
class Metric:
    """What a metric's numbers are."""

    name: str
    unit: str
    better: Literal["lower", "higher"]
    meaning: str
    bandwidth: bool = False  # of one message in this time
    message_rate: bool = False  # one over this time
    not_across: Mapping[str, str] = field(default_factory=dict, hash=False)  # axis -> why both sides time unlike things


# What follows from a time and the payload; no block holds them.
BANDWIDTH = Metric("bandwidth_bytes_per_s", "B/s", "higher", "payload over time")
MESSAGE_RATE = Metric("message_rate_per_s", "1/s", "higher", "messages, or puts, over time")
RATES = (BANDWIDTH, MESSAGE_RATE)

_COUNTED = "instructions"


def timed(
    experiment: str, pattern: str, *, not_across: Mapping[str, Mapping[str, str]] | None = None
) -> tuple[Metric, ...]:
    """Return what the engine of this version says that a pattern yields, without rates and counts.

    Args: not_across: of metrics that have one.
    """
    rates = {metric.name for metric in RATES}
    every = [metric for metric in _described(experiment) if metric.pattern == pattern]
    return tuple(
        _metric(metric, (not_across or {}).get(metric.name, {}))
        for metric in every
        if metric.unit != _COUNTED and metric.name not in rates
    )


def counted(experiment: str) -> tuple[Metric, ...]:
    """Return what is counted in an experiment's cells, as the engine of this version says."""
    return tuple(_metric(metric, {}) for metric in _described(experiment) if metric.unit == _COUNTED)


def _described(experiment: str) -> list[DescribedMetric]:
    return recorded().experiment(experiment).metrics


def _metric(described: DescribedMetric, not_across: Mapping[str, str]) -> Metric:
    return Metric(described.name, described.unit, described.better, described.meaning, described.bandwidth,
                  described.message_rate, not_across)  # fmt: skip


# Of cannon.
EXPOSED = Metric("exposed_s", "s", "lower", "what communication adds to the time of the computation around it")

# Designs of a put that move nothing: the price of the call itself, which has a rate and no bandwidth.
_NOTHING_MOVED = ("empty_call", "empty_call_5")


class Rates(NamedTuple):
    """The same measurement turned over, an interval with it. None: the metric has no such rate, or nothing is moved."""

    bandwidth_bytes_per_s: float | None = None
    bandwidth_interval: Interval | None = None
    message_rate_per_s: float | None = None
    message_rate_interval: Interval | None = None


def rates(metric: Metric, parameters: Mapping[str, str], value_s: float, interval_s: Interval | None) -> Rates:
    """Of a time of this metric, in a cell with these parameters."""
    found = Rates()
    payload = int(parameters.get("message_bytes", "0")) if parameters.get("design") not in _NOTHING_MOVED else 0
    if metric.bandwidth and payload:
        found = found._replace(bandwidth_bytes_per_s=payload / value_s, bandwidth_interval=_turned(payload, interval_s))
    if metric.message_rate:
        found = found._replace(message_rate_per_s=1.0 / value_s, message_rate_interval=_turned(1, interval_s))
    return found


def _turned(amount: int, interval_s: Interval | None) -> Interval | None:
    return (amount / interval_s[1], amount / interval_s[0]) if interval_s else None
