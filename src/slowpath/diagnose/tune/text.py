# SPDX-License-Identifier: Apache-2.0
"""What a tuning says: a table of cells, the gain over all of them, the lines to copy. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.units import format_bytes, format_time
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
    view for number, view in enumerate(VIEWS) if all(view.parameters != one.parameters for one in VIEWS[:number])
)


def lines(request: TuneRequest, tuned: Tuned) -> list[str]:
    """The whole text."""
    found = promises(tuned.factors)
    shown = [*promised_table(found, request.uses), *_covered(request, tuned)]
    shown += _gains(request, tuned, found)
    if not tuned.picks and tuned.unverified:
        count = len(tuned.unverified)
        return [
            *shown,
            "",
            f"{request.identity}: {count} cell{'s' * (count > 1)} faster alone, but none confirmed with all files: "
            "the library's own choice stays everywhere; verify again with --resume and a longer --budget or none",
        ]
    if not tuned.picks:
        return [
            *shown,
            "",
            f"{request.identity}: nothing is proven faster than the library's own choice; no file is needed",
        ]
    if not tuned.variables:
        return [*shown, "", "tuning.json contains them for libslowpath-coll.so, which this engine lacks"]
    return [*shown, "", "To use it:", *(f"  {line}" for line in export_lines(tuned.variables))]


def crowded(load: float, cores: int, ranks: int) -> str | None:
    """What a lack of processors means for the promises; None: each rank has one, and they are mostly free.

    Args: load: average of the last minute before the tuning.  ranks: the most that are tuned for.
    """
    if ranks > cores:
        return (
            f"{ranks} ranks share {cores} processors: the scheduler determines their times, so the promises hold "
            f"only for ranks that share processors; otherwise tune with {cores} ranks or fewer"
        )
    if load < _FREE_SHARE * cores:
        return None
    return (
        f"other programs used this machine (load {load:.1f}, {cores} processors): the promises hold for an equally "
        "busy machine; tune again on a quiet one"
    )


def _covered(request: TuneRequest, tuned: Tuned) -> list[str]:
    """Which lengths are chosen for, and which of them were measured."""
    kinds: tuple[Kind, ...] = ("algorithm", "mockup")
    classes = bool(request.uses)
    chosen = [one for kind in kinds for one in ranges(tuned.picks, kind, tuned.measured, classes=classes)]
    found = [one for one in chosen if one.collective != "barrier"]
    if not found:
        return []
    shown = [
        "",
        "Lengths that the files choose for, including those between measured neighbours with the same choice:",
    ]
    for one in sorted(found, key=lambda picked: (picked.collective, picked.ranks, picked.first)):
        lengths = ", ".join(map(format_bytes, one.measured))
        span = " to ".join(map(format_bytes, dict.fromkeys((one.first, one.last))))
        shown.append(f"  {one.collective}, {one.ranks} ranks: {one.name} for {span} (measured: {lengths})")
    return shown


def _gains(request: TuneRequest, tuned: Tuned, found: Sequence[Promise]) -> list[str]:
    """All cells as they were measured, those that take another way by themselves, and what got worse."""
    if not found:
        return []
    launches = max(len(factor.pairs) for factor in tuned.factors)
    changed = [one for one in found if one.pick is not None]
    shown = [
        "",
        f"{request.identity}: {len(found)} cells measured again, {launches} launches with the files and as many "
        "without; speedup (geometric mean):",
    ]
    for view in VIEWS:
        mine = [factor for factor in tuned.factors if factor.view == view.name]
        mean, of_changed = geometric_mean(mine), geometric_mean([one for one in mine if one.pick is not None])
        if mean is not None:
            taken = "" if of_changed is None else f"; the {len(changed)} that take another way {_mean(of_changed)}"
            shown.append(f"  {view.name}: {_mean(mean)}{taken}")
    least = sorted(one.times_faster for one in changed if one.times_faster is not None)
    if least:
        shown.append(
            f"promised for further launches, in the worst view: {least[0]:.2f} to {least[-1]:.2f} times faster"
        )
    shown += _of_program(request, found)
    number = counts(tuned.factors)
    longer = [factor for factor in tuned.factors if factor.ratio > WORSE_RATIO]
    worst = max(tuned.factors, key=lambda one: one.ratio)
    shown.append(
        f"{number['better']} faster, {number['worse']} slower, {number['same']} neither, of {len(tuned.factors)} "
        f"by whole intervals; {len(longer)} took over 2 % longer in these launches, the worst "
        f"{name_of(worst.cell)} {worst.view}: {_factor(worst)}"
    )
    if tuned.unverified:
        cells = ", ".join(f"{one.collective} {format_bytes(one.bytes)}" for one in tuned.unverified)
        shown.append(f"removed after the last verification, so the final files were not measured: {cells}")
    return shown


def _mean(mean: Mean) -> str:
    if mean.interval is None:
        return f"{mean.ratio:.3f}"
    return f"{mean.ratio:.3f} [{mean.interval[0]:.3f}, {mean.interval[1]:.3f}]"


def promised_table(found: Sequence[Promise], uses: Sequence[Use] = ()) -> list[str]:
    """A row for each cell: what it takes, how much faster it is in each view, and what is promised.

    Args: uses: of a program: its seconds stand in front, most first.
    """
    if not found:
        return []
    rows = [("cell", "default", "tuned", "by", *(view.name for view in COLUMNS), "promised")]
    if uses:
        rows = [("program", *rows[0], "saves at least")]
    order = {CollectiveCell(use.collective, use.ranks, use.bytes): use for use in uses}
    for one in sorted(found, key=lambda promise: -order[promise.cell].seconds if promise.cell in order else 0):
        first = one.seen(AFTER_BARRIER.name) or one.factors[0]
        least = "" if one.pick is None or one.times_faster is None else f"{one.times_faster:.2f}"
        seen = [_seen(one, view) for view in COLUMNS]
        row = (
            name_of(one.cell),
            *_times(first),
            one.pick.name if one.pick else "the library's own choice",
            *seen,
            least,
        )
        if uses:
            use = order.get(one.cell)
            row = (format_time(use.seconds) if use else "", *row, format_time(_saved_s(one, use)) if least else "")
        rows.append(row)
    return _aligned(rows)


def _saved_s(one: Promise, use: Use | None) -> float:
    """What the program's calls take less, by the promise."""
    if use is None or one.pick is None or one.times_faster is None:
        return 0.0
    return use.seconds * (1 - 1 / one.times_faster)


