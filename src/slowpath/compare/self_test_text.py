# SPDX-License-Identifier: Apache-2.0
"""The gate's self-test for a terminal: both rates with their intervals, and what they are rates of."""

from __future__ import annotations

from slowpath.compare.self_test import CAUGHT_AT_LEAST, FALSE_AT_MOST, Rate, SelfTest
from slowpath.compare.text import wrap
from slowpath.core.clean import cleaned


@cleaned
def render_self_test(found: SelfTest) -> str:
    """What `slowpath gate --self-test` prints. Ends with a newline."""
    head = "MET" if found.met else "MISSED"
    left_out = f", {found.left_out} without a value of every launch left out" if found.left_out else ""
    lines = [
        wrap(
            f"{head}: gates of {found.cells} cells, {found.launches_each} launches a side, minimum effect "
            f"{100 * found.minimum_effect:g} %, dealt out of {found.launches} launches of {found.run}{left_out}"
        ),
        _line("false alarms, nothing differs", found.false_alarms, f"at most {100 * FALSE_AT_MOST:g} %"),
        _line("undecided, nothing differs", found.undecided, ""),
        _line(
            f"caught, one cell {100 * found.slowdown:g} % slower", found.caught, f"at least {100 * CAUGHT_AT_LEAST:g} %"
        ),
        _line("false alarms, launches in order", found.in_order, "holds the drift"),
        wrap(
            f"Between launches a cell varies by {100 * found.between_ratio:.2g} % (standard deviation, median over "
            f"cells){_needed(found)}. The slowdown is planted by multiplying recorded launch values. Splits share "
            f"launches: the intervals (Wilson, 95 %) are of drawing splits from this record. Seed {found.seed}."
        ),
    ]
    return "\n".join(lines) + "\n"


def _needed(found: SelfTest) -> str:
    if found.launches_needed is None:
        return ", and a slowdown that is not above the minimum effect is never caught"
    return f"; to catch the slowdown at this spread takes about {found.launches_needed} launches a side"


def _line(what: str, rate: Rate, goal: str) -> str:
    if rate.share is None or rate.interval is None:
        return f"  {what:<34} no gate"
    low, high = rate.interval
    shown = f"{rate.count} of {rate.of}, {100 * rate.share:.3g} % [{100 * low:.3g}, {100 * high:.3g}]"
    return f"  {what:<34} {shown:<34} {goal}".rstrip()
