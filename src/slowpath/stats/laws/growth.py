# SPDX-License-Identifier: Apache-2.0
"""How a count or a time grows with the number of ranks p: a + b (p^e - 1) / e, a + b ln p where e is 0. Pure.

One family from logarithm (e = 0) over line (1) to square (2), so that its exponent says which it is: of p - 1 rounds e
is 1, which no line in a log-log plot gives. Counts of known algorithms are steps such as the logarithm rounded up.
Where such a formula gives each point as it is, it is the law, and nothing is fitted.
Sources: Box, Cox 1964, doi 10.1111/j.2517-6161.1964.tb00553.x; the interval is that of the profile likelihood.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from slowpath.stats.estimate import Floats

FEWEST_POINTS = 4  # a law of three numbers, and one that could contradict it
LOWEST, HIGHEST, STEP = -1.0, 3.5, 0.01
_LEVEL = 0.95
_SLOPE_CHI = 9.21  # chi^2 with two degrees of freedom, 1 in 100
_STEPS_CHI = 4.0  # by how much steps at powers of two have to fit better than a smooth curve
Formula: TypeAlias = Callable[[Floats], Floats]
Interval: TypeAlias = tuple[float, float]


def _is_power(p: Floats) -> Floats:
    found: Floats = (np.exp2(np.round(np.log2(p))) == p).astype(np.float64)
    return found


def _up(p: Floats) -> Floats:
    found: Floats = np.ceil(np.log2(p) - 1e-9)
    return found


def _down(p: Floats) -> Floats:
    found: Floats = np.floor(np.log2(p) + 1e-9)
    return found


# Words, formula, exponent. The third is what folding to a power of two of ranks costs.
_EXACT: tuple[tuple[str, Formula, float], ...] = (
    ("ceil(log2 p)", _up, 0.0),
    ("floor(log2 p)", _down, 0.0),
    ("(floor(log2 p) + 2 where p is no power of two)", lambda p: _down(p) + 2 * (1 - _is_power(p)), 0.0),
    ("p", lambda p: p, 1.0),
    ("p ceil(log2 p)", lambda p: p * _up(p), 1.0),
    ("p^2", np.square, 2.0),
)


@dataclass(frozen=True)
class PowerGrowth:
    """formula: in p.  exponent: e; None: it does not change with p.  interval: 95 %, equal ends where the formula is
    exact.  predict: p -> value and the range that the points leave.
    """

    formula: str
    is_exact: bool
    exponent: float | None
    interval: Interval | None
    predict: Callable[[float], tuple[float, Interval]]


def growth(
    ranks: Sequence[float] | Floats, values: Sequence[float] | Floats, sigma: Floats | None = None
) -> PowerGrowth:
    """The law of these points.

    Args: ranks, values: shape (points,), `FEWEST_POINTS` numbers of ranks or more.  sigma: standard error of each;
          None: they are counts.
    """
    p, y = np.asarray(ranks, dtype=np.float64), np.asarray(values, dtype=np.float64)
    exact = _exact(p, y) if sigma is None else None
    if exact is not None:
        return exact
    weights = np.ones_like(y) if sigma is None else 1.0 / sigma
    level = float(np.average(y, weights=weights**2))
    if sigma is not None and _is_constant(p, y, weights, level):
        half = 2.0 / float(np.sqrt((weights**2).sum()))
        return PowerGrowth(_number(level), False, None, None, lambda _: (level, (level - half, level + half)))
    return _fitted(p, y, weights, counts=sigma is None)


def _exact(p: Floats, y: Floats) -> PowerGrowth | None:
    """A formula that gives every point as it is."""
    if np.ptp(y) == 0:
        value = float(y[0])
        return PowerGrowth(_number(value), True, None, None, lambda _: (value, (value, value)))
    for words, formula, exponent in _EXACT:
        x = formula(p)
        if np.unique(x).size < 3:
            continue
        slope, constant = np.polyfit(x, y, 1)
        slope, constant = round(float(slope), 6), round(float(constant), 6)
        if slope > 0 and np.abs(constant + slope * x - y).max() < 1e-4:
            return PowerGrowth(
                _sum(slope, words, constant), True, exponent, (exponent, exponent), _at(formula, slope, constant)
            )
    return None


def _at(formula: Formula, slope: float, constant: float) -> Callable[[float], tuple[float, Interval]]:
    def predict(ranks: float) -> tuple[float, Interval]:
        value = constant + slope * float(formula(np.array([ranks]))[0])
        return value, (value, value)

    return predict


def _sum(slope: float, words: str, constant: float) -> str:
    term = words if slope == 1 else f"{_number(slope)} {words}"
    if constant == 0:
        return term
    return f"{term} {'+' if constant > 0 else '-'} {_number(abs(constant))}"


def _number(value: float) -> str:
    return f"{value:.4g}"


def _is_constant(p: Floats, y: Floats, weights: Floats, level: float) -> bool:
    """Whether a law with a slope and an exponent describes the values no better than chance lets it."""
    best = min(line.chi for line in _lines(p, y, weights))
    variance = max(1.0, best / max(1, p.size - 3))
    return float((((y - level) * weights) ** 2).sum()) - best <= _SLOPE_CHI * variance


def _basis(p: Floats, exponent: float) -> Floats:
    log = np.log(p)
    found: Floats = log if abs(exponent) < STEP / 2 else np.expm1(exponent * log) / exponent
    return found


@dataclass(frozen=True)
class _PowerFit:
    """The fit for one exponent. chi: weighted sum of squares. inverse: of the normal matrix."""

    exponent: float
    constant: float
    slope: float
    chi: float
    inverse: Floats

    def at(self, ranks: float, scale: float) -> tuple[float, float]:
        """Value, and its standard error in units of `scale`."""
        row = np.array([1.0, float(_basis(np.array([ranks]), self.exponent)[0])])
        return self.constant + self.slope * float(row[1]), scale * float(np.sqrt(row @ self.inverse @ row))


def _line(p: Floats, y: Floats, weights: Floats, exponent: float) -> _PowerFit:
    """Straight line over the basis, around its weighted mean: that is exact where the basis is steep."""
    x, w = _basis(p, exponent), weights**2
    total = float(w.sum())
    mean_x, mean_y = float((w * x).sum()) / total, float((w * y).sum()) / total
    spread = float((w * (x - mean_x) ** 2).sum())
    slope = float((w * (x - mean_x) * (y - mean_y)).sum()) / spread
    left = (y - mean_y - slope * (x - mean_x)) * weights
    cross = -mean_x / spread
    inverse = np.array([[1 / total - mean_x * cross, cross], [cross, 1 / spread]])
    return _PowerFit(exponent, mean_y - slope * mean_x, slope, float(left @ left), inverse)


def _fitted(p: Floats, y: Floats, weights: Floats, *, counts: bool) -> PowerGrowth:
    """Over p, or over p rounded up to a power of two where rounds are what takes the time."""
    smooth, stepped = (_lines(x, y, weights) for x in (p, np.exp2(_up(p))))
    scale = max(min(line.chi for line in stepped) / max(1, p.size - 3), 0.0 if counts else 1.0)
    gain = min(line.chi for line in smooth) - min(line.chi for line in stepped)
    if np.unique(_up(p)).size >= FEWEST_POINTS and gain > _STEPS_CHI * scale:
        return _profiled(stepped, p, "q", lambda ranks: float(np.exp2(_up(np.array([ranks]))[0])), counts=counts)
    return _profiled(smooth, p, "p", float, counts=counts)


def _lines(x: Floats, y: Floats, weights: Floats) -> list[_PowerFit]:
    return [_line(x, y, weights, float(e)) for e in np.arange(LOWEST, HIGHEST + STEP / 2, STEP)]


def _profiled(
    lines: Sequence[_PowerFit], p: Floats, name: str, place: Callable[[float], float], *, counts: bool
) -> PowerGrowth:
    from scipy import special

    best = min(lines, key=lambda line: line.chi)
    free = max(1, p.size - 3)
    # Errors are those of the values, or larger where the law leaves more.
    variance = best.chi / free if counts else max(1.0, best.chi / free)
    reach = float(special.fdtri(1, free, _LEVEL)) if counts or variance > 1 else float(special.chdtri(1, 1 - _LEVEL))
    inside = [line for line in lines if line.chi - best.chi <= reach * variance + 1e-12]
    scale = float(np.sqrt(variance))

    def predict(ranks: float) -> tuple[float, Interval]:
        x = place(ranks)
        ends = [line.at(x, scale) for line in inside]
        low, high = min(value - 2 * error for value, error in ends), max(value + 2 * error for value, error in ends)
        return best.at(x, scale)[0], (low, high)

    interval = (round(inside[0].exponent, 2), round(inside[-1].exponent, 2))
    return PowerGrowth(_words(best, name), False, round(best.exponent, 2), interval, predict)


def _words(line: _PowerFit, name: str) -> str:
    said = "" if name == "p" else " (q: p rounded up to a power of two)"
    if abs(line.exponent) < STEP / 2:
        return f"{_number(line.constant)} + {_number(line.slope)} ln {name}{said}"
    slope = line.slope / line.exponent
    constant = line.constant - slope
    return f"{_number(constant)} {'+' if slope > 0 else '-'} {_number(abs(slope))} {name}^{line.exponent:.2f}{said}"
