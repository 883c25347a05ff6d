# SPDX-License-Identifier: Apache-2.0
"""One clock for all hosts: no message arrives before it is sent.

A message from host A to host B says: B's clock at its arrival is at least A's at its sending plus the offset between
them. Messages both ways bound the offset from above and below, a line through the run is laid between the bounds, and
what they leave open is the error. A barrier is such a message from each of its ranks to each other.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

import numpy as np

from slowpath.watch.events import Events, Floats, Ints, World
from slowpath.watch.match import NO_EVENT, Collectives, Matched

STRETCHES = 32  # of the run, in each of which the tightest bounds are taken
ERROR_STRETCHES = 0.9  # share of the stretches with bounds that the error covers, and the largest one beyond


@dataclass(frozen=True)
class Clocks:
    """What joining the hosts' clocks left open.

    error_s: shape (clocks, clocks), of one against another; inf: no messages tell.
    """

    error_s: Floats

    @property
    def largest_error_s(self) -> float:
        """inf: some hosts have no messages both ways."""
        return float(self.error_s.max(initial=0.0))


@dataclass(frozen=True)
class _Bounds:
    """Of clock b - clock a at moments of a, shape (stretches,); infinite where nothing tells."""

    at_s: Floats
    low_s: Floats
    high_s: Floats


@dataclass(frozen=True)
class _ClockLine:
    """clock b - clock a = offset_s + drift * time of a."""

    offset_s: float
    drift: float
    error_s: float


def joined(events: Events, world: World, found: Matched, barriers: Collectives) -> tuple[Events, Clocks]:
    """Events on the clock of the first host that has the most ranks, and the errors.

    Args: barriers: groups of calls of which none returns before all have begun.
    """
    clocks = world.origin_s.size
    if clocks <= 1:
        return events, Clocks(np.zeros((clocks, clocks)))
    clock = world.clock[events.record]
    sent, arrived, source, target = _crossings(events, clock, found, barriers)
    lines: dict[tuple[int, int], _ClockLine] = {}
    for a, b in {(int(min(s, t)), int(max(s, t))) for s, t in set(zip(source.tolist(), target.tolist(), strict=True))}:
        forth = (source == a) & (target == b)
        back = (source == b) & (target == a)
        line = _line(_bounds(sent[forth], arrived[forth], sent[back], arrived[back]))
        if line is not None:
            lines[a, b] = line
    reference = int(np.bincount(world.clock).argmax())
    offsets, errors = _spread(lines, reference, clocks)
    start = _on_reference(events.start_s, clock, offsets)
    end = np.maximum(_on_reference(events.end_s, clock, offsets), start)
    return replace(events, start_s=start, end_s=end), Clocks(errors)


def _crossings(events: Events, clock: Ints, found: Matched, barriers: Collectives) -> tuple[Floats, Floats, Ints, Ints]:
    """Sent, arrived, clock of either side: of messages between hosts, and of collectives that all wait for all in."""
    send, done = found.sends.posted[found.send], found.receives.done[found.receive]
    kept = (send != NO_EVENT) & (done != NO_EVENT)
    send, done = send[kept], done[kept]
    first, last = _barrier_edges(events, clock, barriers)
    early, late = np.concatenate([send, first]), np.concatenate([done, last])
    between = clock[early] != clock[late]
    early, late = early[between], late[between]
    return events.start_s[early], events.end_s[late], clock[early], clock[late]


def _barrier_edges(events: Events, clock: Ints, barriers: Collectives) -> tuple[Ints, Ints]:
    """Of each group and pair of hosts: who entered last on one, who left first on the other."""
    rows, group = barriers.event, barriers.group
    if not rows.size:
        return rows, rows
    clocks = int(clock.max()) + 1
    key = group * clocks + clock[rows]
    last = rows[_one_of_each(key, events.start_s[rows])]
    first_out = rows[_one_of_each(key, -events.end_s[rows])]
    numbers = np.unique(key)
    early, late = [], []
    for shift in range(1, clocks):
        partner = (numbers // clocks) * clocks + (numbers % clocks + shift) % clocks
        at = np.minimum(np.searchsorted(numbers, partner), numbers.size - 1)
        both = numbers[at] == partner
        early.append(last[both])
        late.append(first_out[at[both]])
    return np.concatenate([rows[:0], *early]), np.concatenate([rows[:0], *late])


def _one_of_each(key: Ints, value: Floats) -> Ints:
    """Positions of the largest value of each key, by key."""
    order = np.lexsort((value, key))
    found: Ints = order[np.append(key[order][1:] != key[order][:-1], True)]
    return found


def _bounds(sent_a: Floats, arrived_b: Floats, sent_b: Floats, arrived_a: Floats) -> _Bounds:
    """Offset <= arrival at b - sending at a; offset >= sending at b - arrival at a."""
    times = np.concatenate([sent_a, arrived_a])
    edges = np.linspace(times.min(), times.max(), STRETCHES + 1) if times.size else np.zeros(STRETCHES + 1)
    low, high = np.full(STRETCHES, -np.inf), np.full(STRETCHES, np.inf)
    np.minimum.at(high, _stretch(edges, sent_a), arrived_b - sent_a)
    np.maximum.at(low, _stretch(edges, arrived_a), sent_b - arrived_a)
    return _Bounds((edges[1:] + edges[:-1]) / 2, low, high)


def _stretch(edges: Floats, times: Floats) -> Ints:
    return np.clip(np.searchsorted(edges, times, side="right") - 1, 0, STRETCHES - 1)


def _line(bounds: _Bounds) -> _ClockLine | None:
    """Between the bounds; None: they don't hold it on both sides."""
    both = np.isfinite(bounds.low_s) & np.isfinite(bounds.high_s)
    if not both.any():
        low, high = bounds.low_s.max(), bounds.high_s.min()
        if not np.isfinite(low + high):
            return None
        return _ClockLine(float(low + high) / 2, 0.0, abs(float(high - low)) / 2)
    at, low, high = bounds.at_s[both], bounds.low_s[both], bounds.high_s[both]
    middle, width = (low + high) / 2, np.maximum(np.abs(high - low) / 2, 1e-9)
    offset, drift = _fitted(at, middle, 1.0 / width**2)
    line = offset + drift * at
    error = np.sort(np.maximum(high - line, line - low))
    return _ClockLine(offset, drift, float(max(error[int(ERROR_STRETCHES * (error.size - 1))], 0.0)))


