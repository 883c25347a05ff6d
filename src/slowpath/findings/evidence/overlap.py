# SPDX-License-Identifier: Apache-2.0
"""Cells of pattern=overlap whose messages hide little of their time behind a computation. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from slowpath.core.units import format_ratio, format_time
from slowpath.findings.evidence.compared import Cell, Ratio, ratio_of
from slowpath.findings.rule import Observation
from slowpath.findings.words import memory, ratio_words, sizes

if TYPE_CHECKING:
    from slowpath.findings.evidence.evidence import Evidence

EXPOSED_RATIO, EXPOSED = "exposed_communication_ratio", "exposed_s"
ALONE, COMPUTE, BOTH = "communication_s", "compute_s", "overlapped_s"
LITTLE = 0.5  # of the communication that stays exposed; more is no overlap worth the name
FEWEST_S = 5e-6  # shorter messages have nothing to hide


def little_overlap(evidence: Evidence) -> Iterator[Observation]:
    """Cells whose exposed part lies above a half with its whole interval, MPI_Test not being called."""
    for cell in evidence.cells.values():
        p = cell["parameters"]
        if p.get("pattern") != "overlap" or p.get("progress", "none") != "none":
            continue
        part = _estimate(cell, EXPOSED_RATIO)
        times = [_estimate(cell, name) for name in (EXPOSED, ALONE, COMPUTE, BOTH)]
        if part is None or None in times or not part.get("interval") or part["interval"][0] <= LITTLE:
            continue
        exposed, alone, compute, both = (one for one in times if one is not None)
        ideal = np.maximum(alone["launch_values"], compute["launch_values"])
        ratio = ratio_of(both["launch_values"], ideal, evidence.minimum_effect)
        if ratio.beyond and exposed["value"] >= FEWEST_S:
            yield _observation(evidence, cell, part, (both["value"], float(np.median(ideal))), ratio)


def _estimate(cell: Cell, metric: str) -> Mapping[str, Any] | None:
    found: Mapping[str, Any] | None = cell["metrics"].get(metric, {}).get("phases", {}).get("steady")
    return found


def _observation(
    evidence: Evidence, cell: Cell, part: Mapping[str, Any], times: tuple[float, float], ratio: Ratio
) -> Observation:
    low, high = part["interval"]
    kinds, lengths = memory([cell]), sizes([cell])
    half = (high - low) / 2
    share = f"{format_ratio(part['value'], half)} [{format_ratio(low, half)}, {format_ratio(high, half)}]"
    words = ratio_words(ratio.value, ratio.interval)
    return Observation(
        about="progress",
        place=evidence.place([cell], [f"{kinds} memory", f"messages of {lengths}"]),
        text=f"Of a message of {lengths} behind a computation as long as itself the share {share} stays exposed: both "
        f"take {words} as long as the longer one alone, {format_time(times[0])} against {format_time(times[1])}.",
        metric=BOTH,
        phase="steady",
        ratio=ratio.value,
        interval=ratio.interval,
        excess_s=times[0] - times[1],
        usual=evidence.users_own(cell),
        cells=(cell["cell"],),
        evidence=(f"exposed share {share}, {part['interval_kind']}",),
        slow_cells=(cell["cell"],),
        fast_cells=(cell["cell"],),
    )
