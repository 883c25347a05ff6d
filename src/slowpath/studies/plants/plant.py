# SPDX-License-Identifier: Apache-2.0
"""What is planted, and what is therefore true. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from slowpath.core.results import Finding, Results
from slowpath.studies.plants.grammar import Axis, Clause, Place, Room, Side


@dataclass(frozen=True)
class PlantedState:
    """What is planted without a clause. axis: the one thing that a finding may name as what it depends on: "binding",
    or "setting".  setting: of the MPI library by its library-neutral name, set in the user's environment.
    text: of SLOWPATH_PLANT."""

    axis: str
    setting: str | None = None
    text: str | None = None


@dataclass(frozen=True)
class Plant:
    """kind: its class, or both with "+" between them.  clauses: of SLOWPATH_PLANT; empty: `state` alone.
    drawn_s: the cost that was drawn for its class, from which that of the clause follows; 0: of a pair or state."""

    kind: str
    clauses: tuple[Clause, ...] = ()
    state: PlantedState | None = None
    drawn_s: float = 0.0

    @property
    def preloaded(self) -> str | None:
        """SLOWPATH_PLANT; None: nothing is preloaded."""
        parts = [clause.text for clause in self.clauses]
        parts += [self.state.text] if self.state and self.state.text else []
        return "; ".join(parts) or None

    @property
    def setting(self) -> str | None:
        """Return the setting in the user's environment; None: none."""
        return self.state.setting if self.state else None

    @property
    def text(self) -> str:
        """`use=1 cost_s=2e-07 per=page; index%64=0 cost_s=0.0002`."""
        parts = [self.preloaded, f"setting {self.setting}" if self.setting else None]
        return "; ".join(part for part in parts if part)

    @cached_property
    def axes(self) -> frozenset[str]:
        """Return all that a cost of it depends on."""
        found: set[str] = {axis for clause in self.clauses for axis in clause.axes}
        return frozenset(found | ({self.state.axis} if self.state else set()))

    @property
    def rooms(self) -> frozenset[Room]:
        """Return where its time goes."""
        return frozenset(clause.room for clause in self.clauses)

    @property
    def sides(self) -> frozenset[Side]:
        """Return who pays."""
        return frozenset(side for clause in self.clauses for side in clause.sides)

    @property
    def limits(self) -> tuple[tuple[Axis, float], ...]:
        """Axis and last value before the cost changes at once."""
        return tuple(limit for clause in self.clauses for limit in clause.limits)

    def expected_s(self, places: Mapping[Side, Place]) -> float | None:
        """Return what one operation pays on average, its calls at these places; None: a clause does not say.

        Both sides leave one barrier and pay at the same time: the operation takes what the dearer one pays.
        """
        paid_s: dict[Side, float] = {}
        for clause in self.clauses:
            for side in clause.sides & frozenset(places):
                if (cost_s := clause.expected_s(places[side])) is None:
                    return None
                paid_s[side] = paid_s.get(side, 0.0) + cost_s
        return max(paid_s.values(), default=0.0)


@dataclass(frozen=True)
class PlantedDiagnosis:
    """What a diagnosis left. findings: of the whole of it.  results: of its survey."""

    findings: Sequence[Finding]
    results: Results
