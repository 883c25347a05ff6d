# SPDX-License-Identifier: Apache-2.0
"""The efficiencies of the POP model, of the run and of windows of its time, and where they change.

Time outside MPI counts as useful. What a network that takes no time would need is replayed: the order of the kept calls
with all their transfer taken off (`what_if`), each window by itself. Windows are compared by two measures, the parallel
efficiency and how many messages and collectives the ranks begin a second, which also shows a program whose ranks all
become slower alike.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from slowpath.core.units import seconds
from slowpath.stats.levels import FEWEST, Level, levels
from slowpath.watch.attributed import Attributed
from slowpath.watch.events import Floats
from slowpath.watch.record.layout import EventKind
from slowpath.watch.result_parts import Efficiency, Phase
from slowpath.watch.results import RankTime
from slowpath.watch.tables import in_slices, kept_seconds
from slowpath.watch.what_if import MOST_ERROR, CallOrder, in_windows, possible, replay, transfers

MOST_WINDOWS: Final = 60
LEAST_KEPT: Final = 2  # stretches of kept events in a window, on average
LEAST_WINDOWS: Final = 3  # of a phase: shorter ones are starts, ends and disturbances
LEAST_CHANGE: Final = 0.05  # of the parallel efficiency, that is worth a line
LEAST_RATIO: Final = 1.15  # of the calls a second
NOISE: Final = 0.005  # of an efficiency: smaller scatter is not believed
NOISE_LOG: Final = 0.01


def efficiencies_of(
    found: Attributed, order: CallOrder, ranks: tuple[RankTime, ...], span_s: float
) -> tuple[Efficiency | None, tuple[Efficiency, ...] | None, tuple[Phase, ...] | None]:
    """Return those of the run, of its windows, and stretches at another level; None: see the fields of results."""
    if not ranks or span_s <= 0:
        return None, None, None
    edges = _edges(found, span_s)
    if edges is None:
        ideal, reason = _ideal(order, np.array([0.0, span_s]))
        return _whole(ranks, span_s, ideal, reason), None, None
    of_window, reason = _ideal(order, edges)
    windows = _windows(found, edges, of_window, reason)
    return _whole(ranks, span_s, of_window, reason), windows, phases_of(windows)


def _edges(found: Attributed, span_s: float) -> Floats | None:
    """Of the windows; None: the run is too short for as many as could show a change."""
    level = found.world.level
    window_s = max((int(record.header["window_ns"]) for record in found.world.records), default=1) * 1e-9
    count = min(int(span_s / (LEAST_KEPT * max(window_s, 1e-6) * 2**level)), MOST_WINDOWS)
    return np.linspace(0.0, span_s, count + 1) if count >= FEWEST else None


def _ideal(order: CallOrder, edges: Floats) -> tuple[Floats, str | None]:
    """What is left of each window's time where transfer takes none, shape (windows,), NaN: not known; why all are."""
    shares = np.full(len(edges) - 1, np.nan)
    if not order.calls:
        return shares, "the order of its calls was not recorded"
    kept, window = in_windows(possible(order), edges)
    if not kept.calls:
        return shares, "no calls were kept whole in a window of time"
    done = replay(kept, transfers(kept)[:, None])
    if done.error_ratio > MOST_ERROR:
        return shares, f"a replay without changes is off by {100 * done.error_ratio:.0f} % of the measured time"
    saved, span = (
        np.bincount(window, weights=values, minlength=shares.size) for values in (done.saved_s[:, 0], done.span_s)
    )
    # A window whose calls fill little of it says little of it.
    known = span > 0.25 * (edges[1:] - edges[:-1]) * min(1.0, kept.calls / order.calls)
    shares[known] = np.clip(1.0 - saved[known] / span[known], 0.0, 1.0)
    return shares, None if known.any() else "no window of time holds enough calls"


def _whole(ranks: tuple[RankTime, ...], span_s: float, ideal: Floats, reason: str | None) -> Efficiency:
    useful = np.array([max(rank.span_s - rank.mpi_s, 0.0) for rank in ranks]) / span_s
    left = float(np.nanmean(ideal)) if not np.isnan(ideal).all() else np.nan
    return _efficiency(0.0, span_s, useful, left, reason, None)


