# SPDX-License-Identifier: Apache-2.0
"""The score of many plants, for people and for programs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from slowpath.stats.modes import wilson
from slowpath.studies.plants.score import Score
from slowpath.studies.plants.trials import PlantTrial


@dataclass(frozen=True)
class Scored:
    """One trial: a score where something was planted, alarms where not; failure: why there is neither."""

    trial: PlantTrial
    wall_s: float
    score: Score | None = None
    alarms: tuple[str, ...] = ()
    failure: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """For plants.json."""
        plant = self.trial.plant
        return {
            "name": self.trial.name,
            "purpose": self.trial.purpose,
            "class": plant.kind if plant else None,
            "plant": plant.text if plant else None,
            "rule": plant.truth.rule if plant else None,
            "verdict": self.score.verdict if self.score else None,
            "why": self.score.why if self.score else None,
            "beside": list(self.score.beside) if self.score else [],
            "false_alarms": list(self.alarms),
            "failure": self.failure,
            "wall_s": self.wall_s,
        }


def line(one: Scored) -> str:
    """One trial, in one line, while the others still run."""
    what = one.trial.plant.text if one.trial.plant else one.trial.purpose
    if one.failure:
        outcome = f"failed: {one.failure}"
    elif one.score:
        beside = f"; {len(one.score.beside)} more findings" if one.score.beside else ""
        outcome = f"{one.score.verdict}: {one.score.why}{beside}"
    else:
        outcome = "; ".join(one.alarms) or "nothing named beyond the baseline"
    return f"{one.trial.name:24} {what:34} {one.wall_s:5.1f} s  {outcome}"


def table(scored: Sequence[Scored]) -> str:
    """Classes and their scores, then all plants, then clean runs."""
    kinds = dict.fromkeys(one.trial.plant.kind for one in scored if one.trial.plant)
    rows = ["class             plants  right  wrong  abstained  failed  right, 95 %"]
    for kind in [*sorted(kinds), None]:
        those = [s for s in scored if s.trial.plant and kind in (None, s.trial.plant.kind)]
        rows.append(_row(kind or "all", those))
    clean = [one for one in scored if one.trial.purpose == "clean" and one.failure is None]
    alarmed = sum(bool(one.alarms) for one in clean)
    beside = sum(len(one.score.beside) for one in scored if one.score)
    rows.append(f"clean runs: {len(clean)}, with a false alarm: {alarmed}{_share(alarmed, len(clean))}")
    rows.append(f"further findings that are true of neither plant nor machine: {beside}")
    return "\n".join(rows)


def _row(name: str, those: Sequence[Scored]) -> str:
    verdicts = [one.score.verdict if one.score else "failed" for one in those]
    counts = [verdicts.count(word) for word in ("right", "wrong", "abstained", "failed")]
    numbers = f"{len(those):6}  {counts[0]:5}  {counts[1]:5}  {counts[2]:9}  {counts[3]:6}"
    return f"{name:16}  {numbers}{_share(counts[0], len(those))}"


def _share(hits: int, trials: int) -> str:
    if trials == 0:
        return ""
    found = wilson(hits, trials)
    return f"  {100 * hits / trials:.0f} % ({100 * found.low:.0f} to {100 * found.high:.0f} %)"


def counts(scored: Sequence[Scored]) -> dict[str, int]:
    """For plants.json and the exit code."""
    verdicts = [one.score.verdict for one in scored if one.score]
    clean = [one for one in scored if one.trial.purpose == "clean" and one.failure is None]
    return {
        "planted": sum(one.trial.plant is not None for one in scored),
        "right": verdicts.count("right"),
        "wrong": verdicts.count("wrong"),
        "abstained": verdicts.count("abstained"),
        "failed": sum(one.failure is not None for one in scored),
        "clean": len(clean),
        "clean_with_false_alarms": sum(bool(one.alarms) for one in clean),
        "beside": sum(len(one.score.beside) for one in scored if one.score),
    }
