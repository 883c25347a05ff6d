# SPDX-License-Identifier: Apache-2.0
"""A finding about a protocol switch, as the lengths next to the switch show it. Pure.

Before it is refined its times are those of two lines that reach over the gap between measured lengths.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from slowpath.core.results import Finding
from slowpath.core.units import format_bytes
from slowpath.diagnose.limits.break_point import Times
from slowpath.findings.difference import Ratio, ratio_of
from slowpath.findings.slow_path import SwitchTimes
from slowpath.findings.words import ratio_words
from slowpath.slowpaths.registry import codes_refined_by, known
from slowpath.stats.inputs import Floats

BESIDE = 3  # lengths on either side of which a launch's time is the median
_FEWEST_LAUNCHES = 3


def beside(times: Times, above: float, up_to: float) -> tuple[Floats, Floats]:
    """Times of each launch just below and just above a limit, seconds; shape (launches,) each."""
    values = np.asarray(times.values)
    below, behind = np.flatnonzero(values <= above)[-BESIDE:], np.flatnonzero(values >= up_to)[:BESIDE]
    before_s: Floats = np.median(times.launch_s[:, below], axis=1)
    after_s: Floats = np.median(times.launch_s[:, behind], axis=1)
    return before_s, after_s


def at_refined_switch(finding: Finding, times: Times) -> Finding:
    """Its factor, interval, excess and sentence, measured next to the switch; another finding as it is."""
    path = known(finding.rule)
    if path is None or path.switch_text is None or finding.law is None:
        return finding
    limit = finding.law.brackets[0]
    before_s, after_s = beside(times, limit.above, limit.up_to)
    if min(before_s.size, after_s.size) < _FEWEST_LAUNCHES or not (np.isfinite(before_s) & np.isfinite(after_s)).all():
        return finding
    rising = float(np.median(after_s)) > float(np.median(before_s))
    slow_s, fast_s = (after_s, before_s) if rising else (before_s, after_s)
    ratio: Ratio = ratio_of(slow_s, fast_s, 0.0)
    low_s, high_s = float(np.median(before_s)), float(np.median(after_s))
    said = path.switch_text(
        SwitchTimes(
            above=limit.above,
            up_to=limit.up_to,
            metric=finding.metric,
            ratio=ratio_words(ratio),
            before_s=low_s,
            after_s=high_s,
        )
    )
    was = " and ".join(format_bytes(int(one)) for one in limit.first_seen or ())
    first = f". It was first seen between {was}, before it was refined" if was else ""
    return replace(
        finding,
        text=f"{said}{first}.",
        ratio=ratio.value,
        interval=ratio.interval,
        excess_s=abs(high_s - low_s),
    )


def without_switch(finding: Finding) -> Finding:
    """A finding about a switch that does not show where more lengths are measured; another finding as it is."""
    if finding.rule not in codes_refined_by("switch"):
        return finding
    seen = "More lengths, measured in between, show no switch: the time grows there and need not jump."
    return replace(finding, text=f"{finding.text} {seen}", doubts=[*finding.doubts, seen])
