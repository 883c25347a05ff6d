# SPDX-License-Identifier: Apache-2.0
"""What a law is: for each of its variants, columns of numbers whose weighted sum is the time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.stats.inputs import Floats
from slowpath.stats.laws.found import BYTE, Bracket, Per
from slowpath.stats.laws.sweep import Covariates

Place = Mapping[str, float]  # one point: covariate -> value


@dataclass(frozen=True)
class Column:
    """One term: coefficient x values. per, at_bytes: of its coefficient."""

    name: str
    per: Per | None
    values: Floats  # shape (points,)
    nonnegative: bool = True  # physics says that this term can't save time
    at_bytes: int | None = None


Columns = Callable[[Covariates], Sequence[Column]]


@dataclass(frozen=True)
class Variant:
    """A law with its shape fixed: what is left are coefficients.

    searched: numbers of the shape that were chosen freely along the sweep (places of switches); they count as
    parameters. turned: where such a number is continuous, the slope of the last column by its logarithm, shape
    (points,): what is not known of it widens what the law predicts.
    """

    label: str
    columns: Columns
    brackets: tuple[Bracket, ...] = ()
    searched: int = 0
    turned: Callable[[Covariates], Floats] | None = None


@dataclass(frozen=True)
class Law:
    """name: short, unique.  formula: for people.  needs: why it can't be fitted to these covariates, or None.
    variants: its shapes on this sweep.  probes: places that tell it from others, near the ones given.
    shape_matters: which variant holds is part of the claim, so two that can't be distinguished are refused; else
    (places of a switch) what fits as well widens the bracket.  placed: in place of variants, where these are too many
    to be tried one by one and the times tell which are worth it: (covariates, centre_s, sigma_ratio).
    along: covariates that it is about, one of which must have `fewest` values or more: its parameters, limits included,
    and 2 that could contradict them.
    """

    name: str
    formula: str
    needs: Callable[[Covariates], str | None]
    variants: Callable[[Covariates], Sequence[Variant]]
    probes: Callable[[Covariates], Sequence[Place]]
    shape_matters: bool = True
    placed: Callable[[Covariates, Floats, Floats], Sequence[Variant]] | None = None
    along: tuple[str, ...] = ()
    fewest: int = 0

    def too_few(self, covariates: Covariates) -> str | None:
        """Return None when enough values were swept, else how many the law needs."""
        there = max((int(np.unique(covariates[name]).size) for name in self.along if name in covariates), default=0)
        if not self.along or there >= self.fewest:
            return None
        what = "lengths" if self.along[0].endswith("_bytes") else "values"
        return f"too few points: needs {self.fewest} {what}, has {there}"

    def shapes(self, covariates: Covariates, centre_s: Floats, sigma_ratio: Floats) -> Sequence[Variant]:
        """The variants to try on these times, shape (points,): all of them, or those that a search has left."""
        if self.placed is not None:
            return self.placed(covariates, centre_s, sigma_ratio)
        return self.variants(covariates)


def intercept(covariates: Covariates) -> Column:
    """Return the term that every operation costs."""
    points = next(iter(covariates.values())).size
    return Column("constant", None, np.ones(points))


def transfer(covariates: Covariates) -> Column:
    """Return the term that each byte of the message costs: the inverse of the bandwidth."""
    return Column("transfer", BYTE, covariates["message_bytes"])


def varies(covariates: Covariates, name: str) -> bool:
    return name in covariates and bool(np.ptp(covariates[name]) > 0)


def missing(covariates: Covariates, *names: str) -> str | None:
    """Return None when one of the covariates varies, else the reason why the law can't be fitted."""
    if any(varies(covariates, name) for name in names):
        return None
    known = [name for name in names if name in covariates]
    if known:
        return f"{known[0]} is the same at every point"
    return f"the sweep does not say {' or '.join(names)}"


def with_transfer(variants: Sequence[Variant], covariates: Covariates) -> list[Variant]:
    """Return each variant, and where the message's length varies each of them with a term for it as well."""
    if not varies(covariates, "message_bytes"):
        return list(variants)
    return [*variants, *(_plus_transfer(variant) for variant in variants)]


def _plus_transfer(variant: Variant) -> Variant:
    def columns(covariates: Covariates) -> Sequence[Column]:
        return [*variant.columns(covariates), transfer(covariates)]

    return Variant(f"{variant.label} and bytes", columns, variant.brackets, variant.searched)


def single(name: str, per: Per, value: Callable[[Covariates], Floats]) -> Columns:
    """a + b x value."""

    def columns(covariates: Covariates) -> Sequence[Column]:
        return [intercept(covariates), Column(name, per, value(covariates))]

    return columns
