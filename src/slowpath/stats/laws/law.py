# SPDX-License-Identifier: Apache-2.0
"""What a law is fitted to: points of a sweep, what was varied at each, and the median time of each launch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from slowpath.core.errors import UsageError
from slowpath.core.finding_results import LawPoint
from slowpath.core.units import format_bytes, format_time, listed
from slowpath.stats.estimate import Floats

Covariates = Mapping[str, Floats]  # name (docs/internals/statistics.md) -> its value at each point, shape (points,)


@dataclass(frozen=True)
class Sweep:
    """Points and times of one metric and phase under one setting.

    covariates:   each shape (points,).
    launch_s:     shape (launches, points): median of the launch at the point, seconds; NaN where it was not measured.
    samples:      shape (points,): over all launches.
    within_ratio: shape (points,): standard error of a launch's median, as a ratio, from the samples inside the launch;
                  needed only where there is one launch; None: not known.
    cells:        number of each point's cell in results.json; empty where the sweep is not from there.
    """

    covariates: Covariates
    launch_s: Floats
    samples: NDArray[np.int64]
    label: str = ""
    metric: str = ""
    phase: str = ""
    within_ratio: Floats | None = None
    cells: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        measured = np.isfinite(self.launch_s)
        if (
            self.launch_s.ndim != 2
            or not self.launch_s.size
            or not measured.any(axis=0).all()
            or not (self.launch_s[measured] > 0).all()
        ):
            raise UsageError("a sweep needs a time above 0 s at each point; measure it, or leave the point out")
        for values in (*self.covariates.values(), self.samples):
            if values.shape != (self.points,) or not np.isfinite(values).all():
                raise ValueError("a sweep needs a finite value at each point")

    @property
    def launches(self) -> int:
        return int(self.launch_s.shape[0])

    @property
    def points(self) -> int:
        return int(self.launch_s.shape[1])

    def varied(self) -> tuple[str, ...]:
        """Names of the covariates that are not the same at every point."""
        return tuple(name for name, values in self.covariates.items() if np.ptp(values) > 0)

    def take(self, chosen: NDArray[np.bool_]) -> Sweep:
        """The sweep at some of its points.  Raises: UsageError when none is chosen."""
        covariates = {name: values[chosen] for name, values in self.covariates.items()}
        within = None if self.within_ratio is None else self.within_ratio[chosen]
        launch_s = self.launch_s[:, chosen]
        kept = launch_s[np.isfinite(launch_s).any(axis=1)] if launch_s.size else launch_s
        cells = tuple(cell for cell, is_in in zip(self.cells, chosen, strict=False) if is_in)
        samples = self.samples[chosen]
        return replace(self, covariates=covariates, launch_s=kept, samples=samples, within_ratio=within, cells=cells)

    def describe(self, point: int) -> str:
        """Return what sets a point apart: "message_bytes=8, overalloc_bytes=1"."""
        return ", ".join(f"{name}={self.covariates[name][point]:.12g}" for name in self.varied())


# A law that was fitted, as plain numbers, and as a formula: `t = 1.20 us + 27.8 ns x pages of 4 KiB`.

Interval = tuple[float, float]
_MIB = 2**20


@dataclass(frozen=True)
class Per:
    """For each what a coefficient is paid.

    unit: in words, as in "s per 4 KiB page".  many: what a formula multiplies by, "pages of 4 KiB".
    cost: what a cost is stated for.  scale: how many of `unit` make one of `many` and of `cost`.
    page_bytes: length of the page that it is; None: it is none, or of no one length.
    """

    unit: str
    many: str
    cost: str
    scale: int = 1
    page_bytes: int | None = None


def per_byte_of(content: str) -> Per:
    """Return a byte of a length other than the message's."""
    return Per(f"byte of the {content}", f"MiB of {content}", f"MiB of the {content}", _MIB)


def per_page(page_bytes: int) -> Per:
    """Return a page of this length."""
    size = format_bytes(page_bytes)
    return Per(f"{size} page", f"pages of {size}", f"{size} page", page_bytes=page_bytes)


