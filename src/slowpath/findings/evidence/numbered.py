# SPDX-License-Identifier: Apache-2.0
"""Facts of collectives that change with the number of a call, or with that of a communicator. Times are seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slowpath.core.cell_results import CellResult
from slowpath.findings.evidence.evidence import Difference
from slowpath.findings.observation import Stayed

CALL, COMMUNICATOR = "call", "communicator"


@dataclass(frozen=True)
class Seen:
    """Where one cell changes. number: from 1; in most of its launches.  agree: launches with exactly this number.

    span: numbers over all launches that show a change.  before_s: all calls in front of it, in sum.
    """

    cell: CellResult
    number: int
    agree: int
    launches: int
    span: tuple[int, int]
    before_s: float


@dataclass(frozen=True)
class Moved:
    """The same cells under a variable of the library, which predicted the number.

    environment: its name.  variables: that it sets.  tuning: that sets the same, as mpi.tunings names it; None: none.
    seen: None: it does not change there.  within: whether the two numbers agree, to one for communicators;
    None: nothing was seen where it was predicted.  gone:
    share of the excess that is gone at the numbers where it was, with its interval; None: not known, or not asked.
    launches: of each side.
    """

    environment: str
    variables: Mapping[str, str]
    tuning: str | None
    launches: int
    predicted: int
    seen: int | None
    within: bool | None
    gone: tuple[float, float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Opening(Difference):
    """A path that opens at the n-th call of a communicator. slow_s: of a call from there until it settles, or, where
    nothing is set up, of a call before it.  fast_s: of a later one.

    opens: n.  settled: the first call that takes as long as all later ones.  before_s: of a call before n.  setup_s:
    what the calls from n until it settles take more than later ones, in sum.  pays_from: calls of a communicator from
    which on this has paid; None: never.  seen: each cell that shows it, of several collectives, lengths, arrivals.
    flat: cells of collectives that show no change.  other: number -> collectives that open there.
    """

    opens: int
    settled: int
    before_s: float
    setup_s: float
    pays_from: int | None
    seen: Sequence[Seen]
    flat: tuple[CellResult, ...]
    other: Mapping[int, tuple[str, ...]]
    moved: tuple[Moved, ...]
    stayed: tuple[Stayed, ...]


@dataclass(frozen=True, kw_only=True)
class Closing(Difference):
    """A path that is closed from the n-th live communicator on. slow_s: of its calls from there on.  fast_s: before.

    closes: n.  communicators: that were made.
    """

    closes: int
    communicators: int
    seen: Sequence[Seen]
    flat: tuple[CellResult, ...]
    moved: tuple[Moved, ...]
    stayed: tuple[Stayed, ...]