def _of_program(request: TuneRequest, found: Sequence[Promise]) -> list[str]:
    """What the program as a whole has of it."""
    if not request.uses:
        return []
    uses = {CollectiveCell(use.collective, use.ranks, use.bytes): use for use in request.uses}
    saved_s = sum(_saved_s(one, uses.get(one.cell)) for one in found)
    all_s = sum(use.seconds for use in request.uses)
    return [
        f"{request.program}: a rank spends {format_time(all_s)} in these collectives; the promises save at least "
        f"{format_time(saved_s)}"
    ]


def _seen(one: Promise, column: TimedView) -> str:
    """The least of the views that share the column's cells."""
    names = [view.name for view in VIEWS if view.parameters == column.parameters]
    found = [factor for factor in one.factors if factor.view in names]
    return _factor(min(found, key=lambda factor: factor.at_least or 0.0)) if found else ""


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _times(one: CellFactor) -> tuple[str, str]:
    return format_time(one.default_s), format_time(one.tuned_s)


def name_of(cell: CollectiveCell) -> str:
    """`bcast, 64 KiB, 4 ranks`."""
    length = "" if cell.collective == "barrier" else f", {format_bytes(cell.bytes)}"
    return f"{cell.collective}{length}, {cell.ranks} ranks"


def _factor(one: CellFactor) -> str:
    """Default over tuned with its interval."""
    if one.interval is None:
        return f"{one.times_faster:.2f}"
    low, high = one.interval
    return f"{one.times_faster:.2f} [{1 / high:.2f}, {1 / low:.2f}]" if low > 0 else f"{one.times_faster:.2f}"
