# SPDX-License-Identifier: Apache-2.0
"""What a rule may look at: cells, contrasts by axis, sweeps with the laws that they follow. Nothing is judged here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from slowpath.findings.evidence.compared import DECIDED, Cell, Compared, Contrast, from_contrast
from slowpath.findings.evidence.lines import Line, Lines
from slowpath.findings.evidence.user_state import UserState
from slowpath.findings.rule import Place
from slowpath.stats.laws.choose import MINIMUM_EFFECT

Results = Mapping[str, Any]


class Evidence:
    """results.json as rules read it. The laws of a line are chosen once, and only where a rule asks."""

    def __init__(self, results: Results, user_state: UserState | None = None) -> None:
        self.results = results
        self.user_state = user_state
        self.run: Mapping[str, Any] = results["run"]
        self.cells: dict[int, Cell] = {cell["cell"]: cell for cell in results["cells"]}
        self.contrasts: Sequence[Contrast] = results["contrasts"]
        self.imported = bool(self.run.get("imported"))

    @cached_property
    def minimum_effect(self) -> float:
        """As the contrasts have it; the laws' own where there is none."""
        return max((c["minimum_effect"] for c in self.contrasts), default=MINIMUM_EFFECT)

    @cached_property
    def control_ratio(self) -> float:
        """The largest difference, as a ratio above 1, that a decided contrast of a cell with itself shows; 1: none."""
        controls = [c for c in self.contrasts if c["control"] and c["verdict"] in DECIDED]
        return max((max(c["ratio"], 1 / c["ratio"]) for c in controls), default=1.0)

    @cached_property
    def _lines(self) -> Lines:
        return Lines(self.results["cells"], self.minimum_effect, pooled=self.imported)

    def lines(self, *covariates: str, phase: str, metrics: Iterable[str] | None = None) -> list[Line]:
        """Sweeps in which one of these covariates varies and nothing else that does not follow from it."""
        wanted = None if metrics is None else set(metrics)
        return [line for line in self._lines.along(covariates, phase) if wanted is None or line.sweep.metric in wanted]

    def line_through(self, cell: Cell, covariate: str, metric: str, phase: str) -> Line | None:
        """The line over a covariate that has a point in this cell; None where there is none."""
        lines = self.lines(covariate, phase=phase, metrics=(metric,))
        return next((line for line in lines if any(one is cell for one in line.cells)), None)

    @cached_property
    def compared(self) -> list[Compared]:
        """Every decided contrast beyond the minimum effect, controls left out, the slow side first."""
        found = (from_contrast(contrast, self.cells) for contrast in self.contrasts)
        return [one for one in found if one is not None]

    def decided(self, *axes: str, phase: str | None = None) -> list[Compared]:
        """Those on one of these axes; phase: that both sides are in it."""
        by_id = {c["id"]: c for c in self.contrasts}
        return [
            one
            for one in self.compared
            if one.contrast is not None
            and by_id[one.contrast]["axis"] in axes
            and (phase is None or one.slow_phase == one.fast_phase == phase)
        ]

    def environment(self, cell: Cell) -> Mapping[str, Any]:
        """Entry of run.environments of a cell, under its MPI; {} when the run does not say."""
        for entry in self.run.get("environments") or ():
            if entry["name"] == cell["environment"] and entry.get("mpi") in (None, cell.get("mpi")):
                found: Mapping[str, Any] = entry
                return found
        return {}

    def setting(self, cell: Cell) -> str | None:
        """The library-neutral name of its environment's state, as "network_path"; None: neither the plan nor the user's
        variables ask for one."""
        user = self._user_state_of(cell)
        if user is not None:
            return user.state
        found: str | None = None if self._without_user(cell) else self.environment(cell).get("setting")
        return found

    def variables(self, cell: Cell) -> Mapping[str, str]:
        """Variables that its environment sets; those of the user that force a state count as set."""
        user = self._user_state_of(cell)
        if user is not None:
            return user.variables
        found: Mapping[str, str] = {} if self._without_user(cell) else self.environment(cell).get("variables") or {}
        return found

    def as_found(self, cell: Cell) -> bool:
        """Whether its environment is the library's own: nothing set and nothing unset, or the user's variables taken
        away."""
        if self._without_user(cell):
            return True
        entry = self.environment(cell)
        return not (self.variables(cell) or entry.get("unset") or self.setting(cell))

    def users_own(self, cell: Cell) -> bool:
        """Whether its environment is what users have who change nothing, with what they had exported before."""
        if self._without_user(cell):
            return False
        return self._user_state_of(cell) is not None or self.as_found(cell)

    def _without_user(self, cell: Cell) -> bool:
        return self.user_state is not None and cell["environment"] == self.user_state.without

    def _user_state_of(self, cell: Cell) -> UserState | None:
        """The state that the user's variables force in it: where the plan sets nothing, they hold."""
        if self.user_state is None or self._without_user(cell):
            return None
        entry = self.environment(cell)
        return self.user_state if entry and not (entry.get("variables") or entry.get("setting")) else None

    def hosts(self, cell: Cell) -> set[str]:
        """Nodes of the ranks under its placement; empty when no launch told."""
        for placement in self.run.get("placements") or ():
            if placement["name"] == cell["placement"]:
                return {one["host"] for one in placement.get("observed") or ()}
        return set()

    def place(self, cells: Sequence[Cell], words: Sequence[str] = ()) -> Place:
        """Where cells are that share their MPI; a name that they do not share is None."""

        def shared(part: str) -> str | None:
            names = {cell.get(part) for cell in cells}
            return str(next(iter(names))) if len(names) == 1 and names != {None} else None

        mpi, environment, placement = shared("mpi"), shared("environment"), shared("placement")
        if self.imported:
            environment = None if len(cells) > 1 and environment is None else environment
        more = [f"environment {environment}"] if environment and len(self.run.get("environments") or ()) > 1 else []
        more += [f"placement {placement}"] if placement and len(self.run.get("placements") or ()) > 1 else []
        said = [*words, *([mpi] if mpi else []), *more]
        return Place(", ".join(said), mpi, environment, placement)
