# SPDX-License-Identifier: Apache-2.0
"""Forecasts in words: `predicted 41.2 us [38.9, 43.6] at an allocation of 6 MiB, seen 42.0 us`. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowpath.core.units import format_bytes, format_time
from slowpath.stats.laws.found import Forecast

SHOWN = 2  # forecasts in one sentence
_QUANTITIES = {
    "allocation_bytes": "allocation",
    "sender_allocation_bytes": "sender's allocation",
    "receiver_allocation_bytes": "receiver's allocation",
    "message_bytes": "message",
    "live_buffers": "live buffers",
    "repetition": "use",
    "in_flight": "messages in flight",
    "queue": "entries in front",
    "blocks": "blocks",
    "page_bytes": "page",
}
_FOLLOWS = "buffer_bytes"


def place_words(place: Mapping[str, float]) -> str:
    """`allocation 6 MiB, message 8 B`."""
    found = [(_QUANTITIES.get(name, name.replace("_", " ")), name, value) for name, value in place.items()]
    return ", ".join(
        f"{words} {format_bytes(int(value)) if name.endswith('_bytes') else f'{value:g}'}"
        for words, name, value in found
        if name != _FOLLOWS
    )


def quantity_words(places: Sequence[Mapping[str, float]]) -> str:
    """What varies between places: `allocation`, `allocation or message`."""
    names = [name for name in (places[0] if places else {}) if name != _FOLLOWS]
    varied = [name for name in names if len({place.get(name) for place in places}) > 1] or names
    return " or ".join(_QUANTITIES.get(name, name.replace("_", " ")) for name in varied) or "what was varied"


def forecast_words(one: Forecast) -> str:
    """One line; without what was seen where that was not measured."""
    low, high = one.interval
    half_s = (high - low) / 2
    value, *ends = (format_time(time_s, half_s) for time_s in (one.predicted_s, low, high))
    unit = f" {value.split()[-1]}"
    if all(end.endswith(unit) for end in ends):
        ends = [end.removesuffix(unit) for end in ends]
    words = f"predicted {value} [{', '.join(ends)}] at {place_words(one.place)}"
    if one.seen_s is None:
        return f"{words}, not measured"
    return f"{words}, seen {format_time(one.seen_s, half_s)}"


def failed_words(fits: str, forecasts: Sequence[Forecast]) -> str:
    """Why the law that fits is not named."""
    wrong = [one for one in forecasts if one.held is False]
    shown = "; ".join(forecast_words(one) for one in wrong[:SHOWN])
    return f"it depends on {quantity_words([one.place for one in forecasts])}; no law holds: '{fits}' {shown}"


def open_words(fits: str, forecasts: Sequence[Forecast]) -> str:
    """Why a cause can't rest on the law that is named."""
    seen = [one for one in forecasts if one.seen_s is not None and not one.held]
    if not seen:
        return f"fits '{fits}', not predicted yet"
    shown = "; ".join(forecast_words(one) for one in seen[:SHOWN])
    return f"fits '{fits}', but the measurements are too noisy to confirm it: {shown}"
