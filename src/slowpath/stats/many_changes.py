# SPDX-License-Identifier: Apache-2.0
"""Many changes, most of which do nothing: mixes of them, and which of them make something faster. Pure.

Each change is measured alone once. Those that work and slow nothing down are then measured in mixes, each in half of
them: a mix and its complement, so that what two changes do together passes for no change (Box and Wilson 1951). Up to
HALF changes are orthogonal there (Plackett and Burman 1946); more of them are supersaturated (Lin 1993, doi
10.1080/00401706.1993.10484990). Since few changes do anything, they are found one after the other, the clearest first,
in all launches together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from slowpath.stats.inputs import Floats
from slowpath.stats.screening import hadamard

Which = NDArray[np.bool_]  # shape (launches, changes): which are on

HALF: Final = 12  # mixes; as many complements
SIGNIFICANCE: Final = 0.01  # of any false suspect, over all changes and cells
LEAST_RATIO: Final = 1.1  # without over with: less is no suspect
SLOWER_RATIO: Final = 1.25  # alone over as it is: not in any mix
FREE: Final = 6  # launches more than changes, without which nothing is concluded
_TRIES, _HUBER, _PASSES = 30, 1.345, 3
_CLIP = 2.5  # standard deviations that one launch may lie off
_ALIAS = 0.3  # length below which a change can't be distinguished from those that are in already
_QUARTER = 0.6745  # of a normal law: its median deviation over its standard deviation


@dataclass(frozen=True)
class Suspect:
    """A change that makes some cells faster. cells: those, the most first.  ratios: time without over with, of each."""

    change: int
    cells: tuple[int, ...]
    ratios: tuple[float, ...]


def mixes(changes: int, seed: int) -> Which:
    """Shape (2 HALF, changes); each change is on in half of them.  Args: seed: of what is drawn where many are."""
    if changes <= HALF:
        half = hadamard(HALF)[:, :changes]
    else:
        generator = np.random.default_rng(seed)
        columns = list(hadamard(HALF).T)
        while len(columns) < changes:
            drawn = generator.choice(np.array([-1, 1]), size=(_TRIES, HALF))
            worst = np.abs(drawn @ np.array(columns).T).max(axis=1)
            columns.append(drawn[int(np.argmin(worst))])
        half = np.array(columns).T
    both: Which = np.vstack([half, -half]) > 0
    return both


def slower_alone(on: Which, logs: Floats) -> list[int]:
    """Changes that slow down some cell by themselves, in each of their launches, so that they would hide the others.

    Args: on: of launches with at most one change.  logs: of times, shape (launches, cells); nan: not measured.
    """
    plain = logs[~on.any(axis=1)]
    usual = np.array([np.median(known) if (known := cell[~np.isnan(cell)]).size else np.nan for cell in plain.T])
    excess = logs - usual
    limit = math.log(SLOWER_RATIO)
    return [
        change
        for change in range(on.shape[1])
        if on[:, change].any() and np.nanmax(np.fmin.reduce(excess[on[:, change]]), initial=-math.inf) > limit
    ]


def suspects(on: Which, logs: Floats, significance: float = SIGNIFICANCE) -> list[Suspect]:
    """Changes that make some cell faster beyond the noise and LEAST_RATIO, the one with the largest ratio first.

    Args: on: of all launches.  logs: of times, shape (launches, cells); nan: not measured.
    """
    changes, cells = on.shape[1], logs.shape[1]
    found: dict[int, list[tuple[float, int]]] = {}
    for cell in range(cells):
        known = np.isfinite(logs[:, cell])
        there = np.flatnonzero(on[known].any(axis=0))
        if known.sum() < 4 or not there.size:
            continue
        for place, effect in _effects(on[known][:, there], logs[known, cell], significance / (changes * cells)):
            if effect < -math.log(LEAST_RATIO):
                found.setdefault(int(there[place]), []).append((math.exp(-effect), cell))
    made = []
    for change, some in found.items():
        ratios, places = zip(*sorted(some, reverse=True), strict=True)
        made.append(Suspect(change, tuple(places), tuple(ratios)))
    return sorted(made, key=lambda one: one.ratios[0], reverse=True)


def _effects(on: Which, logs: Floats, tail: float) -> list[tuple[int, float]]:
    """Changes that do anything, one added after the other, the clearest first, each with its log ratio.

    Args: tail: probability of a change that does nothing to be added.
    """
    from scipy import special

    chosen: list[int] = []
    shown = np.ones((len(on), 1))
    mixed = on[on.sum(axis=1) > 1].any(axis=0)
    is_alone = (on & ~mixed).any(axis=1)
    while True:
        solved, off = _fit(shown, logs)
        spread = _spread(off)
        free = len(logs) - shown.shape[1]
        if free < FREE or spread <= 0:
            break
        # One launch that was disturbed would speak of all changes of its mix; one that is never mixed has no other.
        kept = np.where(is_alone, off, np.clip(off, -_CLIP * spread, _CLIP * spread))
        columns = on.astype(np.float64)
        columns -= shown @ np.linalg.lstsq(shown, columns, rcond=None)[0]
        lengths = np.sqrt((columns**2).sum(axis=0))
        z = np.where(lengths > _ALIAS, (columns.T @ kept) / (spread * np.maximum(lengths, _ALIAS)), 0.0)
        best = int(np.argmax(np.abs(z)))
        if abs(float(z[best])) < float(special.stdtrit(free, 1 - tail)):
            break
        chosen.append(best)
        shown = np.column_stack([shown, on[:, best]])
    return [(change, float(solved[1 + place])) for place, change in enumerate(chosen)]


def _fit(shown: Floats, logs: Floats) -> tuple[Floats, Floats]:
    """Coefficients by least squares with Huber's weights, and what is left."""
    weights = np.ones(len(logs))
    for _ in range(_PASSES):
        root = np.sqrt(weights)
        solved = np.linalg.lstsq(shown * root[:, None], logs * root, rcond=None)[0]
        off = np.asarray(logs - shown @ solved, dtype=np.float64)
        spread = _spread(off)
        if spread <= 0:
            break
        weights = np.minimum(1.0, _HUBER * spread / np.maximum(np.abs(off), 1e-12))
    return np.asarray(solved, dtype=np.float64), off


def _spread(off: Floats) -> float:
    """Standard deviation by the median; launches that a change of their own fits exactly do not count."""
    there = np.abs(off)[np.abs(off) > 1e-9]
    return float(np.median(there)) / _QUARTER if there.size else 0.0
