# SPDX-License-Identifier: Apache-2.0
"""A law as a finding carries it: plain numbers out of what `laws.choose` decided. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slowpath.stats.laws.choose import Choice
from slowpath.stats.laws.coefficient import Coefficient
from slowpath.stats.laws.law import Bracket


@dataclass(frozen=True)
class LawFound:
    """name: None where no law may be named, with `refused` saying why. residual_ratio: root mean square over points.
    separating: points that would tell the candidates apart.  covariates: what varied.
    """

    name: str | None
    formula: str | None
    coefficients: tuple[Coefficient, ...]
    brackets: tuple[Bracket, ...]
    residual_ratio: float | None
    left_out_ratio: float | None
    runner_up: str | None
    refused: str | None
    separating: tuple[Mapping[str, float], ...]
    points: int
    launches: int

    def as_dict(self) -> dict[str, Any]:
        """docs/reference/findings.md."""
        return {
            "name": self.name,
            "formula": self.formula,
            "coefficients": [_coefficient(one) for one in self.coefficients],
            "brackets": [{"covariate": b.covariate, "above": b.above, "up_to": b.up_to} for b in self.brackets],
            "residual_ratio": self.residual_ratio,
            "left_out_ratio": self.left_out_ratio,
            "runner_up": self.runner_up,
            "refused": self.refused,
            "separating": [dict(place) for place in self.separating],
            "points": self.points,
            "launches": self.launches,
        }


def _coefficient(one: Coefficient) -> dict[str, Any]:
    return {
        "name": one.name,
        "per": one.unit.removeprefix("s per ") if one.unit != "s" else None,
        "unit": one.unit,
        "value": one.value,
        "interval": list(one.interval) if one.interval else None,
        "interval_kind": one.kind,
    }


def law_found(choice: Choice, points: int, launches: int) -> LawFound:
    """Args: points, launches: of the sweep that was fitted."""
    winner, runner_up = choice.winner, choice.runner_up
    return LawFound(
        name=winner.name if winner else None,
        formula=winner.law.formula if winner else None,
        coefficients=winner.coefficients if winner else (),
        brackets=winner.brackets if winner else (),
        residual_ratio=winner.rms_ratio if winner else None,
        left_out_ratio=winner.left_out_ratio if winner else None,
        runner_up=runner_up.name if runner_up else None,
        refused=choice.refused,
        separating=tuple(point.place for point in choice.separating),
        points=points,
        launches=launches,
    )
