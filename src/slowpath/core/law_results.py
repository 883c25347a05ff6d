# SPDX-License-Identifier: Apache-2.0
"""Laws in results.json: what a sweep follows, where its limits lie and what it predicted. Pure."""

from __future__ import annotations

from typing import Annotated, Literal

from slowpath.core.result import (
    Count,
    Interval,
    NotNegative,
    Number,
    Positive,
    Result,
    Text,
    means,
)


class LawCoefficient(Result, frozen=True, kw_only=True):
    """One term of a law."""

    name: Annotated[str, means("of the term")]
    per: Annotated[str | None, means("for each what it is paid; null: once")]
    unit: Annotated[str, means("of its value")]
    value: Annotated[Number, means("in that unit")]
    interval: Annotated[Interval | None, means("in that unit")]
    interval_kind: Annotated[str, means("how the interval was made, or why there is none")]


class LimitBracket(Result, frozen=True, kw_only=True, omit_defaults=True):
    """A limit of a law: it lies above `above` and not above `up_to`. What has a default only a diagnosis finds out."""

    covariate: Annotated[str, means("in which the limit lies")]
    above: Annotated[Number, means("last value that is known to lie before it")]
    up_to: Annotated[Number, means("first value that is known to lie beyond it")]
    rising: Annotated[bool | None, means("whether it takes longer beyond it; absent: not measured")] = None
    unclear: Annotated[bool, means("points inside show no limit")] = False
    first_seen: Annotated[Interval | None, means("above and up_to before it was refined")] = None
    confirmed: Annotated[bool, means("exact, and measured a second time")] = False
    attributed_to: Annotated[str | None, means("what moves it, in words; several with and: the lower one's")] = None
    movers: Annotated[tuple[str, ...], means("those variables one by one; absent: none")] = ()
    only_together: Annotated[bool, means("these move it only both at once")] = False
    attribution: Annotated[str | None, means("what setting that variable to another value showed")] = None

    @property
    def each_moves(self) -> tuple[str, ...]:
        """Variables any one of which moves it alone."""
        return () if self.only_together else self.movers


class LawPoint(Result, frozen=True, kw_only=True):
    """One point of the sweep that a law was fitted to."""

    place: Annotated[dict[str, Number], means("what was varied -> its value here")]
    value_s: Annotated[NotNegative, means("centre over launches, seconds")]
    interval: Annotated[
        Interval, means("95 % of the centre, seconds: two standard errors, with 1 % for the law itself")
    ]
    fitted_s: Annotated[Number | None, means("by the law, seconds; null: no law is named")]
    page_bytes: Annotated[
        Count | None, means("law `granules`: pages with which the length is mapped; null: not by the page")
    ] = None


Predicted = Literal["held", "failed", "undecided", "not made"]


class LawForecast(Result, frozen=True, kw_only=True, omit_defaults=True):
    """What a law predicted at a point of its sweep that was set apart before any law was fitted."""

    place: Annotated[dict[str, Number], means("what is varied -> its value here")]
    predicted_s: Annotated[Positive, means("by the law, seconds")]
    interval: Annotated[Interval, means("prediction interval of this place alone at 95 %, seconds")]
    joint_ratio: Annotated[Positive, means("half the interval by which all places are judged at once, as a ratio")]
    span_s: Annotated[NotNegative, means("the time that the law is about: its longest less its shortest, seconds")]
    seen_s: Annotated[Positive | None, means("centre over launches, seconds; absent: not measured")] = None
    seen_interval: Annotated[Interval | None, means("of the centre at 95 %, seconds")] = None
    held: Annotated[bool | None, means("absent: not measured, or too noisy to decide")] = None
    text: Annotated[Text, means("one line")]


class LawResult(Result, frozen=True, kw_only=True):
    """A law as a finding carries it."""

    name: Annotated[str | None, means("null: no law may be named, and refused gives the reason")]
    formula: Annotated[str | None, means("with its terms by name")]
    coefficients: Annotated[list[LawCoefficient], means("its terms")]
    brackets: Annotated[list[LimitBracket], means("where a limit lies")]
    residual_ratio: Annotated[NotNegative | None, means("relative error, root mean square over points")]
    left_out_ratio: Annotated[NotNegative | None, means("relative error at points left out of the fit")]
    runner_up: Annotated[str | None, means("the next best law")]
    refused: Annotated[str | None, means("why no law is named")]
    separating: Annotated[list[dict[str, Number]], means("points (covariate -> value) that would separate candidates")]
    points: Annotated[Count, means("that were fitted")]
    launches: Annotated[Count, means("at each point")]
    text: Annotated[Text, means("one line")]
    drawn: Annotated[tuple[LawPoint, ...], means("the points, in the order of the sweep")] = ()
    is_excess: Annotated[bool, means("times are slow minus usual")] = False
    forecasts: Annotated[tuple[LawForecast, ...], means("what it predicted, the outermost place first")] = ()
    predicted: Annotated[
        Predicted, means("what came of the forecasts; a cause rests on a law only where they held")
    ] = "not made"
