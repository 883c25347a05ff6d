# SPDX-License-Identifier: Apache-2.0
"""Forecast: what the laws of all findings predict is written down, then measured, in one run.

The task holds each forecast before anything is measured. Some points of each law's own sweep are measured again in the
same launches, and new places are judged against these (stats/laws/forecasts.py has why).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from slowpath.core.campaign import Campaign, CellsTable
from slowpath.core.cell_results import CellResult
from slowpath.core.results import Finding, LawForecast, LawResult, LawSource, Results
from slowpath.diagnose.places import placed, possible
from slowpath.diagnose.sides import Condition, condition, environments_of, placements_of
from slowpath.diagnose.state import Proposal, State
from slowpath.diagnose.steps.kind import StepConclusion, StepKind, unchanged
from slowpath.diagnose.tasks import ForecastEntry, ForecastTask, PredictedAnchor, PredictedPlace
from slowpath.findings.order import by_cost
from slowpath.findings.sweeps import launch_times
from slowpath.stats.inputs import Floats
from slowpath.stats.laws.forecasts import ANCHORS, ROUNDS, Anchor, seen

MOST_CELLS = 72  # in all
FEWEST_ANCHORS = 2


def propose(state: State) -> Iterator[Proposal]:
    """One run for all findings of the survey whose law says something of new places."""
    if state.tasks(ForecastTask):
        return
    entries = _entries(state)
    if entries:
        task = ForecastTask(entries=entries)
        rules = ", ".join(dict.fromkeys(entry.finding.split(":")[0] for entry in entries))
        yield Proposal(task, _campaign(task, state), f"do the laws of {rules} predict new points?")


def summary(task: ForecastTask, _: StepConclusion, after: StepConclusion) -> str:
    """`laws of SP001, SP003 held, of SP002 failed`."""
    outcomes: dict[str, list[str]] = {}
    for entry in task.entries:
        finding = after.finding(entry.finding)
        law = finding.law if finding else None
        later = any(
            forecast.kind == "later" and forecast.seen_s is not None for forecast in (law.forecasts if law else ())
        )
        word = law.predicted if law and later else "failed" if law is None else "not made"
        outcomes.setdefault(word, []).append(entry.finding.split(":")[0])
    return "; ".join(f"{word}: {', '.join(dict.fromkeys(rules))}" for word, rules in outcomes.items())


FORECAST = StepKind(ForecastTask, unchanged, summary, adds_evidence=True)


def _entries(state: State) -> list[ForecastEntry]:
    """Of the findings that cost most, as many as the run has room for."""
    found: list[ForecastEntry] = []
    done: set[LawSource] = set()
    room = MOST_CELLS
    for finding in by_cost(state.findings):
        law = finding.law
        if finding.run is not None or law is None or law.source is None or law.source in done:
            continue
        entry = _entry(finding, law, law.source, state)
        if entry is not None and len(entry.anchors) + len(entry.places) <= room:
            room -= len(entry.anchors) + len(entry.places)
            done.add(law.source)
            found.append(entry)
    return found


def _entry(finding: Finding, law: LawResult, source: LawSource, state: State) -> ForecastEntry | None:
    """None where no parameter sets what the law would be asked, the engine refuses all of it, or the sweep's own points
    can't be measured again.
    """
    cells = {cell.cell: cell for cell in state.survey.cells}
    points = [(cells[n], point) for n, point in zip(source.cells, law.drawn, strict=False) if n in cells]
    if len(points) != len(law.drawn) or len(points) < FEWEST_ANCHORS:
        return None
    ordered = sorted(points, key=lambda pair: pair[1].value_s)
    chosen = dict.fromkeys(np.linspace(0, len(ordered) - 1, ANCHORS).round().astype(int).tolist())
    anchors = [
        PredictedAnchor(
            parameters=dict(cell.parameters),
            value_s=point.value_s,
            half_ratio=point.interval[1] / point.value_s,
        )
        for cell, point in (ordered[number] for number in chosen)
    ]
    places = []
    for forecast in law.forecasts:
        if forecast.kind == "later" and forecast.seen_s is None:
            parameters = placed(_nearest(points, forecast)[0].parameters, forecast.place)
            if parameters is not None:
                places.append(PredictedPlace(parameters=parameters, forecast=forecast))
    first = ordered[0][0]
    kept = possible(first.experiment, [place.parameters for place in places], state.ranks, state.check)
    places = [place for place in places if place.parameters in kept]
    if not places:
        return None
    return ForecastEntry(finding=finding.id, source=source, like=first.cell, anchors=anchors, places=places)


def _nearest(points: Sequence[tuple[CellResult, object]], one: LawForecast) -> tuple[CellResult, object]:
    """The point of the sweep that has most of the place's message in common: its other parameters are taken over."""
    message = one.place.get("message_bytes")

    def distance(pair: tuple[CellResult, object]) -> float:
        there = pair[0].parameters.get("message_bytes", "0")
        return abs(float(there) - message) if message is not None and there.isdecimal() else 0.0

    return min(points, key=distance)


def _campaign(task: ForecastTask, state: State) -> Campaign:
    cells = {cell.cell: cell for cell in state.survey.cells}
    groups: list[CellsTable] = []
    under: list[Condition] = []
    for number, entry in enumerate(task.entries, start=1):
        like = cells[entry.like]
        here = condition(like, state.survey)
        under.append(here)
        every = [*(anchor.parameters for anchor in entry.anchors), *(place.parameters for place in entry.places)]
        groups += [
            CellsTable(f"law {number} cell {place}", like.experiment, one, [here.environment], [here.placement])
            for place, one in enumerate(every, start=1)
        ]
    return Campaign(
        name="forecast",
        title="Do the laws predict new points?",
        ranks=[state.ranks],
        rounds=ROUNDS,
        environments=environments_of(under),
        placements=placements_of(under),
        cells=groups,
        contrasts=[],
        why="Predicted before the measurement: diagnosis.json has the times in this step's task.",
    )


def later_of(task: ForecastTask, results: Results) -> Mapping[LawSource, tuple[LawForecast, ...]]:
    """What was predicted, with what this run saw."""
    found = {}
    for number, entry in enumerate(task.entries, start=1):
        every = len(entry.anchors) + len(entry.places)
        columns = [_times(results, f"law {number} cell {place}", entry.source) for place in range(1, every + 1)]
        launches = max((len(times) for times in columns), default=0)
        rows = np.full((launches, every), np.nan)
        for place, times in enumerate(columns):
            if len(times) == launches:
                rows[:, place] = times
        anchors = [Anchor(anchor.value_s, anchor.half_ratio) for anchor in entry.anchors]
        forecasts = [place.forecast for place in entry.places]
        made = seen(forecasts, anchors, rows) if launches else tuple(forecasts)
        found[entry.source] = made
    return found


def _times(results: Results, group: str, source: LawSource) -> Floats:
    """Of each launch, seconds; NaN where nothing is left of an excess; empty where it was not measured."""
    cell = next((cell for cell in results.cells if cell.group == group), None)
    entry = cell.metrics.get(source.metric) if cell else None
    if entry is None or source.phase not in entry.phases:
        return np.empty(0)
    times = np.array(launch_times(entry, source.phase), dtype=np.float64)
    if source.less_phase:
        if source.less_phase not in entry.phases:
            return np.empty(0)
        times = times - np.array(launch_times(entry, source.less_phase), dtype=np.float64)
    times[~(times > 0)] = np.nan
    return times