BYTE = Per("byte", "MiB of message", "MiB", _MIB)


@dataclass(frozen=True)
class Coefficient:
    """per: None: it is paid once. interval: None with `kind` saying why. launch_values: one a fitted launch.

    at_bytes: of a constant that holds for this length alone.  is_bound: what it is at most.
    """

    name: str
    per: Per | None
    value: float
    interval: Interval | None
    kind: str
    level: float | None
    launch_values: tuple[float, ...]
    at_bytes: int | None = None
    is_bound: bool = False

    @property
    def unit(self) -> str:
        """`s`, or `s per 4 KiB page`."""
        return f"s per {self.per.unit}" if self.per else "s"

    @property
    def excludes_zero(self) -> bool | None:
        """Whether the interval excludes 0; None without a confidence interval."""
        if self.interval is None or self.level is None:
            return None
        return self.interval[0] > 0 or self.interval[1] < 0


@dataclass(frozen=True)
class Bracket:
    """A limit: `above` is the last known value that still goes the old way, `up_to` the first one that goes the new."""

    covariate: str
    above: float
    up_to: float


@dataclass(frozen=True)
class FittedLaw:
    """The law of a sweep. name: None where no law may be named, with `refused` saying why.

    residual_ratio: root mean square over points.
    points, launches: of the sweep.  drawn: its points.
    """

    name: str | None
    formula: str | None
    coefficients: tuple[Coefficient, ...]
    brackets: tuple[Bracket, ...]
    residual_ratio: float | None
    runner_up: str | None
    refused: str | None
    points: int
    launches: int
    drawn: tuple[LawPoint, ...] = ()


def formula_words(law: FittedLaw) -> str:
    """One line: the formula with each coefficient and its interval, then the limits; or why there is no law."""
    if law.name is None:
        return f"no law: {law.refused}"
    if law.name == "segments":
        return _segments(law)
    limits = "; ".join(f"{b.covariate} above {_length(b.above)} up to {_length(b.up_to)}" for b in law.brackets)
    return f"t = {' + '.join(_term(coefficient) for coefficient in law.coefficients)}" + (
        f"; limits: {limits}" if limits else ""
    )


def _term(coefficient: Coefficient) -> str:
    """`27.8 ns [27.5, 28.1] x pages of 4 KiB`."""
    per, at_bytes = coefficient.per, coefficient.at_bytes
    where = f" at {format_bytes(at_bytes)}" if at_bytes is not None else ""
    counted = f" x {per.many}" if per else ""
    return f"{_most(coefficient)}{_time(coefficient, per.scale if per else 1)}{counted}{where}"


def _most(coefficient: Coefficient) -> str:
    return "at most " if coefficient.is_bound else ""


def _time(coefficient: Coefficient, scale: int) -> str:
    """`20.3 ns [19.4, 20.7]`: the ends of the interval in the unit of the value, where that is theirs, too."""
    if coefficient.interval is None:
        return format_time(coefficient.value * scale)
    low, high = (end * scale for end in coefficient.interval)
    half = (high - low) / 2
    value, *ends = (format_time(time_s, half) for time_s in (coefficient.value * scale, low, high))
    unit = f" {value.split()[-1]}"
    if all(end.endswith(unit) for end in ends):
        ends = [end.removesuffix(unit) for end in ends]
    return f"{value} [{', '.join(ends)}]"


def _segments(law: FittedLaw) -> str:
    """`t = 0.50 us + 95.4 us x MiB of message up to 16 KiB; 4.50 us + ... from 16 KiB + 1 B on`."""
    if not law.coefficients:
        return "; ".join(["t changes its line", *(_between(bracket) for bracket in law.brackets)])
    stretches = zip(law.coefficients[::2], law.coefficients[1::2], strict=True)
    limits = sorted(law.brackets, key=lambda bracket: bracket.above)  # a finding's own stands first
    begins = ["", *(f" from {format_bytes(int(bracket.up_to))}" for bracket in limits)]
    ends = [*(f" up to {format_bytes(int(bracket.above))}" for bracket in limits), ""]
    lines = [
        f"{_term(constant)} + {_term(each)}{begin}{end or ' on'}"
        for (constant, each), begin, end in zip(stretches, begins, ends, strict=False)
    ]
    return f"t = {'; '.join(lines)}"


