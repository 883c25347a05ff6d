# SPDX-License-Identifier: Apache-2.0
"""A run held against references, in words. Pure."""

from __future__ import annotations

from collections import Counter

from slowpath.compare.reference import MINIMUM_RUNS, Held, Reference, Word
from slowpath.core.clean import cleaned
from slowpath.core.units import format_ratio, format_time

_ORDER: tuple[Word, ...] = ("slower", "undecided", "faster", "no reference", "within")


@cleaned
def render_reference(found: Reference) -> str:
    """The count of each word first, then cells, the slower ones before the others."""
    if found.reason is not None:
        return f"{found.run}: {found.reason}. Add runs that were good: slowpath reference add RUN\n"
    counts = Counter(one.word for one in found.rows)
    parts = ", ".join(f"{counts[word]} {word}" for word in _ORDER if counts[word])
    runs = f"{len(found.used)} reference run{'s' * (len(found.used) != 1)} on {found.machine}"
    lines = [f"{found.run} against {runs}: {parts or 'no time to compare'}"]
    if len(found.used) < MINIMUM_RUNS:
        lines.append(f"A range takes {MINIMUM_RUNS} runs or more; add some: slowpath reference add RUN")
    rows = sorted(found.rows, key=lambda one: _ORDER.index(one.word))
    return "\n".join([*lines, "", *(_line(one) for one in rows)]) + "\n"


def _line(one: Held) -> str:
    time = format_time(one.value)
    if one.low is None or one.high is None:
        return f"{one.word:<12}  {one.label}: {time}; {one.reason}"
    span = f"{format_time(one.low)} to {format_time(one.high)} in {one.runs} run{'s' * (one.runs != 1)}"
    apart = ""
    if one.ratio is not None:
        apart = f"; {format_ratio(one.ratio)} times the {'slowest' if one.ratio > 1 else 'fastest'} of them"
    why = f" ({one.reason})" if one.reason else ""
    return f"{one.word:<12}  {one.label}: {time}; {span}{apart}{why}"
