# SPDX-License-Identifier: Apache-2.0
"""First messages that take longer from some allocations than from others, and the law of the excess. Pure.

Two rules name the same thing by its law, so it is looked at once, over allocations at a fixed message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from slowpath.core.cell_results import CellResult
from slowpath.findings.facts import (
    HUGE_PAGE_BYTES,
    LAW_RATIO,
    SMALL_PAGE_BYTES,
    Difference,
    Facts,
    Ratio,
    Slowdown,
    buffer_words,
    gpus,
    is_device,
    memory,
    once,
    parameter,
    ratio_words,
    sizes,
    times_words,
    where_words,
)
from slowpath.findings.laws import Line, lines_along, with_bound
from slowpath.findings.slow_path import Observation, Support, observed
from slowpath.findings.witness import SAMPLED, _pages, _shown, account, faults_words, is_sampled, sides
from slowpath.stats.estimate import Floats
from slowpath.stats.laws.law import FittedLaw, cost_words

Payer = Literal["pages", "allocation", "unknown"]


@dataclass(frozen=True, kw_only=True)
class FirstUse(Difference):
    """A first message that takes longer. slow: where it loses most.  fast: what it is compared with.  by: what the
    excess follows.  cells: all points.
    """

    by: Payer
    law: FittedLaw | None
    cells: tuple[CellResult, ...]
    contrasts: tuple[str, ...]


PROBES = ("allocations", "device allocations")  # groups of the survey that show a first use
ALLOCATIONS = ("allocation_bytes", "sender_allocation_bytes", "receiver_allocation_bytes")

MESSAGE = "message_bytes"

# Of the metrics of one cell the first of these speaks: the others are parts of it. A first round trip, one a launch,
# also holds what the other rank is late by, so that patterns of round trips say nothing of first messages.
METRICS = ("one_way_s", "send_barrier_s")

VISIT_S = 1e-9  # less than any processor or kernel spends on a page that it looks at; the cheapest seen took 20 ns

_PAYERS: Mapping[str | None, Payer] = {
    "granules": "pages",
    "pages": "pages",
    "threshold": "pages",
    "allocation": "allocation",
}


def payer(law: FittedLaw) -> Payer:
    """By what the excess goes. A term that may be 0 is no evidence: one, at least, of those that grow must not be."""
    by = _PAYERS.get(law.name, "unknown")
    growing = [coefficient.excludes_zero for coefficient in law.coefficients if coefficient.per]
    return "unknown" if growing and all(one is False for one in growing) else by


@once
def first_uses(facts: Facts) -> tuple[FirstUse, ...]:
    """Return each line of allocations whose first message depends on them, of cells whose buffers were written."""
    lines = lines_along(facts, *ALLOCATIONS, phase="first", metrics=METRICS)
    kept = (line for line in lines if not any("none" in parameter(cell, "touch") for cell in line.cells))
    return tuple(found for line in kept if (found := _over_allocations(facts, line)) is not None)


def _primary(cell: CellResult) -> str | None:
    """The metric of a cell that speaks for it, measured both at first and later or, of opening a handle, at first."""
    for name in METRICS:
        if cell.estimate(name, "first") and cell.estimate(name, "steady"):
            return name
    return None


def _value_s(cell: CellResult, metric: str, phase: str) -> float:
    """Of a phase that the cell has."""
    estimate = cell.estimate(metric, phase)
    assert estimate is not None
    return estimate.value


def _over_allocations(facts: Facts, line: Line) -> FirstUse | None:
    """All of one message, so that later messages can't follow the allocation's pages."""
    if not line.is_fixed(MESSAGE) or any(_primary(cell) != line.sweep.metric for cell in line.cells):
        return None
    slow = line.slowest
    ratio, contrast, reference = _between(facts, line, slow, _reference(line, slow))
    fast_s = _value_s(reference, line.sweep.metric, "first")
    # Cold caches make a first message from a longer buffer a little slower, too.
    if not ratio.beyond or ratio.least < LAW_RATIO or _as_cold_caches(line, slow, fast_s):
        return None
    law = with_bound(line.law, line.sweep)
    by = payer(law)
    if by == "unknown" and _is_remainder(line, slow, reference):
        by = "pages"
    return FirstUse(
        slow=line.cells[slow],
        fast=reference,
        metric=line.sweep.metric,
        slow_s=float(line.centre_s[slow]),
        fast_s=fast_s,
        ratio=ratio,
        by=by,
        law=law,
        cells=line.cells,
        contrasts=(contrast,) if contrast else (),
    )


def _is_remainder(line: Line, slow: int, reference: CellResult) -> bool:
    """Whether GPU memory is slow by the remainder of its length alone: memory that is less than one large page shorter,
    and whole pages long, is fast. Pages pay then, also where launches vary too much for a law of what each one costs.
    """
    if not is_device(line.cells[slow]) or reference not in line.cells:
        return False
    fast = line.cells.index(reference)
    lengths = [line.sweep.covariates[name] for name in ALLOCATIONS if name in line.sweep.varied()]
    return all(
        0 < length[slow] - length[fast] < HUGE_PAGE_BYTES and length[fast] % HUGE_PAGE_BYTES == 0 for length in lengths
    )


def _lengths(line: Line) -> Floats:
    """Of the allocations, bytes, shape (points,)."""
    return next(line.sweep.covariates[name] for name in ALLOCATIONS if name in line.sweep.varied())


def _as_cold_caches(line: Line, slow: int, fast_s: float) -> bool:
    """Whether the excess is less than a visit to each page of the allocation takes, so that nothing can have paid by
    its pages or bytes: a longer buffer pushes more out of the caches while it is filled.
    """
    return bool(line.centre_s[slow] - fast_s < VISIT_S * _lengths(line)[slow] / SMALL_PAGE_BYTES)


def _reference(line: Line, slow: int) -> int:
    """The fastest point with an allocation of about the same length; where it is not clearly faster, that of all."""
    lengths = _lengths(line)
    near = [i for i in range(line.sweep.points) if 0.5 * lengths[slow] <= lengths[i] <= 2 * lengths[slow]]
    fast = min(near, key=lambda i: line.centre_s[i])
    found = line.picked_ratio(slow, fast)
    clear = found.beyond if found.interval else found.value > 1 + line.minimum_effect
    return fast if clear else line.fastest


def _between(facts: Facts, line: Line, slow: int, fast: int) -> tuple[Ratio, str | None, CellResult]:
    """Of two points: the campaign's own contrast where it has one, which knows single launches from the inside.

    Returns: also the cell that the slow one is held against.
    """
    cells = (line.cells[slow].cell, line.cells[fast].cell)
    for slowdown in facts.all_slowdowns:
        if (slowdown.slow.cell, slowdown.fast.cell) == cells and _both_first(slowdown, line.sweep.metric):
            return slowdown.ratio, slowdown.contrast, slowdown.fast
    found = line.picked_ratio(slow, fast)
    if found.interval is None and facts.imported:
        return _of_twin(facts, line, slow)
    return found, None, line.cells[fast]


def _of_twin(facts: Facts, line: Line, slow: int) -> tuple[Ratio, str | None, CellResult]:
    """In logs the slow point is compared with another of its own log, not with the fastest of all."""
    for slowdown in facts.all_slowdowns:
        same = slowdown.slow.cell == slowdown.fast.cell
        if slowdown.slow.cell == line.cells[slow].cell and not same and _both_first(slowdown, line.sweep.metric):
            return slowdown.ratio, slowdown.contrast, slowdown.fast
    return Ratio(1.0, None, False), None, line.cells[slow]


def _both_first(one: Slowdown, metric: str) -> bool:
    return one.metric == metric and one.slow_phase == one.fast_phase == "first"


def first_uses_observed(facts: Facts, wanted: Callable[[FirstUse], bool]) -> list[Observation]:
    """One observation for each slow first message that a rule wants."""
    return [_first_use(facts, use) for use in first_uses(facts) if wanted(use)]


def _first_use(facts: Facts, use: FirstUse) -> Observation:
    kinds = memory(use.cells)
    where = gpus(use.cells)  # ways inside a GPU and between two differ in kind
    size = sizes([use.slow])
    what = f"The first {size} message".replace("  ", " ")
    against = f"from {_buffer(use.fast)}"
    law = f"; cost: {cost_words(use.law)}" if use.law and use.law.name else "; its growth law is unknown"
    several = facts.imported and len({cell.environment for cell in use.cells}) > 1
    named = f"contrast {', '.join(use.contrasts)}" if use.contrasts else "pairs of launches of two cells"
    return observed(
        use,
        about=", ".join(["first use", kinds, *where]),
        place=facts.place(use.cells, where_words(use.cells, *where)),
        text=f"{what} from {_buffer(use.slow)} in {kinds} memory is {ratio_words(use.ratio)} slower than {against}: "
        f"{times_words(use)}{law}.",
        phase="first",
        affects_default=None if facts.imported else facts.is_default(use.slow),
        cells=tuple(cell.cell for cell in use.cells),
        contrasts=use.contrasts,
        law=use.law,
        evidence=(f"{ratio_words(use.ratio)} slower than {against}: {named}",),
        doubts=("the points come from different logs, which do not state how they were launched",) if several else (),
    )


def _buffer(cell: CellResult) -> str:
    """`a fresh 1 GiB + 1 B buffer`."""
    return f"a fresh {buffer_words(cell)} buffer".replace("  ", " ")


def first_use_witness(facts: Facts, seen: Observation) -> Support:
    """Processor time or page faults that account for the excess of the slow cell's first message."""
    slow, fast = sides(facts, seen)
    pages = _pages(seen)
    faults = faults_words(slow, "first", fast, "first", pages) if pages else None
    found = account(slow, "first", fast, "first", seen.excess_s)
    if faults or found:
        return _shown(faults, found)
    if slow.witness is None:
        return Support("missing", "page faults and system time were not recorded")
    if is_sampled(slow):
        return Support("missing", f"page faults do not account for the excess, and {SAMPLED}")
    return Support(
        "missing",
        "neither page faults nor processor time account for the excess; a launch with witness = true counts calls",
    )
