# SPDX-License-Identifier: Apache-2.0
"""What a law is fitted to: points of a sweep, what was varied at each, and the median time of each launch."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from slowpath.core.errors import UsageError
from slowpath.stats.inputs import Floats

Covariates = Mapping[str, Floats]  # name (docs/internals/statistics.md) -> its value at each point, shape (points,)


@dataclass(frozen=True)
class Sweep:
    """Points and times of one metric and phase under one setting.

    covariates:   each shape (points,).
    launch_s:     shape (launches, points): median of the launch at the point, seconds; NaN where it was not measured.
    samples:      shape (points,): over all launches.
    within_ratio: shape (points,): standard error of a launch's median, as a ratio, from the samples inside the launch;
                  needed only where there is one launch; None: not known.
    less_phase:   of the same cells, whose time was taken off; empty: none was.
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
    less_phase: str = ""

    def __post_init__(self) -> None:
        if self.launch_s.ndim != 2 or 0 in self.launch_s.shape:
            raise UsageError(
                f"a sweep needs times of shape (launches, points), not {self.launch_s.shape}; measure first"
            )
        measured = np.isfinite(self.launch_s)
        if not measured.any(axis=0).all():
            raise UsageError("a sweep holds a point that no launch measured; leave that point out")
        if not (self.launch_s[measured] > 0).all():
            raise UsageError("a sweep has a time that is not above 0 s; leave out values below the clock's step")
        for name, values in {**self.covariates, "samples": self.samples}.items():
            if values.shape != (self.points,) or not np.isfinite(values).all():
                raise UsageError(f"a sweep of {self.points} points needs as many finite values of '{name}'")

    @property
    def identity(self) -> Hashable:
        """The same for two sweeps of the same numbers."""
        arrays = {**self.covariates, "launch_s": self.launch_s, "samples": self.samples, "within": self.within_ratio}
        numbers = tuple((name, None if array is None else array.tobytes()) for name, array in arrays.items())
        return numbers, self.launch_s.shape, self.label, self.metric, self.phase, self.cells

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


def make_sweep(
    covariates: Mapping[str, Sequence[float] | Floats],
    launch_s: Sequence[Sequence[float]] | Floats,
    *,
    label: str = "",
) -> Sweep:
    """A sweep from plain lists; `launch_s` as in Sweep.  Raises: UsageError."""
    times: Floats = np.atleast_2d(np.asarray(launch_s, dtype=np.float64))
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in covariates.items()}
    counts = np.isfinite(times).sum(axis=0)
    return Sweep(arrays, times, counts.astype(np.int64), label)
