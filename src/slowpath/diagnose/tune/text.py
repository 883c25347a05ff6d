# SPDX-License-Identifier: Apache-2.0
"""What a tuning says: a table of cells, the gain over all of them, the lines to copy. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.units import format_bytes, format_time
from slowpath.diagnose.tune.factors import WORSE_RATIO, Factor, Mean, counts, geometric_mean
from slowpath.diagnose.tune.files import export_lines
from slowpath.diagnose.tune.request import TuneRequest
from slowpath.diagnose.tune.session import Tuned


def lines(request: TuneRequest, tuned: Tuned) -> list[str]:
    """The whole text."""
    shown = [*table(tuned.factors), *_mockups(tuned), *_gains(request, tuned)]
    if not tuned.picks:
        return [
            *shown,
            "",
            f"{request.identity}: nothing was proven to be faster than the library's own choice; no file is needed",
        ]
    if not tuned.variables:
        return [*shown, "", "tuning.json holds them for libslowpath-coll.so, which this engine does not have"]
    return [*shown, "", "To use it:", *(f"  {line}" for line in export_lines(tuned.variables))]


def _gains(request: TuneRequest, tuned: Tuned) -> list[str]:
    """All cells as they were measured, those that take another way by themselves, and what got worse."""
    changed = [factor for factor in tuned.factors if factor.pick is not None]
    mean, of_changed = geometric_mean(tuned.factors), geometric_mean(changed)
    if mean is None or of_changed is None:
        return []
    launches, number = max(len(factor.pairs) for factor in tuned.factors), counts(tuned.factors)
    longer = [factor for factor in tuned.factors if factor.ratio > WORSE_RATIO]
    worst = max(tuned.factors, key=lambda one: one.ratio)
    shown = [
        "",
        f"{request.identity}: {len(tuned.factors)} cells measured anew, {launches} launches with the files and as many"
        f" without: {_mean(mean)} times faster in the geometric mean",
        f"the {len(changed)} that take another way: {_mean(of_changed)} times faster",
        f"{number['better']} faster, {number['worse']} slower, {number['same']} neither, by whole intervals;"
        f" {len(longer)} took over 2 % longer in these launches, the worst {name_of(worst)}: {_factor(worst)}",
    ]
    if tuned.unverified:
        cells = ", ".join(f"{one.collective} {format_bytes(one.bytes)}" for one in tuned.unverified)
        shown.append(f"taken out after the last verification, so that the files as they are were not measured: {cells}")
    return shown


def _mean(mean: Mean) -> str:
    if mean.interval is None:
        return f"{mean.ratio:.3f}"
    return f"{mean.ratio:.3f} [{mean.interval[0]:.3f}, {mean.interval[1]:.3f}]"


def table(factors: Sequence[Factor]) -> list[str]:
    """A row for each cell."""
    if not factors:
        return []
    rows = [("cell", "default", "tuned", "by", "times faster")]
    rows += [
        (
            name_of(one),
            format_time(one.default_s),
            format_time(one.tuned_s),
            one.pick.name if one.pick else "the library's own choice",
            _factor(one),
        )
        for one in sorted(factors, key=lambda one: one.cell)
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def name_of(one: Factor) -> str:
    """`bcast, 64 KiB, 4 ranks`."""
    length = "" if one.cell.collective == "barrier" else f", {format_bytes(one.cell.bytes)}"
    return f"{one.cell.collective}{length}, {one.cell.ranks} ranks"


def _mockups(tuned: Tuned) -> list[str]:
    cells = {factor.cell for factor in tuned.factors if factor.pick is not None}
    alone = [mockup for mockup in tuned.mockups if mockup.pick in tuned.picks and mockup.cell not in cells]
    if not alone:
        return []
    return [
        "",
        "Proven in one process against the library's own call; libslowpath-coll.so was not there to verify the file:",
        *table(alone),
    ]


def _factor(one: Factor) -> str:
    """Default over tuned with its interval."""
    if one.interval is None:
        return f"{1 / one.ratio:.2f}"
    low, high = one.interval
    return f"{1 / one.ratio:.2f} [{1 / high:.2f}, {1 / low:.2f}]" if low > 0 else f"{1 / one.ratio:.2f}"
