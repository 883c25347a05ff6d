# SPDX-License-Identifier: Apache-2.0
"""A history for a terminal: the changes first, newest on top, then every series in one line."""

from __future__ import annotations

from slowpath.compare.history import History, Series, Shift
from slowpath.compare.text import difference, plain, wrap
from slowpath.core.clean import cleaned
from slowpath.report import format as fmt

_BARS = "_.-=+*#"  # low to high


@cleaned
def render_history(found: History) -> str:
    """What `slowpath history` prints. Ends with a newline."""
    judged = sum(one.reason is None for one in found.series)
    head = (
        f"{fmt.plural(found.runs, 'run')}, {len(found.series)} series, {judged} with enough runs to look for changes; "
        f"changes below {100 * found.minimum_effect:g} % don't count."
    )
    shifts = [(series, shift) for series in found.series for shift in series.shifts]
    machines = {tuple(series.machine) for series in found.series}
    if len(machines) > 1:
        head += f" {len(machines)} kinds of machine, which never share a series."
    shifts.sort(key=lambda one: (one[1].started, one[0].label), reverse=True)
    changes = [line for series, shift in shifts for line in _shift(series, shift)] or ["No change of level."]
    table = [wrap(line, "  ") if len(line) > 160 else f"  {line}" for line in _table(found)]
    parts = ["\n".join([wrap(head), *(wrap(why, "  left out: ") for why in found.left_out)]), "\n".join(changes)]
    return "\n\n".join([*parts, "\n".join(table)]) + "\n"


def title(series: Series, machine: bool = False) -> str:
    """What the series is of.  Args: machine: name it, since there are several."""
    where = f" [{', '.join(one for one in series.machine[:3] if one) or 'machine not stated'}]" if machine else ""
    return f"{series.label}: {fmt.metric_name(series.metric)}, {series.phase}{where}"


def shift_words(series: Series, shift: Shift) -> str:
    """`1.10x slower from 2026-01-05 (run), 10.0 us before, 11.0 us after`."""
    factor = max(shift.ratio, 1.0 / shift.ratio)
    word = "worse" if shift.worse else "better"
    values = f"{fmt.quantity(shift.before, series.unit)} before, {fmt.quantity(shift.after, series.unit)} after"
    return f"{fmt.ratio(factor)} {word} from {shift.started[:16]} on ({shift.run}), {values}"


def _shift(series: Series, shift: Shift) -> list[str]:
    sure = "" if shift.state == "change" else ": only the last run shows it; the next one decides"
    lines = [wrap(f"{title(series)}: {shift_words(series, shift)}{sure}", f"{shift.state:<10} ")]
    return lines + [wrap(difference(one), "             ") for one in shift.differences]


def _table(found: History) -> list[str]:
    rows = [("runs", "last", "noise", "history", "series")]
    several = len({tuple(series.machine) for series in found.series}) > 1
    for series in found.series:
        noise = fmt.percent(series.noise_ratio) if series.noise_ratio is not None else "?"
        last = series.points[-1]
        rows.append(
            (
                str(len(series.points)),
                fmt.quantity(last.value, series.unit, last.interval),
                noise,
                spark(series),
                title(series, several),
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    return [plain("  ".join([*(w.ljust(n) for w, n in zip(row, widths, strict=False)), row[4]])) for row in rows]


def spark(series: Series, most: int = 24) -> str:
    """The last points as characters, from the lowest to the highest of them; flat when all lie within 3 %."""
    values = [point.value for point in series.points[-most:]]
    low, high = min(values), max(values)
    if high / low < 1.03:
        return _BARS[2] * len(values)
    return "".join(_BARS[round((value - low) / (high - low) * (len(_BARS) - 1))] for value in values)
