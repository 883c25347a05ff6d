# SPDX-License-Identifier: Apache-2.0
"""What a tuning says: a table of cells, the gain over all of them, the lines to copy. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.units import format_bytes, format_time, plural
from slowpath.diagnose.tune.cells import (
    AFTER_BARRIER,
    VIEWS,
    WORSE_RATIO,
    CellFactor,
    CollectiveCell,
    Mean,
    Promise,
    TimedView,
    TuneRequest,
    Use,
    counts,
    geometric_mean,
    promises,
)
from slowpath.diagnose.tune.files import export_lines
from slowpath.diagnose.tune.session import Tuned
from slowpath.mpi.tuning import Kind, ranges

# What a tuning says: a table of cells, the gain over all of them, the lines to copy.

_FREE_SHARE = 0.5  # of the processors that others may use before the machine is called busy

# One for each way of timing: those that share cells share a column.
COLUMNS = tuple(
    view
    for number, view in enumerate(VIEWS)
    if all(view.parameters != earlier.parameters for earlier in VIEWS[:number])
)


def lines(request: TuneRequest, tuned: Tuned) -> list[str]:
    """The whole text."""
    promised = promises(tuned.factors)
    shown = [*promised_table(promised, request.uses), *_covered(request, tuned)]
    shown += _gains(request, tuned, promised)
    if not tuned.picks and tuned.unverified:
        count = len(tuned.unverified)
        return [
            *shown,
            "",
            f"{request.identity}: {plural(count, 'cell')} faster alone, none confirmed; repeat with "
            f"--resume and "
            "a longer --budget",
        ]
    if not tuned.picks:
        return [
            *shown,
            "",
            f"{request.identity}: nothing is proven faster than the library's own choice",
        ]
    if not tuned.variables:
        return [*shown, "", "tuning.json needs libslowpath-coll.so, which this engine lacks"]
    return [*shown, "", "To use it:", *(f"  {line}" for line in export_lines(tuned.variables))]


def crowded(load: float, cores: int, ranks: int) -> str | None:
    """What a lack of processors means for the promises; None: each rank has one, and they are mostly free.

    Args: load: average of the last minute before the tuning.  ranks: the most that are tuned for.
    """
    if ranks > cores:
        return f"{ranks} ranks share {cores} processors: tune with {cores} ranks, unless they always do"
    if load < _FREE_SHARE * cores:
        return None
    return f"other programs used this machine (load {load:.1f}, {cores} processors): tune again on a quiet one"


def _covered(request: TuneRequest, tuned: Tuned) -> list[str]:
    """Which lengths are chosen for, and which of them were measured."""
    kinds: tuple[Kind, ...] = ("algorithm", "mockup")
    classes = bool(request.uses)
    chosen = [span for kind in kinds for span in ranges(tuned.picks, kind, tuned.measured, classes=classes)]
    covered = [span for span in chosen if span.collective != "barrier"]
    if not covered:
        return []
    shown = [
        "",
        "Lengths that the files cover, including those between measured lengths with the same choice:",
    ]
    for covers in sorted(covered, key=lambda picked: (picked.collective, picked.ranks, picked.first)):
        lengths = ", ".join(map(format_bytes, covers.measured))
        span = " to ".join(map(format_bytes, dict.fromkeys((covers.first, covers.last))))
        shown.append(f"  {covers.collective}, {covers.ranks} ranks: {covers.name} for {span} (measured: {lengths})")
    return shown


def _gains(request: TuneRequest, tuned: Tuned, promised: Sequence[Promise]) -> list[str]:
    """All cells as they were measured, those that take another way by themselves, and what got worse."""
    if not promised:
        return []
    launches = max(len(factor.pairs) for factor in tuned.factors)
    changed = [promise for promise in promised if promise.pick is not None]
    shown = [
        "",
        f"{request.identity}: {len(promised)} cells measured again, {launches} launches with the files and as many "
        "without; speedup (geometric mean):",
    ]
    for view in VIEWS:
        mine = [factor for factor in tuned.factors if factor.view == view.name]
        mean, of_changed = (
            geometric_mean(mine),
            geometric_mean([promise for promise in mine if promise.pick is not None]),
        )
        if mean is not None:
            taken = "" if of_changed is None else f"; {len(changed)} changed cells {_mean(of_changed)}"
            shown.append(f"  {view.name}: {_mean(mean)}{taken}")
    least = sorted(promise.times_faster for promise in changed if promise.times_faster is not None)
    if least:
        shown.append(
            f"expect new launches to be at least {least[0]:.2f} to {least[-1]:.2f} times faster (least of the views)"
        )
    shown += _of_program(request, promised)
    number = counts(tuned.factors)
    longer = [factor for factor in tuned.factors if factor.ratio > WORSE_RATIO]
    worst = max(tuned.factors, key=lambda factor: factor.ratio)
    shown.append(
        f"{number['better']} faster, {number['worse']} slower, {number['same']} neither, of {len(tuned.factors)} "
        f"(95 % intervals); {len(longer)} over 2 % slower, most "
        f"{name_of(worst.cell)} {worst.view}: {_factor(worst)}"
    )
    if tuned.unverified:
        cells = ", ".join(f"{cell.collective} {format_bytes(cell.bytes)}" for cell in tuned.unverified)
        shown.append(f"removed after the last verification: {cells}")
    return shown


def _mean(mean: Mean) -> str:
    if mean.interval is None:
        return f"{mean.ratio:.3f}"
    return f"{mean.ratio:.3f} [{mean.interval[0]:.3f}, {mean.interval[1]:.3f}]"


def promised_table(promised: Sequence[Promise], uses: Sequence[Use] = ()) -> list[str]:
    """A row for each cell: what it takes, how much faster it is in each view, and what is promised.

    Args: uses: of a program: its seconds stand in front, most first.
    """
    if not promised:
        return []
    rows = [("cell", "default", "tuned", "by", *(view.name for view in COLUMNS), "promised")]
    if uses:
        rows = [("program", *rows[0], "saves at least")]
    order = {CollectiveCell(use.collective, use.ranks, use.bytes): use for use in uses}
    for promise in sorted(promised, key=lambda promise: -order[promise.cell].seconds if promise.cell in order else 0):
        first = promise.seen(AFTER_BARRIER.name) or promise.factors[0]
        least = "" if promise.pick is None or promise.times_faster is None else f"{promise.times_faster:.2f}"
        seen = [_seen(promise, view) for view in COLUMNS]
        row = (
            name_of(promise.cell),
            format_time(first.default_s),
            format_time(first.tuned_s),
            promise.pick.name if promise.pick else "the library's own choice",
            *seen,
            least,
        )
        if uses:
            use = order.get(promise.cell)
            row = (format_time(use.seconds) if use else "", *row, format_time(_saved_s(promise, use)) if least else "")
        rows.append(row)
    return _aligned(rows)


def _saved_s(promise: Promise, use: Use | None) -> float:
    """What the program's calls take less, by the promise."""
    if use is None or promise.pick is None or promise.times_faster is None:
        return 0.0
    return use.seconds * (1 - 1 / promise.times_faster)


