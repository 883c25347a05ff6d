# SPDX-License-Identifier: Apache-2.0
"""The score of many plants, for people and for programs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from slowpath.core.results import Finding
from slowpath.stats.modes import wilson
from slowpath.studies.plants.score import PLACES, VERDICTS, Score
from slowpath.studies.plants.trials import PlantTrial

MARKS = ("law", "limit", "explanation")


@dataclass(frozen=True)
class Forecasts:
    """The forecasts of the laws of all findings that were measured later: how many were seen within the predicted
    interval.
    """

    within: int
    measured: int


NO_FORECASTS = Forecasts(0, 0)


def forecasts_of(findings: Iterable[Finding]) -> Forecasts:
    """Points that were held out of the fit are no forecasts: they were measured before."""
    seen = [
        (forecast.interval, forecast.seen_s)
        for finding in findings
        for forecast in (finding.law.forecasts if finding.law else ())
        if forecast.kind == "later" and forecast.seen_s is not None
    ]
    return Forecasts(sum(low <= value <= high for (low, high), value in seen), len(seen))


@dataclass(frozen=True)
class Scored:
    """One trial: a score where something was planted, alarms where not; failure: why there is neither."""

    trial: PlantTrial
    wall_s: float
    score: Score | None = None
    alarms: tuple[str, ...] = ()
    forecasts: Forecasts = NO_FORECASTS
    failure: str | None = None

    @property
    def kind(self) -> str | None:
        """The class of its plant; of two at once "pairs"."""
        plant = self.trial.plant
        return None if plant is None else "pairs" if "+" in plant.kind else plant.kind

    def as_dict(self) -> dict[str, Any]:
        """Return the trial for plants.json."""
        plant, score = self.trial.plant, self.score
        return {
            "name": self.trial.name,
            "purpose": self.trial.purpose,
            "class": plant.kind if plant else None,
            "plant": plant.text if plant else None,
            "depends": sorted(plant.axes) if plant else [],
            "verdict": score.verdict if score else None,
            "why": score.why if score else None,
            "found": score.found if score else None,
            **{name: getattr(score, name) if score else None for name in MARKS},
            "place": score.place if score else None,
            "beside": list(score.beside) if score else [],
            "false": list(score.false) if score else [],
            "false_alarms": list(self.alarms),
            "forecasts": [self.forecasts.within, self.forecasts.measured],
            "failure": self.failure,
            "wall_s": self.wall_s,
        }


def line(trial: Scored) -> str:
    """One trial, in one line, while the others still run."""
    what = trial.trial.plant.text if trial.trial.plant else trial.trial.purpose
    if trial.failure:
        outcome = f"failed: {trial.failure}"
    elif trial.score:
        beside = f"; {len(trial.score.beside)} more findings" if trial.score.beside else ""
        outcome = f"{trial.score.verdict}, {_where(trial.score)}: {trial.score.why}{beside}"
    else:
        outcome = "; ".join(trial.alarms) or "nothing named beyond the baseline"
    return f"{trial.trial.name:24} {what:34} {trial.wall_s:5.1f} s  {outcome}"


def table(scored: Sequence[Scored]) -> str:
    """Classes and their verdicts, then all plants, what was claimed of them, then clean runs."""
    heads = "  ".join(f"{word:>6}" for word in VERDICTS)
    rows = [f"class             plants  {heads}  failed  right or honest, 95 %"]
    kinds = sorted({trial.kind for trial in scored if trial.kind})
    for kind in [*kinds, None]:
        rows.append(_row(kind or "all", [s for s in scored if s.kind and kind in (None, s.kind)]))
    found = shares(scored)
    rows += [f"{name}: {share['of']} of {share['out_of']}{_percent(share)}" for name, share in found.items()]
    beside = sum(len(trial.score.beside) for trial in scored if trial.score)
    false = sum(len(trial.score.false) for trial in scored if trial.score)
    rows.append(f"findings that are neither the plant's nor the clean machine's: {beside}, in first lines {false}")
    return "\n".join(rows)


def _where(score: Score) -> str:
    return {"first lines": "in the first lines", "page": "on the page"}.get(score.place, score.place)


def _row(name: str, those: Sequence[Scored]) -> str:
    verdicts = [trial.score.verdict if trial.score else "failed" for trial in those]
    numbers = "  ".join(f"{verdicts.count(word):>6}" for word in (*VERDICTS, "failed"))
    good = sum(word in ("right", "honest") for word in verdicts)
    asked = sum(word not in ("below", "failed") for word in verdicts)
    return f"{name:16}  {len(those):6}  {numbers}{_percent(_share(good, asked))}"


def shares(scored: Sequence[Scored]) -> dict[str, dict[str, Any]]:
    """The scores, each with Wilson's interval at 95 %: found, of the plants that cost enough to be seen; law,
    limit and explanation, how many of those that are claimed are right; and clean runs with a false alarm."""
    asked = [trial.score for trial in scored if trial.score and trial.score.verdict != "below"]
    clean = [trial for trial in scored if trial.trial.purpose == "clean" and trial.failure is None]
    result = {"found": _share(sum(score.found for score in asked), len(asked))}
    for place in PLACES:
        result[f"in the verdict: {place}"] = _share(sum(score.place == place for score in asked), len(asked))
    for name in MARKS:
        claimed = [getattr(score, name) for score in asked if getattr(score, name) != "open"]
        result[f"{name} right where one is claimed"] = _share(claimed.count("right"), len(claimed))
    result["nothing false in the first lines"] = _share(sum(not score.false for score in asked), len(asked))
    result["without a wrong word"] = _share(sum(score.verdict != "wrong" for score in asked), len(asked))
    result["clean runs with a false alarm"] = _share(sum(bool(trial.alarms) for trial in clean), len(clean))
    seen = [trial.forecasts for trial in scored]
    result["forecasts within their interval"] = _share(sum(f.within for f in seen), sum(f.measured for f in seen))
    return result


def _share(hits: int, trials: int) -> dict[str, Any]:
    interval = wilson(hits, trials) if trials else None
    return {"of": hits, "out_of": trials, "interval": [interval.low, interval.high] if interval else None}


def _percent(share: dict[str, Any]) -> str:
    if share["interval"] is None:
        return ""
    low, high = share["interval"]
    return f"  {100 * share['of'] / share['out_of']:.0f} % ({100 * low:.0f} to {100 * high:.0f} %)"


def counts(scored: Sequence[Scored]) -> dict[str, int]:
    """Return the counts for plants.json and the exit code."""
    verdicts = [trial.score.verdict for trial in scored if trial.score]
    clean = [trial for trial in scored if trial.trial.purpose == "clean" and trial.failure is None]
    return {
        "planted": sum(trial.trial.plant is not None for trial in scored),
        **{word: verdicts.count(word) for word in VERDICTS},
        "failed": sum(trial.failure is not None for trial in scored),
        "clean": len(clean),
        "clean_with_false_alarms": sum(bool(trial.alarms) for trial in clean),
        "beside": sum(len(trial.score.beside) for trial in scored if trial.score),
    }
