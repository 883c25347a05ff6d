# SPDX-License-Identifier: Apache-2.0
"""Facts of collectives that a contrast alone does not have: the same under other settings, cliffs along lengths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slowpath.core.cell_results import CellResult
from slowpath.findings.evidence.evidence import Difference
from slowpath.findings.observation import Stayed

CLOSED = "collectives_never_open"  # of mpi.settings: the library's fast path for collectives stays closed
Share = tuple[float, float, float]  # value and interval


@dataclass(frozen=True)
class Under:
    """Both sides of a decided contrast in another environment of the run, which sets one state of the library.

    gone: share of the excess that is gone when the slow side has that state.  lost: share of it that the fast side
    takes on in that state.  None: not measured.  remedy: of the table, that sets the same; None: none.  length: of the
    messages, in words.  stayed: what the remedy is not about, with and without it.
    """

    contrast: str
    environment: str
    setting: str | None
    variables: Mapping[str, str]
    remedy: str | None
    gone: Share | None
    lost: Share | None
    launches: int
    length: str = ""
    stayed: tuple[Stayed, ...] = ()


@dataclass(frozen=True)
class Toggled:
    """A decided contrast of collectives, as a remedy that leads from its slow to its fast side, in the same rounds.

    removed: share of the excess that is gone with it.  stayed: of collectives that were chosen beforehand, since they
    have no fast path to lose: the same change of the same length, and the path kept closed; (): not measured.
    """

    contrast: str
    removed: Share
    launches: int
    stayed: tuple[Stayed, ...]


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