def _between(bracket: Bracket) -> str:
    return f"limits: {bracket.covariate} above {_length(bracket.above)} up to {_length(bracket.up_to)}"


def cost_words(law: FittedLaw) -> str:
    """Return what a law charges: `1.73 us per 4 KiB page and 2.80 us per 64 KiB page`; its constants where it has no
    other.
    """
    terms = [coefficient for coefficient in law.coefficients if coefficient.per] or list(law.coefficients)
    return listed([_cost(coefficient) for coefficient in terms])


def _cost(coefficient: Coefficient) -> str:
    """`1.73 us [1.70, 1.76] per 4 KiB page`; bytes by the MiB."""
    per = coefficient.per
    if per is None:
        return _term(coefficient)
    return f"{_most(coefficient)}{_time(coefficient, per.scale)} per {per.cost}"


def _length(value: float) -> str:
    return format_bytes(int(value)) if value >= 1024 and value == int(value) else f"{value:g}"


# What a law is: for each of its variants, columns of numbers whose weighted sum is the time.


@dataclass(frozen=True)
class Column:
    """One term: coefficient x values, and no coefficient is below 0. per, at_bytes: of it."""

    name: str
    per: Per | None
    values: Floats  # shape (points,)
    at_bytes: int | None = None


Columns = Callable[[Covariates], Sequence[Column]]


@dataclass(frozen=True)
class Variant:
    """A law with its shape fixed: what is left are coefficients.

    searched: numbers of the shape that were chosen freely along the sweep (places of switches); they count as
    parameters.
    """

    label: str
    columns: Columns
    brackets: tuple[Bracket, ...] = ()
    searched: int = 0


@dataclass(frozen=True)
class Law:
    """name: short, unique.  formula: for people.  lacks: whether it can't be fitted to these covariates.
    variants: its shapes on this sweep.
    shape_matters: which variant holds is part of the claim, so two that can't be distinguished are refused; else
    (places of a switch) what fits as well widens the bracket.  placed: in place of variants, where these are too many
    to be tried one by one and the times tell which are worth it: (covariates, centre_s, sigma_ratio).
    along: covariates that it is about, one of which must have `fewest` values or more: its parameters, limits included,
    and 2 that could contradict them.
    """

    name: str
    formula: str
    lacks: Callable[[Covariates], bool]
    variants: Callable[[Covariates], Sequence[Variant]]
    shape_matters: bool = True
    placed: Callable[[Covariates, Floats, Floats], Sequence[Variant]] | None = None
    along: tuple[str, ...] = ()
    fewest: int = 0

    def has_too_few(self, covariates: Covariates) -> bool:
        """Return whether fewer values were swept than the law needs."""
        there = max((int(np.unique(covariates[name]).size) for name in self.along if name in covariates), default=0)
        return bool(self.along) and there < self.fewest

    def shapes(self, covariates: Covariates, centre_s: Floats, sigma_ratio: Floats) -> Sequence[Variant]:
        """The variants to try on these times, shape (points,): all of them, or those that a search has left."""
        if self.placed is not None:
            return self.placed(covariates, centre_s, sigma_ratio)
        return self.variants(covariates)


def intercept(covariates: Covariates) -> Column:
    """Return the term that every operation costs."""
    points = next(iter(covariates.values())).size
    return Column("constant", None, np.ones(points))


def varies(covariates: Covariates, name: str) -> bool:
    return name in covariates and bool(np.ptp(covariates[name]) > 0)


def is_missing(covariates: Covariates, *names: str) -> bool:
    """Return whether none of the covariates varies."""
    return not any(varies(covariates, name) for name in names)


def single(name: str, per: Per, value: Callable[[Covariates], Floats]) -> Columns:
    """a + b x value."""

    def columns(covariates: Covariates) -> Sequence[Column]:
        return [intercept(covariates), Column(name, per, value(covariates))]

    return columns
