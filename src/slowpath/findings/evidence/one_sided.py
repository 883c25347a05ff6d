# SPDX-License-Identifier: Apache-2.0
"""Puts beside messages of the same length. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from slowpath.core.units import format_time
from slowpath.findings.evidence.compared import Cell, Ratio, ratio_of
from slowpath.findings.rule import Observation
from slowpath.findings.words import ratio_words, sizes

if TYPE_CHECKING:
    from slowpath.findings.evidence.evidence import Evidence

FAR = 2.0  # lower end of the ratio from which on a put is far below a message
PUT, MESSAGE = "time_per_put_s", "time_per_message_s"


def far_below(evidence: Evidence) -> list[Observation]:
    """For each kind of window the length at which puts lose most against messages."""
    best: dict[tuple[object, ...], tuple[Cell, Cell, Ratio]] = {}
    for put in (cell for cell in evidence.cells.values() if _is_put(cell)):
        message = _message(evidence, put)
        ratio = _ratio(evidence, put, message) if message is not None else None
        if message is None or ratio is None or ratio.interval is None or ratio.interval[0] < FAR:
            continue
        key = (put.get("mpi"), put["environment"], put["placement"], put["parameters"].get("window"))
        if key not in best or ratio.value > best[key][2].value:
            best[key] = (put, message, ratio)
    return [_observation(evidence, *found) for found in best.values()]


def _is_put(cell: Cell) -> bool:
    p = cell["parameters"]
    plain = p.get("operation", "put") in ("put", "rput") and p.get("design", "mpi") == "mpi"
    return cell["experiment"] == "put" and plain and PUT in cell["metrics"] and int(p.get("puts", "1000")) > 1


def _message(evidence: Evidence, put: Cell) -> Cell | None:
    """The message of the same length under the same library, environment and placement."""
    same = ("mpi", "environment", "placement")
    for cell in evidence.cells.values():
        alike = all(cell.get(part) == put.get(part) for part in same)
        if alike and MESSAGE in cell["metrics"] and _length(cell) == _length(put) and _host(cell):
            return cell
    return None


def _length(cell: Cell) -> str:
    return str(cell["parameters"].get("message_bytes", "8"))


def _host(cell: Cell) -> bool:
    p: Mapping[str, str] = cell["parameters"]
    return p.get("memory", "host") == "host" and p.get("datatype", "contiguous") == "contiguous"


def _ratio(evidence: Evidence, put: Cell, message: Cell) -> Ratio | None:
    slow, fast = _steady(put, PUT), _steady(message, MESSAGE)
    if slow is None or fast is None or len(slow["launch_values"]) != len(fast["launch_values"]):
        return None
    return ratio_of(slow["launch_values"], fast["launch_values"], evidence.minimum_effect)


def _steady(cell: Cell, metric: str) -> Mapping[str, Any] | None:
    found: Mapping[str, Any] | None = cell["metrics"][metric]["phases"].get("steady")
    return found


def _observation(evidence: Evidence, put: Cell, message: Cell, ratio: Ratio) -> Observation:
    slow_s, fast_s = (cell["metrics"][m]["phases"]["steady"]["value"] for cell, m in ((put, PUT), (message, MESSAGE)))
    window = str(put["parameters"].get("window", "allocate"))
    length, words = sizes([put]), ratio_words(ratio.value, ratio.interval)
    return Observation(
        about=f"put, window {window}",
        place=evidence.place([put], [f"window {window}", f"messages of {length}"]),
        text=f"A put of {length} into a window of kind {window} takes {words} as long as a message of that "
        f"length: {format_time(slow_s)} against {format_time(fast_s)}.",
        metric=PUT,
        phase="steady",
        ratio=ratio.value,
        interval=ratio.interval,
        excess_s=slow_s - fast_s,
        usual=evidence.users_own(put),
        cells=(put["cell"], message["cell"]),
        evidence=(f"{words}: {put['label']} over {message['label']}",),
        slow_cells=(put["cell"],),
        fast_cells=(message["cell"],),
    )
