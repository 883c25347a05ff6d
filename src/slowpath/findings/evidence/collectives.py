# SPDX-License-Identifier: Apache-2.0
"""Facts of collectives that a contrast alone does not have: the same under other settings, cliffs along lengths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slowpath.core.cell_results import CellResult
from slowpath.findings.evidence.evidence import Difference

Share = tuple[float, float, float]  # value and interval


@dataclass(frozen=True)
class Under:
    """Both sides of a decided contrast in another environment of the run, which sets one state of the library.

    gone: share of the excess that is gone when the slow side has that state.  lost: share of it that the fast side
    takes on in that state.  None: not measured.  remedy: of the table, that sets the same; None: none.
    """

    contrast: str
    environment: str
    setting: str | None
    variables: Mapping[str, str]
    remedy: str | None
    gone: Share | None
    lost: Share | None
    launches: int


@dataclass(frozen=True)
class Same:
    """Contrasts of one axis and its two values that are not decided, or within the minimum effect: what stayed."""

    axis: str
    values: tuple[str, str]
    mpi: str | None
    environment: str
    placement: str
    collective: str
    length: int
    ratio: float


@dataclass(frozen=True, kw_only=True)
class Cliff(Difference):
    """A length against a shorter or longer one. slow_s: of `pieces` of `length` where pieces > 1.

    shorter: the slow one is shorter than the fast one: it would be faster with bytes added.  pieces: else how many
    messages of the fast length make the slow one.  fast_s: of all of them.  faults: further page faults of a call.
    pages: of the slow message.  under: the same with what malloc frees kept; None: not measured.  cells: of the line.
    """

    collective: str
    shorter: bool
    pieces: int
    faults: float | None
    pages: float
    under: Under | None
    flat: tuple[tuple[str, float], ...]
    cells: tuple[CellResult, ...]
