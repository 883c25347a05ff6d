# SPDX-License-Identifier: Apache-2.0
"""The law of a difference: what the slow sides of contrasts take more than the fast ones, over a number. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from slowpath.findings.evidence.compared import Cell, Compared
from slowpath.findings.evidence.lawfound import LawFound, law_found
from slowpath.stats.laws import constant, message, pages
from slowpath.stats.laws.choose import choose
from slowpath.stats.laws.law import Law
from slowpath.stats.laws.sweep import make_sweep

FEWEST_POINTS = 3
OVER_BYTES: tuple[Law, ...] = (constant.LAW, message.LAW)
SMALL_PAGE_BYTES, HUGE_PAGE_BYTES = 4096, 2 * 2**20
_PAGE_OF = {"small": SMALL_PAGE_BYTES, "shared": SMALL_PAGE_BYTES, "huge": HUGE_PAGE_BYTES}


def number(cell: Cell, name: str) -> float | None:
    """A parameter as a number; None where the cell has none or another thing."""
    text = str(cell["parameters"].get(name, ""))
    return float(text) if text.isdecimal() else None


def difference_law(
    found: Sequence[Compared], covariates: Sequence[str], minimum_effect: float, laws: Sequence[Law] = OVER_BYTES
) -> LawFound | None:
    """Law of slow minus fast over the covariates, which the slow cells' parameters give.

    Returns: None with fewer than three contrasts that have the same launches and all covariates, one a place.
    """
    rows: dict[tuple[float, ...], list[float]] = {}
    for one in found:
        place = tuple(value for name in covariates if (value := number(one.slow, name)) is not None)
        slow, fast = _values(one.slow, one.metric, one.slow_phase), _values(one.fast, one.metric, one.fast_phase)
        if len(place) < len(covariates) or not slow or len(slow) != len(fast):
            continue
        more = np.array(slow) - np.array(fast)
        if (more > 0).mean() > 0.5:
            rows[place] = np.where(more > 0, more, np.nan).tolist()
    return _chosen(rows, covariates, minimum_effect, laws)


def page_law(found: Sequence[Compared], minimum_effect: float) -> LawFound | None:
    """Law of the times of both sides over the pages that a message touches, small and huge ones.

    Returns: None unless the pages of enough cells were observed.
    """
    rows: dict[tuple[float, ...], list[float]] = {}
    for one in found:
        for cell, phase in ((one.slow, one.slow_phase), (one.fast, one.fast_phase)):
            page, length = page_bytes(cell), number(cell, "message_bytes")
            if page is not None and length is not None:
                rows[length, page] = _values(cell, one.metric, phase)
    laws = (constant.LAW, message.LAW, pages.LAW)
    return _chosen(rows, ("message_bytes", "page_bytes"), minimum_effect, laws)


def page_bytes(cell: Cell) -> float | None:
    """Length of the pages under a cell's buffers as they were observed, None: not observed, or of several kinds."""
    seen = set((cell.get("allocations") or {}).get("pages_observed") or {})
    known = {_PAGE_OF[kind] for kind in seen if kind in _PAGE_OF}
    return float(known.pop()) if len(known) == 1 and seen <= _PAGE_OF.keys() else None


def _values(cell: Cell, metric: str, phase: str) -> list[float]:
    phases: Mapping[str, Mapping[str, list[float]]] = cell["metrics"].get(metric, {}).get("phases", {})
    return list(phases[phase]["launch_values"]) if phase in phases else []


def _chosen(
    rows: Mapping[tuple[float, ...], list[float]],
    covariates: Sequence[str],
    minimum_effect: float,
    laws: Sequence[Law],
) -> LawFound | None:
    launches = max((len(values) for values in rows.values()), default=0)
    kept = {place: values for place, values in rows.items() if launches and len(values) == launches}
    times = np.array(list(kept.values()), dtype=np.float64).T
    if len(kept) < FEWEST_POINTS:
        return None
    measured = np.isfinite(times).any(axis=1)
    columns = {name: [place[i] for place in kept] for i, name in enumerate(covariates)}
    sweep = make_sweep(columns, times[measured])
    return law_found(choose(sweep, laws, minimum_effect), sweep.points, sweep.launches)