def _of_program(request: TuneRequest, promised: Sequence[Promise]) -> list[str]:
    """What the program as a whole has of it."""
    if not request.uses:
        return []
    uses = {CollectiveCell(use.collective, use.ranks, use.bytes): use for use in request.uses}
    saved_s = sum(_saved_s(promise, uses.get(promise.cell)) for promise in promised)
    all_s = sum(use.seconds for use in request.uses)
    return [
        f"{request.program}: a rank spends {format_time(all_s)} in these collectives; the promises save at least "
        f"{format_time(saved_s)}"
    ]


def _seen(promise: Promise, column: TimedView) -> str:
    """The least of the views that share the column's cells."""
    names = [view.name for view in VIEWS if view.parameters == column.parameters]
    in_views = [factor for factor in promise.factors if factor.view in names]
    return _factor(min(in_views, key=lambda factor: factor.at_least or 0.0)) if in_views else ""


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def name_of(cell: CollectiveCell) -> str:
    """`bcast, 64 KiB, 4 ranks`."""
    length = "" if cell.collective == "barrier" else f", {format_bytes(cell.bytes)}"
    return f"{cell.collective}{length}, {cell.ranks} ranks"


def _factor(factor: CellFactor) -> str:
    """Default over tuned with its interval."""
    if factor.interval is None:
        return f"{factor.times_faster:.2f}"
    low, high = factor.interval
    return f"{factor.times_faster:.2f} [{1 / high:.2f}, {1 / low:.2f}]" if low > 0 else f"{factor.times_faster:.2f}"
