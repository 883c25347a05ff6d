# SPDX-License-Identifier: Apache-2.0
"""SP001: first messages that take longer from some allocations than from others, by pages or by length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slowpath.core.cell_results import CellResult
from slowpath.core.units import format_time, side_values
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
    parameter,
    ratio_words,
    sizes,
    times_words,
    where_words,
)
from slowpath.findings.laws import Line, lines_along, with_bound
from slowpath.findings.observed import Wording, slowdown_observed
from slowpath.findings.slow_path import (
    FIRST_METRICS,
    GPU,
    HOST,
    Observation,
    ProgramPrice,
    SlowPath,
    Support,
    When,
    observed,
)
from slowpath.findings.witness import _pages, faults_words, sides, system_time_words
from slowpath.slowpaths.remedies import (
    KEEP_BUFFERS,
    LIBSLOWPATH_PAD_SO,
    NO_MAPPING_OF_GPU_MEMORY,
    PAD_TO_2_MIB,
    PROGRAM_KEEP_FREED_MEMORY,
    PROGRAM_KEEP_HUGE_PAGES,
    PROGRAM_PAD,
    page_of,
)
from slowpath.stats.estimate import Floats
from slowpath.stats.laws.law import FittedLaw, cost_words

PROBES = ("allocations", "device allocations")  # groups of the survey that show a first use
ALLOCATIONS = ("allocation_bytes", "sender_allocation_bytes", "receiver_allocation_bytes")

MESSAGE = "message_bytes"

# Of the metrics of one cell the first of these speaks: the others are parts of it. A first round trip, one a launch,
# also holds what the other rank is late by, so that patterns of round trips say nothing of first messages.
METRICS = ("one_way_s", "send_barrier_s")

VISIT_S = 1e-9  # less than any processor or kernel spends on a page that it looks at; the cheapest seen took 20 ns

_PAYERS = ("granules", "allocation")


def pays_by_allocation(law: FittedLaw) -> bool:
    """Whether the excess goes by the allocation: at least one term that grows can't be 0."""
    growing = [coefficient.excludes_zero for coefficient in law.coefficients if coefficient.per]
    return law.name in _PAYERS and not (growing and all(grows is False for grows in growing))


def observe(facts: Facts) -> Sequence[Observation]:
    """Each line of allocations whose first message depends on them, of cells whose buffers were written. GPU memory
    that is slower by no law is named as well: launches vary too much there for a law.
    """
    lines = lines_along(facts, *ALLOCATIONS, phase="first", metrics=METRICS)
    kept = (line for line in lines if not any("none" in parameter(cell, "touch") for cell in line.cells))
    observations = [seen for line in kept if (seen := _over_allocations(facts, line)) is not None]
    named = {cell for seen in observations for cell in seen.cells}
    return [*observations, *(_of_log(facts, pair) for pair in _pairs_of_logs(facts) if pair.slow.cell not in named)]


def _pairs_of_logs(facts: Facts) -> list[Slowdown]:
    """Both parts of one log of GPU memory, too few lengths for a line: the first message from the longer is slower."""
    slowdowns = facts.slowdowns("overalloc_bytes", phase="first") if facts.imported else []
    return [
        slowdown
        for slowdown in slowdowns
        if is_device(slowdown.slow) and slowdown.metric == _primary(slowdown.slow) and slowdown.ratio.least >= LAW_RATIO
        if int(side_values(parameter(slowdown.slow, "overalloc_bytes", "0"))[0]) % HUGE_PAGE_BYTES
    ]


def _of_log(facts: Facts, slowdown: Slowdown) -> Observation:
    kinds = " ".join([memory([slowdown.slow]), "memory", *gpus([slowdown.slow])])
    wording = Wording(
        f"first {{size}}messages from {_buffer(slowdown.slow)} in {kinds}", f"from {_buffer(slowdown.fast)}", kinds
    )
    slow, fast = (format_time(_value_s(cell, slowdown.metric, "steady")) for cell in (slowdown.slow, slowdown.fast))
    seen = slowdown_observed(facts, [slowdown], wording)
    return replace(seen, evidence=(*seen.evidence, f"later messages: {slow} and {fast}"))


def _primary(cell: CellResult) -> str | None:
    """The metric of a cell that speaks for it, measured both at first and later or, of opening a handle, at first."""
    for name in METRICS:
        if cell.estimate(name, "first") and cell.estimate(name, "steady"):
            return name
    return None


def _value_s(cell: CellResult, metric: str, phase: str) -> float:
    estimate = cell.estimate(metric, phase)
    assert estimate is not None
    return estimate.value


