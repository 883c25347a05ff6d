# SPDX-License-Identifier: Apache-2.0
"""What the thread that started MPI did in stretches of time, by the samples that another thread took of it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from slowpath.core.system_calls import SYSTEM_CALLS
from slowpath.findings.program_pattern import Activity
from slowpath.watch.record.job import Ticks
from slowpath.watch.record.reader import RankRecord

Floats = NDArray[np.float64]

IN_NO_CALL: Final = -1  # it sleeps in no system call: it waits for a page
RUNS: Final = -2
REFUSED: Final = -3
_RUNNABLE, _STOPPED = (ord(letter) for letter in "RT")
FEWEST: Final = 3  # samples in the stretches, below which their shares say nothing


def activity(record: RankRecord, clock: Ticks, start_s: Floats, end_s: Floats) -> Activity | None:
    """What the rank did between start_s and end_s; None: too few samples lie there.

    Args: start_s, end_s: of stretches that do not overlap, ascending, shape (n,), on `clock` (CLOCK_MONOTONIC).
    """
    samples = record.samples
    at_s = clock.seconds(samples["ticks"])
    if at_s.size < 2 or not start_s.size:
        return None
    slot = np.searchsorted(start_s, at_s, side="right") - 1
    inside = (slot >= 0) & (at_s < end_s[np.maximum(slot, 0)])
    count = int(inside.sum())
    if count < FEWEST:
        return None
    length_s = float((end_s - start_s).sum())
    gap_s = np.gradient(at_s)[inside]  # they come more rarely later, and stand for more
    weight_s = gap_s * (length_s / gap_s.sum())
    names = _named(record, samples[inside])
    by_name = {
        name: float(weight_s[np.array([state == name for state in names])].sum()) for name in sorted({*names} - {""})
    }
    more = {name: _grown(samples[name], at_s, start_s, end_s) for name in _COUNTED}
    return Activity(
        length_s=length_s,
        samples=count,
        sleeping_s=by_name,
        ran_s=more["ran_ns"] * 1e-9,
        queued_s=more["waited_ns"] * 1e-9,
        system_s=more["system_us"] * 1e-6,
        minor_faults=more["minor_faults"],
        read_bytes=more["read_bytes"],
        written_bytes=more["written_bytes"],
        reads=more["reads"],
        writes=more["writes"],
        least_system_s=_least(samples["system_us"] * 1e-6, at_s, start_s, end_s),
    )


_COUNTED: Final = (
    "ran_ns", "waited_ns", "system_us", "minor_faults", "read_bytes", "written_bytes", "reads", "writes",
)  # fmt: skip


def _named(record: RankRecord, samples: NDArray[Any]) -> list[str]:
    """Of each what it sleeps in; "": it runs."""
    machine = next(iter(record.text.get("machine", ())), "")
    known = SYSTEM_CALLS.get(machine, {})
    special = {IN_NO_CALL: "a page", RUNS: "", REFUSED: "not known"}
    states = []
    for state, call in zip(samples["state"].tolist(), samples["system_call"].tolist(), strict=True):
        if state == _RUNNABLE:
            states.append("")
        elif state == _STOPPED:
            states.append("stopped")
        else:
            states.append(special.get(call) or known.get(call) or ("not known" if call < 0 else f"system call {call}"))
    return states


def _grown(counted: NDArray[Any], at_s: Floats, start_s: Floats, end_s: Floats) -> float:
    values = counted.astype(np.float64)
    return max(float((np.interp(end_s, at_s, values) - np.interp(start_s, at_s, values)).sum()), 0.0)


_APART: Final = 100  # samples: the kernel counts its time in ticks of up to 10 ms


def _least(counted_s: Floats, at_s: Floats, start_s: Floats, end_s: Floats) -> float:
    """How much of a time came in the stretches at least, if it filled all that lies between them."""
    edges = np.append(np.arange(0, at_s.size - 1, _APART), at_s.size - 1)
    moments = np.stack([start_s, end_s], axis=1).ravel()
    inside_s = np.cumsum(np.stack([np.zeros(start_s.size), end_s - start_s], axis=1).ravel())
    own_s = np.diff(np.interp(at_s[edges], moments, inside_s))
    other_s = np.diff(at_s[edges]) - own_s
    return float(np.clip(np.diff(counted_s[edges]) - other_s, 0.0, own_s).sum())
