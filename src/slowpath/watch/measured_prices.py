# SPDX-License-Identifier: Apache-2.0
"""What a message costs more in one cell of a results.json than in another: contrasts, and laws that held. Pure.

A price at a length between two measured ones lies on the line between them; outside of what was measured there is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from slowpath.core.cell_results import CellResult
from slowpath.core.engine_description import recorded_defaults
from slowpath.core.result import Interval
from slowpath.core.results import ContrastResult, ContrastSide, Finding, Results
from slowpath.findings.remedy import Parameters
from slowpath.stats import signedrank, student

FEWEST_PAIRS: Final = 3
FEWEST_RANKED: Final = 6
LENGTH: Final = "message_bytes"
# Parameters that say what a message is; the others say how often it is sent and for how long.
_KINDS: Final = (
    "memory",
    "pages",
    "datatype",
    "block_bytes",
    "pack",
    "buffer_bytes",
    "overalloc_bytes",
    "offset_bytes",
    "posted",
    "queue",
    "cache",
    "touch",
    "live_buffers",
    "idle_s",
    "other_bytes",
    "synchronise",
    "window",
    "window_info",
    "operation",
    "design",
)
_ENGINE: Final = recorded_defaults("p2p", "put")
# Each with its value where a cell does not state it.
KIND: Final[Mapping[str, str]] = {name: _ENGINE[name] for name in _KINDS}


@dataclass(frozen=True)
class MeasuredPrice:
    """A contrast as a price: what a message takes longer on the slow side, seconds.

    axis, slow, fast: as in the contrast; `slow` and `fast` are parameters of the cells, without lengths.
    bytes: of the message.  excess_s, interval: at 95 %.  as_is_s: of the slow side.
    """

    experiment: str
    axis: str
    slow: Parameters
    fast: Parameters
    metric: str
    slow_phase: str
    fast_phase: str
    environments: tuple[str, str]
    bytes: int
    excess_s: float
    interval: Interval
    as_is_s: float
    source: str


@dataclass(frozen=True)
class WantedPrice:
    """What is to be priced, in the words of `MeasuredPrice`; `metrics`: any of them will do."""

    experiment: str
    axis: str
    slow: Parameters
    fast: Parameters
    metrics: tuple[str, ...]
    slow_phase: str
    fast_phase: str
    bytes: int


@dataclass(frozen=True)
class Excess:
    """What one message costs more than it needs to. as_is_s: the whole message; None: a law of the excess alone."""

    per_message_s: float
    interval: Interval
    as_is_s: float | None
    source: str


def excess(values: Sequence[Interval], slow_is_b: bool) -> tuple[float, Interval] | None:
    """Slow minus fast over pairs of launches: centre and interval at 95 %, seconds; None: too few pairs."""
    both = np.asarray(values, dtype=float).reshape(-1, 2)
    differences = (both[:, 1] - both[:, 0]) * (1.0 if slow_is_b else -1.0)
    if len(differences) >= FEWEST_RANKED:
        ranked = signedrank.hodges_lehmann(differences)
        if ranked.interval is not None:
            return ranked.value, (ranked.interval.low, ranked.interval.high)
    if len(differences) < FEWEST_PAIRS:
        return None
    centre = student.mean(differences)
    interval = centre.interval()
    return (centre.value, (interval.low, interval.high)) if interval is not None else None


def measured_in(results: Results, folder: str) -> list[MeasuredPrice]:
    """Both directions of every contrast that has an interval: which side is the slow one, who asks says."""
    cells = {cell.cell: cell for cell in results.cells}
    return [measured for contrast in results.contrasts for measured in _both(contrast, cells, folder)]


def _both(contrast: ContrastResult, cells: Mapping[int, CellResult], folder: str) -> Iterator[MeasuredPrice]:
    for slow, fast, slow_is_b in ((contrast.b, contrast.a, True), (contrast.a, contrast.b, False)):
        found = excess(contrast.pairs, slow_is_b)
        length = cells[slow.cell].parameters.get(LENGTH, "")
        if found is None or not length.isdecimal():
            continue
        yield MeasuredPrice(
            cells[slow.cell].experiment,
            contrast.axis,
            _kind(cells[slow.cell]),
            _kind(cells[fast.cell]),
            contrast.metric,
            slow.phase,
            fast.phase,
            (cells[slow.cell].environment, cells[fast.cell].environment),
            int(length),
            found[0],
            found[1],
            float(np.median([pair[int(slow_is_b)] for pair in contrast.pairs])),
            f"{folder}: {_name(slow)} against {_name(fast)}",
        )


def _name(side: ContrastSide) -> str:
    return f"cell {side.cell} ({side.label}{', first' if side.phase == 'first' else ''})"


def _kind(cell: CellResult) -> Parameters:
    return complete(cell.parameters)


def complete(parameters: Parameters) -> dict[str, str]:
    """What a message is, without its length and without how often it is sent; results state blocks by their number."""
    found = {name: parameters.get(name, usual) for name, usual in KIND.items()}
    blocks, length = parameters.get("blocks", "1"), parameters.get(LENGTH, "0")
    if found["datatype"] == "contiguous":
        found["block_bytes"] = "auto"
    elif found["block_bytes"] == "auto" and int(blocks) > 0:
        found["block_bytes"] = str(int(length) // int(blocks))
    if found["buffer_bytes"] == length:
        found["buffer_bytes"] = "message"
    return found


def price(asked: WantedPrice, measured: Sequence[MeasuredPrice]) -> Excess | str:
    """By contrasts; a sentence where none of them is about this message."""
    fitting = [candidate for candidate in measured if _fits(asked, candidate)]
    for metric in asked.metrics:  # one metric for both ends of a line: times of unlike metrics do not mix
        points = sorted((point for point in fitting if point.metric == metric), key=lambda point: point.bytes)
        found = _between(asked.bytes, points)
        if found is not None:
            return found
    if not fitting:
        return "no cell of this kind was measured"
    lengths = [point.bytes for point in fitting]
    return f"measured from {min(lengths)} to {max(lengths)} B, and {asked.bytes} B lies outside"


def _fits(asked: WantedPrice, measured: MeasuredPrice) -> bool:
    return (
        (measured.experiment, measured.axis, measured.slow_phase, measured.fast_phase)
        == (asked.experiment, asked.axis, asked.slow_phase, asked.fast_phase)
        and measured.metric in asked.metrics
        and complete({**asked.slow, LENGTH: str(asked.bytes)}) == measured.slow
        and complete({**asked.fast, LENGTH: str(asked.bytes)}) == measured.fast
        and (asked.axis == "environment" or measured.environments[0] == measured.environments[1])
    )


def _between(length: int, points: Sequence[MeasuredPrice]) -> Excess | None:
    below = [measured for measured in points if measured.bytes <= length]
    above = [measured for measured in points if measured.bytes >= length]
    if not below or not above:
        return None
    low, high = below[-1], above[0]
    share = (length - low.bytes) / (high.bytes - low.bytes) if high.bytes > low.bytes else 0.0

    def line(value: float, other: float) -> float:
        return value + share * (other - value)

    # Both ends of the intervals are taken together: the errors of two cells of one machine are not independent.
    return Excess(
        line(low.excess_s, high.excess_s),
        (line(low.interval[0], high.interval[0]), line(low.interval[1], high.interval[1])),
        line(low.as_is_s, high.as_is_s),
        low.source if low is high else f"{low.source} and {high.source}",
    )


def price_by_law(rule: str, asked: WantedPrice, findings: Sequence[Finding], folder: str) -> Excess | str:
    """By the law of a finding of this rule, where it predicted what was measured later, and where it was asked for."""
    about = [known for known in findings if known.rule == rule and known.law is not None and known.law.name is not None]
    if not about:
        return f"no law of {rule} was found"
    reasons = []
    for finding in about:
        found = _by_law(finding, asked.bytes, folder)
        if isinstance(found, Excess):
            return found
        reasons.append(found)
    return reasons[0]


def _by_law(finding: Finding, length: int, folder: str) -> Excess | str:
    law = finding.law
    assert law is not None
    if law.predicted != "held":
        return f"the law of {finding.id} has no confirmed prediction ({law.predicted})"
    if not law.is_excess:
        return f"the law of {finding.id} describes whole messages, not the excess"
    points = {
        point.place[LENGTH]: (point.fitted_s, point.interval)
        for point in law.drawn
        if set(point.place) == {LENGTH} and point.fitted_s is not None
    }
    if not points:
        return f"the law of {finding.id} does not depend on message length alone"
    held = [forecast for forecast in law.forecasts if forecast.held and set(forecast.place) == {LENGTH}]
    places = sorted([(at, fitted or 0.0) for at, (fitted, _) in points.items()])
    places += [
        (forecast.place[LENGTH], forecast.predicted_s) for forecast in held if forecast.place[LENGTH] not in points
    ]
    places.sort()
    at = [place for place, _ in places]
    if not at[0] <= length <= at[-1]:
        return f"the law of {finding.id} was tried from {at[0]:g} to {at[-1]:g} B; {length} B is outside"
    value = float(np.interp(length, at, [seconds for _, seconds in places]))
    error = max([forecast.joint_ratio for forecast in held] or [law.residual_ratio or 0.0])
    half = abs(value) * error
    return Excess(value, (value - half, value + half), None, f"{folder}: law {law.name} of {finding.id}, predicted")
