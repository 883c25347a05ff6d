# SPDX-License-Identifier: Apache-2.0
"""First messages from fresh buffers that take longer than later ones, and the law of the excess. Pure.

Several rules name the same thing by its law, so it is looked at once: over allocations at a fixed message first, over
messages next; what no line shows is left without a law. docs/reference/findings.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from slowpath.findings.evidence.compared import LAW_RATIO, Cell, Compared, Ratio, ratio_of
from slowpath.findings.evidence.differences import SMALL_PAGE_BYTES
from slowpath.findings.evidence.granule_bound import with_bound
from slowpath.findings.evidence.lawfound import LawFound
from slowpath.findings.evidence.lines import Line, excess
from slowpath.findings.evidence.sweeps import launch_times
from slowpath.stats.inputs import Floats
from slowpath.stats.laws import constant

if TYPE_CHECKING:
    from slowpath.findings.evidence.evidence import Evidence

ALLOCATIONS = ("allocation_bytes", "sender_allocation_bytes", "receiver_allocation_bytes")
MESSAGE = "message_bytes"
# Of the metrics of one cell the first of these speaks: the others are parts of it. A first round trip, one a launch,
# also holds what the other rank is late by, so that patterns of round trips say nothing of first messages.
METRICS = ("one_way_s", "send_barrier_s", "ipc_open_s")
VISIT_S = 1e-9  # less than any processor or kernel spends on a page that it looks at; the cheapest seen took 20 ns
CLEAR_RATIO = 1.25  # a first message meets cold caches everywhere; below, without a law, nothing is said
Kind = Literal["pages", "allocation", "message", "constant", "unknown"]
_KINDS: dict[str, Kind] = {
    "granules": "pages",
    "pages": "pages",
    "allocation": "allocation",
    "bytes": "message",
    "segments": "message",
    "constant": "constant",
}


@dataclass(frozen=True)
class FirstUse:
    """slow: the cell in which the first message loses most; fast: the one that it is held against, the same cell where
    later messages are.  fast_phase: of that one.  of: what the law is of.
    """

    kind: Kind
    metric: str
    slow: Cell
    fast: Cell
    fast_phase: str
    slow_s: float
    fast_s: float
    ratio: Ratio
    law: LawFound | None
    cells: tuple[Cell, ...]
    contrasts: tuple[str, ...]
    of: str


def first_uses(evidence: Evidence) -> tuple[FirstUse, ...]:
    """Every one, each cell in at most one of them; lines with a law come first."""
    return _cached(evidence)


@cache
def _cached(evidence: Evidence) -> tuple[FirstUse, ...]:
    found: list[FirstUse] = []
    seen: set[int] = set()
    for one in (*_over_allocations(evidence), *_over_messages(evidence)):
        if one.kind == "unknown" and {cell["cell"] for cell in one.cells} <= seen:
            continue
        found.append(one)
        if one.kind != "unknown" or one.law is not None:
            seen |= {cell["cell"] for cell in one.cells}
    return (*found, *_without_law(evidence, seen))


def primary(cell: Cell) -> str | None:
    """The metric of a cell that speaks for it, measured both at first and later or, of opening a handle, at first."""
    for name in METRICS:
        phases = cell["metrics"].get(name, {}).get("phases", {})
        if "first" in phases and ("steady" in phases or name == "ipc_open_s"):
            return name
    return None


def first_over_later(evidence: Evidence, cell: Cell, metric: str) -> tuple[Ratio, str | None]:
    """First message over later ones of one cell, and the id of the contrast that says it, if the campaign has one."""
    for one in evidence.compared:
        sides = (one.slow["cell"], one.fast["cell"])
        if sides == (cell["cell"],) * 2 and one.metric == metric and one.slow_phase == "first":
            return Ratio(one.ratio, one.interval, True), one.contrast
    phases = cell["metrics"][metric]["phases"]
    if "steady" not in phases:
        return Ratio(1.0, None, False), None
    first, steady = (launch_times(cell["metrics"][metric], name) for name in ("first", "steady"))
    if len(first) != len(steady) or len(first) == 0:
        return Ratio(1.0, None, False), None
    return ratio_of(first, steady, evidence.minimum_effect), None


def _primary_line(line: Line) -> bool:
    return all(primary(cell) == line.sweep.metric for cell in line.cells)


def _over_allocations(evidence: Evidence) -> Iterator[FirstUse]:
    """Lines of allocations that all send the same message: later messages can't follow the allocation's pages."""
    for line in evidence.lines(*ALLOCATIONS, phase="first", metrics=METRICS):
        if not line.is_fixed(MESSAGE) or not _primary_line(line):
            continue
        slow = line.slowest
        fast = _reference(line, slow)
        ratio, contrast, reference = _between(evidence, line, slow, fast)
        # Cold caches make a first message from a longer buffer a little slower, too: below, what is constant speaks.
        if not ratio.beyond or ratio.least < LAW_RATIO or _as_cold_caches(line, slow, reference):
            yield from _constant_line(evidence, line)
            continue
        law = with_bound(line)
        kind = _KINDS.get(law.name or "", "unknown")
        yield FirstUse(
            kind if kind != "constant" else "unknown",
            line.sweep.metric,
            line.cells[slow],
            reference,
            "first",
            float(line.centre_s[slow]),
            reference["metrics"][line.sweep.metric]["phases"]["first"]["value"],
            ratio,
            law,
            line.cells,
            (contrast,) if contrast else (),
            "allocation",
        )


def _lengths(line: Line) -> Floats:
    """Of the allocations, bytes, shape (points,)."""
    return next(line.sweep.covariates[name] for name in ALLOCATIONS if name in line.sweep.varied())


def _as_cold_caches(line: Line, slow: int, reference: Cell) -> bool:
    """Whether the excess is less than a visit to each page of the allocation takes, so that nothing can have paid by
    its pages or bytes: a longer buffer pushes more out of the caches while it is filled.
    """
    lengths = _lengths(line)
    excess_s = line.centre_s[slow] - reference["metrics"][line.sweep.metric]["phases"]["first"]["value"]
    return bool(excess_s < VISIT_S * lengths[slow] / SMALL_PAGE_BYTES)


def _reference(line: Line, slow: int) -> int:
    """The fastest point with an allocation of about the same length; where it is not clearly faster, that of all."""
    lengths = _lengths(line)
    near = [i for i in range(line.sweep.points) if 0.5 * lengths[slow] <= lengths[i] <= 2 * lengths[slow]]
    fast = min(near, key=lambda i: line.centre_s[i])
    found = line.picked_ratio(slow, fast)
    clear = found.beyond if found.interval else found.value > 1 + line.minimum_effect
    return fast if clear else line.fastest


def _between(evidence: Evidence, line: Line, slow: int, fast: int) -> tuple[Ratio, str | None, Cell]:
    """Of two points: the campaign's own contrast where it has one, which knows single launches from the inside.

    Returns: also the cell that the slow one is held against.
    """
    cells = (line.cells[slow]["cell"], line.cells[fast]["cell"])
    for one in evidence.compared:
        if (one.slow["cell"], one.fast["cell"]) == cells and _both_first(one, line.sweep.metric):
            return Ratio(one.ratio, one.interval, True), one.contrast, one.fast
    found = line.picked_ratio(slow, fast)
    if found.interval is None and evidence.imported:
        return _of_twin(evidence, line, slow)
    return found, None, line.cells[fast]


def _of_twin(evidence: Evidence, line: Line, slow: int) -> tuple[Ratio, str | None, Cell]:
    """In logs the slow point is compared with another of its own log, not with the fastest of all."""
    for one in evidence.compared:
        same = one.slow["cell"] == one.fast["cell"]
        if one.slow["cell"] == line.cells[slow]["cell"] and not same and _both_first(one, line.sweep.metric):
            return Ratio(one.ratio, one.interval, True), one.contrast, one.fast
    return Ratio(1.0, None, False), None, line.cells[slow]


def _both_first(one: Compared, metric: str) -> bool:
    return one.metric == metric and one.slow_phase == one.fast_phase == "first"


def _constant_line(evidence: Evidence, line: Line) -> Iterator[FirstUse]:
    """Nothing depends on the allocation, yet the first message may be slower than later ones by a constant."""
    slow = line.cells[line.slowest]
    if "steady" not in slow["metrics"][line.sweep.metric]["phases"]:
        return
    ratio, contrast = first_over_later(evidence, slow, line.sweep.metric)
    if not ratio.beyond or ratio.least < LAW_RATIO:
        return
    if line.law.name != "constant" and line.ratio(line.slowest, line.fastest).value >= LAW_RATIO:
        return
    more = excess(line, line.cells, "steady")  # what it costs is what the first takes more than later ones
    law = (more or line).among([constant.LAW])
    if law.name == "constant":
        yield _against_later(line.sweep.metric, slow, ratio, law, line.cells, contrast, "constant", "allocation")


def _over_messages(evidence: Evidence) -> Iterator[FirstUse]:
    """Lines of messages: what the first takes more than later ones of the same length."""
    for line in evidence.lines(MESSAGE, phase="first", metrics=METRICS[:-1]):
        lengths = line.sweep.covariates[MESSAGE]
        if not _primary_line(line) or len(set(lengths.tolist())) < line.sweep.points:
            continue
        ratios = [first_over_later(evidence, cell, line.sweep.metric) for cell in line.cells]
        beyond = [i for i, (ratio, _) in enumerate(ratios) if ratio.beyond and ratio.least >= LAW_RATIO]
        if not beyond:
            continue
        more = excess(line, line.cells, "steady")
        law = more.law if more is not None else None
        kind = _KINDS.get((law.name if law else None) or "", "unknown")
        worst = max(beyond, key=lambda i: ratios[i][0].value)
        if kind == "unknown" and ratios[worst][0].value < CLEAR_RATIO:
            continue
        cells = tuple(line.cells[i] for i in beyond)
        ids = [ratios[i][1] for i in beyond]
        yield _against_later(
            line.sweep.metric,
            line.cells[worst],
            ratios[worst][0],
            law,
            cells,
            ids[beyond.index(worst)],
            kind,
            "message",
        )


def _against_later(
    metric: str,
    slow: Cell,
    ratio: Ratio,
    law: LawFound | None,
    cells: Sequence[Cell],
    contrast: str | None,
    kind: Kind,
    of: str,
) -> FirstUse:
    phases = slow["metrics"][metric]["phases"]
    return FirstUse(
        kind,
        metric,
        slow,
        slow,
        "steady",
        phases["first"]["value"],
        phases["steady"]["value"],
        ratio,
        law,
        tuple(cells),
        (contrast,) if contrast else (),
        of,
    )


def _without_law(evidence: Evidence, seen: set[int]) -> Iterator[FirstUse]:
    """Decided contrasts of first and later messages in cells of no line."""
    for one in evidence.decided("phase"):
        cell = one.slow
        if one.slow_phase != "first" or one.ratio < CLEAR_RATIO or cell["cell"] in seen:
            continue
        if primary(cell) != one.metric:
            continue
        ratio = Ratio(one.ratio, one.interval, True)
        yield _against_later(one.metric, cell, ratio, None, (cell,), one.contrast, "unknown", "")