def _efficiency(
    start_s: float, end_s: float, useful: Floats, ideal: float, reason: str | None, per_s: float | None
) -> Efficiency:
    """Args: useful: share of the time that each rank is outside MPI; NaN: not known.  ideal: what is left of it."""
    known = useful[~np.isnan(useful)]
    if not known.size:
        why = "no events of this window were kept"
        nothing = None
        return Efficiency(
            start_s=start_s, end_s=end_s, parallel=nothing, load_balance=nothing, communication=nothing,
            serialization=nothing, transfer=nothing, reason=why, per_s=None,
        )  # fmt: skip
    mean, most = (float(min(value, 1.0)) for value in (known.mean(), known.max()))
    transfer = serialization = None
    if not np.isnan(ideal):
        # On a network that takes no time the rank with most to compute still computes.
        left = max(ideal, most)
        transfer, serialization = min(left, 1.0), most / left if left > 0 else 1.0
    return Efficiency(
        start_s=start_s,
        end_s=end_s,
        parallel=mean,
        load_balance=min(mean / most, 1.0) if most > 0 else 1.0,
        communication=most,
        serialization=serialization,
        transfer=transfer,
        reason=None if transfer is not None else reason or "this window holds too few calls",
        per_s=per_s,
    )


def _windows(found: Attributed, edges: Floats, ideal: Floats, reason: str | None) -> tuple[Efficiency, ...]:
    events, records = found.events, found.world.records
    count = len(edges) - 1
    useful, begun, kept_s = (np.full((len(records), count), np.nan) for _ in range(3))
    moves = events.has(EventKind.SEND | EventKind.RECEIVE | EventKind.COLLECTIVE) & events.is_timed
    moves &= ~events.has(EventKind.NOTHING)
    for i, record in enumerate(records):
        lane = record.leading_lane
        rows = events.of(i, lane)
        kept = kept_seconds(found, i, lane, edges)
        in_mpi = in_slices(events.start_s[rows], events.duration_s[rows], edges)
        has = kept > 0.01 * (edges[1:] - edges[:-1])
        useful[i, has] = np.clip(1.0 - in_mpi[has] / kept[has], 0.0, 1.0)
        mine = events.start_s[rows[moves[rows]]]
        begun[i, has] = np.histogram(mine, bins=edges)[0][has]
        kept_s[i, has] = kept[has]
    with np.errstate(invalid="ignore"):
        per_s = np.nansum(begun, axis=0) / np.nansum(kept_s, axis=0) * len(records)
    return tuple(
        _efficiency(
            float(edges[k]),
            float(edges[k + 1]),
            useful[:, k],
            float(ideal[k]),
            reason,
            None if np.isnan(per_s[k]) else float(per_s[k]),
        )
        for k in range(count)
    )


def phases_of(windows: tuple[Efficiency, ...]) -> tuple[Phase, ...]:
    """Return stretches whose level differs from that of most of the run, in the order of time. Pure."""
    known = [window for window in windows if window.parallel is not None and window.per_s is not None]
    if len(known) < FEWEST:
        return ()
    parallel = np.array([window.parallel for window in known], dtype=float)
    rate = np.array([window.per_s for window in known], dtype=float)
    typical = float(np.median(rate[rate > 0])) if (rate > 0).any() else 1.0
    logs = np.log(np.maximum(rate, 0.01 * typical))
    found = []
    for level, usual in _others(levels(parallel, NOISE), LEAST_CHANGE):
        a, b = known[level.start].start_s, known[level.end - 1].end_s
        text = (
            f"from {seconds(a)} to {seconds(b)} parallel efficiency is {100 * level.value:.0f} %; in most of the "
            f"run it is {100 * usual:.0f} %"
        )
        found.append(
            Phase(measure="parallel efficiency", start_s=a, end_s=b, level=level.value, usual=usual, text=text)
        )
    for level, usual in _others(levels(logs, NOISE_LOG), float(np.log(LEAST_RATIO))):
        a, b = known[level.start].start_s, known[level.end - 1].end_s
        value, other = float(np.exp(level.value)), float(np.exp(usual))
        text = (
            f"from {seconds(a)} to {seconds(b)} the ranks begin {value:.3g} messages and collectives a second; in "
            f"most of the run, {other:.3g}"
        )
        found.append(Phase(measure="calls a second", start_s=a, end_s=b, level=value, usual=other, text=text))
    return tuple(sorted(found, key=lambda phase: (phase.start_s, phase.measure)))


def _others(stretches: tuple[Level, ...], least: float) -> list[tuple[Level, float]]:
    """Those that differ from the usual level by `least` or more, neighbours that are alike as one; and that level.

    The usual level is the one near which most of the points lie.
    """
    if len(stretches) < 2:
        return []
    weight = [
        sum(other.end - other.start for other in stretches if abs(other.value - one.value) < least) for one in stretches
    ]
    usual = stretches[int(np.argmax(weight))].value
    found: list[Level] = []
    for one in stretches:
        if abs(one.value - usual) < least:
            continue
        if found and found[-1].end == one.start and abs(found[-1].value - one.value) < least:
            last = found.pop()
            longer = last if last.end - last.start >= one.end - one.start else one
            one = Level(last.start, one.end, longer.value)
        found.append(one)
    return [(one, usual) for one in found if one.end - one.start >= LEAST_WINDOWS]
