# SPDX-License-Identifier: Apache-2.0
"""What a law predicted: in lines, and as marks of its picture."""

from __future__ import annotations

from slowpath.core.results import LawResult
from slowpath.report.svg.law import Mark

_OUTCOMES = {True: "held", False: "failed", None: "not decided"}
_KINDS = {"held out": "point set apart before the fit", "later": "measured afterwards"}


def forecast_lines(law: LawResult | None) -> list[str]:
    """One for each place that was measured; what failed stands first, then what was measured later."""
    seen = [one for one in (law.forecasts if law else ()) if one.seen_s is not None]
    ordered = sorted(seen, key=lambda one: (one.held is not False, one.kind != "later"))
    return [f"{one.text}: {_OUTCOMES[one.held]} ({_KINDS[one.kind]})" for one in ordered]


def marks(law: LawResult, name: str) -> list[Mark]:
    """Of the places that lie on an axis.  Args: name: what is on it."""
    return [
        Mark(one.place[name], one.predicted_s, one.interval, one.seen_s)
        for one in law.forecasts
        if name in one.place and one.seen_s is not None
    ]
