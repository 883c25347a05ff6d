# SPDX-License-Identifier: Apache-2.0
"""What a law predicted: in lines, and as marks of its picture."""

from __future__ import annotations

from slowpath.core.results import LawResult
from slowpath.report.svg.law import LawMark

_OUTCOMES = {True: "held", False: "failed", None: "not decided"}
_KINDS = {"held out": "point set apart before the fit", "later": "measured afterwards"}


def forecast_lines(law: LawResult | None) -> list[str]:
    """One for each place that was measured; what failed stands first, then what was measured later."""
    seen = [forecast for forecast in (law.forecasts if law else ()) if forecast.seen_s is not None]
    ordered = sorted(seen, key=lambda forecast: (forecast.held is not False, forecast.kind != "later"))
    return [f"{forecast.text}: {_OUTCOMES[forecast.held]} ({_KINDS[forecast.kind]})" for forecast in ordered]


def marks(law: LawResult, name: str) -> list[LawMark]:
    """Of the places that lie on an axis.  Args: name: what is on it."""
    return [
        LawMark(forecast.place[name], forecast.predicted_s, forecast.interval, forecast.seen_s)
        for forecast in law.forecasts
        if name in forecast.place and forecast.seen_s is not None
    ]