def _over_allocations(facts: Facts, line: Line) -> Observation | None:
    """All of one message, so that later messages can't follow the allocation's pages."""
    if MESSAGE in line.sweep.varied() or any(_primary(cell) != line.sweep.metric for cell in line.cells):
        return None
    place = line.slowest
    slow = line.cells[place]
    ratio, contrast, fast = _between(facts, line, place, _reference(line, place))
    fast_s = _value_s(fast, line.sweep.metric, "first")
    # Cold caches make a first message from a longer buffer a little slower, too: less than a visit to each page takes.
    visits_s = VISIT_S * _lengths(line)[place] / SMALL_PAGE_BYTES
    if not ratio.beyond or ratio.least < LAW_RATIO or line.centre_s[place] - fast_s < visits_s:
        return None
    law = with_bound(line.law, line.sweep)
    if not (pays_by_allocation(law) or is_device(slow)):
        return None
    use = Difference(
        slow=slow,
        fast=fast,
        metric=line.sweep.metric,
        slow_s=float(line.centre_s[place]),
        fast_s=fast_s,
        ratio=ratio,
    )
    kinds = memory(line.cells)
    where = gpus(line.cells)  # ways inside a GPU and between two differ in kind
    first_message = f"The first {sizes([slow])} message".replace("  ", " ")
    against = f"from {_buffer(fast)}"
    cost = f"; cost: {cost_words(law)}" if law.name else ""
    several = facts.imported and len({cell.environment for cell in line.cells}) > 1
    named = f"contrast {contrast}" if contrast else "pairs of launches of two cells"
    return observed(
        use,
        about=", ".join(["first use", kinds, *where]),
        place=facts.place(line.cells, where_words(line.cells, *where)),
        text=f"{first_message} from {_buffer(slow)} in {' '.join([kinds, 'memory', *where])} is {ratio_words(ratio)} "
        f"slower than {against}: {times_words(use)}{cost}.",
        phase="first",
        affects_default=None if facts.imported else facts.as_found(slow),
        cells=tuple(cell.cell for cell in line.cells),
        contrasts=(contrast,) if contrast else (),
        law=law,
        evidence=(f"{ratio_words(ratio)} slower than {against}: {named}",),
        doubts=("points of different logs",) if several else (),
    )


def _lengths(line: Line) -> Floats:
    return next(line.sweep.covariates[name] for name in ALLOCATIONS if name in line.sweep.varied())


def _reference(line: Line, slow: int) -> int:
    """The fastest point with an allocation of about the same length; where it is not clearly faster, that of all.

    An odd length is held against padded ones, which the remedy makes of it: between two GPUs another odd one is faster.
    """
    lengths = _lengths(line)
    near = [i for i in range(line.sweep.points) if 0.5 * lengths[slow] <= lengths[i] <= 2 * lengths[slow]]
    padded = [i for i in near if lengths[i] % HUGE_PAGE_BYTES == 0] if lengths[slow] % HUGE_PAGE_BYTES else []
    fast = min(padded or near, key=lambda i: line.centre_s[i])
    picked = line.picked_ratio(slow, fast)
    clear = picked.beyond if picked.interval else picked.value > 1 + line.minimum_effect
    return fast if clear or (padded and line.fastest in near) else line.fastest


def _between(facts: Facts, line: Line, slow: int, fast: int) -> tuple[Ratio, str | None, CellResult]:
    """Of two points: the campaign's own contrast where it has one, which knows single launches from the inside.

    Returns: also the cell that the slow one is held against.
    """
    cells = (line.cells[slow].cell, line.cells[fast].cell)
    for slowdown in facts.all_slowdowns:
        if (slowdown.slow.cell, slowdown.fast.cell) == cells and _both_first(slowdown, line.sweep.metric):
            return slowdown.ratio, slowdown.contrast, slowdown.fast
    picked = line.picked_ratio(slow, fast)
    if picked.interval is None and facts.imported:
        return _of_twin(facts, line, slow)
    return picked, None, line.cells[fast]


def _of_twin(facts: Facts, line: Line, slow: int) -> tuple[Ratio, str | None, CellResult]:
    """In logs the slow point is compared with another of its own log, not with the fastest of all."""
    for slowdown in facts.all_slowdowns:
        same = slowdown.slow.cell == slowdown.fast.cell
        if slowdown.slow.cell == line.cells[slow].cell and not same and _both_first(slowdown, line.sweep.metric):
            return slowdown.ratio, slowdown.contrast, slowdown.fast
    return Ratio(1.0, None, False), None, line.cells[slow]


def _both_first(slowdown: Slowdown, metric: str) -> bool:
    return slowdown.metric == metric and slowdown.slow_phase == slowdown.fast_phase == "first"


def _buffer(cell: CellResult) -> str:
    return f"a fresh {buffer_words(cell)} buffer".replace("  ", " ")


def witnesses(facts: Facts, seen: Observation) -> Support:
    """Page faults, or the kernel's time, that account for the extra time of the slow cell's first message."""
    slow, fast = sides(facts, seen)
    pages = _pages(seen)
    faults = faults_words(slow, "first", fast, "first", pages) if pages else None
    time = system_time_words(slow, "first", fast, "first", seen.excess_s)
    if shown := tuple(filter(None, (faults, time))):
        return Support("shown", "law and witness agree", shown, is_processor_time=faults is None)
    return Support("missing")


SLOW_PATH: SlowPath = SlowPath(
    observe=observe,
    witnesses=witnesses,
    kind="opportunity",
    probes=PROBES,
    remedies=(*NO_MAPPING_OF_GPU_MEMORY, PAD_TO_2_MIB, LIBSLOWPATH_PAD_SO, KEEP_BUFFERS),
    program_remedies=(PROGRAM_KEEP_FREED_MEMORY, PROGRAM_PAD, PROGRAM_KEEP_HUGE_PAGES),
    prices=(
        ProgramPrice(
            "fresh GPU memory",
            When(memory=GPU, odd=False, first=True),
            "for the first time from GPU memory",
            KEEP_BUFFERS,
            metrics=FIRST_METRICS,
            phase="first",
            both_sides=True,
        ),
        ProgramPrice(
            "odd allocation",
            When(memory=GPU, odd=True, first=True),
            "for the first time from GPU memory of odd length",
            PAD_TO_2_MIB,
            metrics=FIRST_METRICS,
            phase="first",
            remedied_phase="first",
            both_sides=True,
        ),
        ProgramPrice(
            "fresh host memory",
            When(memory=HOST, first=True, least_bytes=4096),
            "for the first time from their buffers",
            KEEP_BUFFERS,
            metrics=FIRST_METRICS,
            phase="first",
            both_sides=True,
        ),
    ),
    **page_of("SP001"),
)