def _fitted(at: Floats, middle: Floats, weight: Floats) -> tuple[float, float]:
    """Weighted least squares; no drift from fewer than 4 stretches."""
    total = weight.sum()
    mean_at, mean = float((weight * at).sum() / total), float((weight * middle).sum() / total)
    spread = float((weight * (at - mean_at) ** 2).sum())
    if at.size < 4 or spread == 0:
        return mean, 0.0
    drift = float((weight * (at - mean_at) * (middle - mean)).sum()) / spread
    return mean - drift * mean_at, drift


def _spread(
    lines: dict[tuple[int, int], _ClockLine], reference: int, clocks: int
) -> tuple[dict[int, list[tuple[float, float]]], Floats]:
    """Of each clock the lines that lead to the reference, one after the other; errors add up along them."""
    paths: dict[int, list[tuple[float, float]]] = {reference: []}
    error_to = {reference: 0.0}
    waiting = deque([reference])
    while waiting:
        here = waiting.popleft()
        near = [(line.error_s, a, b, line) for (a, b), line in lines.items() if here in (a, b)]
        for error, a, b, line in sorted(near, key=lambda entry: entry[0]):
            there = b if here == a else a
            if there in paths:
                continue
            # Seconds of `there` to seconds of `here`.
            step = _inverse(line) if here == a else (line.offset_s, 1.0 + line.drift)
            paths[there] = [step, *paths[here]]
            error_to[there] = error_to[here] + error
            waiting.append(there)
    errors = np.full((clocks, clocks), np.inf)
    for a, error_a in error_to.items():
        for b, error_b in error_to.items():
            errors[a, b] = error_a + error_b
    np.fill_diagonal(errors, 0.0)
    return paths, errors


def _inverse(line: _ClockLine) -> tuple[float, float]:
    """b = offset + (1 + drift) a, solved for a."""
    return -line.offset_s / (1.0 + line.drift), 1.0 / (1.0 + line.drift)


def _on_reference(times: Floats, clock: Ints, paths: dict[int, list[tuple[float, float]]]) -> Floats:
    found = times.copy()
    for number, steps in paths.items():
        of_clock = clock == number
        for offset, factor in steps:
            found[of_clock] = offset + factor * found[of_clock]
    return found
