# SPDX-License-Identifier: Apache-2.0
"""`Evidence` out of results.json: the one place where what rules may ask is joined to what computes it. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from slowpath.core.cell_results import CellResult
from slowpath.core.engine_description import Roles
from slowpath.core.results import ContrastResult, EnvironmentResult, Results
from slowpath.findings.evidence.evidence import (
    CLEAR_RATIO,
    WITHOUT_USER,
    ControlVariable,
    ExposedMessage,
    Fact,
    FirstUse,
    Growth,
    LateFastPath,
    LaunchLottery,
    Lengthening,
    Periodic,
    Place,
    Processors,
    ProtocolSwitch,
    Screened,
    SharedPlacement,
    Slowdown,
    SlowPeer,
    SlowPut,
    UnexpectedReceive,
    Variation,
)
from slowpath.findings.evidence.user_state import UserState
from slowpath.findings.gather import (
    breaks,
    control_variables,
    first_use,
    late_receives,
    laws,
    lengthening,
    lotteries,
    pairs,
    processors,
    screened,
    shapes,
)
from slowpath.findings.gather.contrasts import DECIDED, slowdown
from slowpath.findings.gather.facts import facts_of
from slowpath.findings.gather.lines import Line, Lines
from slowpath.findings.gather.untouched import with_touched_twin
from slowpath.findings.gather.variations import Variations
from slowpath.stats.laws.choose import MINIMUM_EFFECT
from slowpath.stats.laws.found import FittedLaw

NETWORK = "network_path"


class Gathered:
    """An `Evidence`. The laws of a line are chosen once, and only where a rule asks."""

    def __init__(
        self,
        results: Results,
        roles: Roles,
        user_state: UserState | None = None,
        experiments: Sequence[Results] = (),
        later: laws.Later | None = None,
    ) -> None:
        """Args: experiments: runs that were made to tell causes apart, the newest first.
        later: forecasts that were measured in another run.
        """
        self._later = later
        self._facts: dict[type, Sequence[Any]] = {}
        self._results = results
        self._experiments = experiments
        self._roles = roles
        self._user_state = user_state
        self.run = results.run
        self._environments = [_as_used(entry, user_state) for entry in results.run.environments]
        self.cells: dict[int, CellResult] = {cell.cell: cell for cell in results.cells}
        self.imported = results.run.imported

    @cached_property
    def minimum_effect(self) -> float:
        """As the contrasts have it; the laws' own where there is none."""
        return max((c.minimum_effect for c in self._results.contrasts), default=MINIMUM_EFFECT)

    @cached_property
    def control_ratio(self) -> float:
        """The largest difference, as a ratio above 1, that a decided contrast of a cell with itself shows; 1: none."""
        controls = [c for c in self._results.contrasts if c.control and c.verdict in DECIDED]
        return max((max(c.ratio, 1 / c.ratio) for c in controls if c.ratio), default=1.0)

    # What was compared.

    @property
    def contrasts(self) -> Sequence[ContrastResult]:
        """Of the run."""
        return self._results.contrasts

    @cached_property
    def _slowdowns(self) -> list[Slowdown]:
        """Every decided contrast beyond the minimum effect, controls left out, and those in which the user's own
        settings are the fast side: that is no slow path.
        """
        found = (slowdown(contrast, self.cells) for contrast in self._results.contrasts)
        return [one for one in found if one is not None and one.slow.environment != WITHOUT_USER]

    def slowdowns(self, *axes: str, phase: str) -> list[Slowdown]:
        return [one for one in self._slowdowns if one.axis in axes and one.slow_phase == one.fast_phase == phase]

    @cached_property
    def _variations(self) -> list[Variations]:
        return [Variations(one.cells, self._roles) for one in (*self._experiments, self._results)]

    def variation(
        self,
        cells: tuple[CellResult, CellResult],
        changes: tuple[Mapping[str, str], Mapping[str, str]],
        metric: str,
        phases: tuple[str, str],
    ) -> Variation | None:
        found = (one.find(cells, changes, metric, phases) for one in self._variations)
        return next((one for one in found if one is not None), None)

    @cached_property
    def _screened(self) -> list[Screened]:
        return [one for one in screened.screened(self._results.cells, self.minimum_effect) if one.ratio.beyond]

    def screened(self, *parameters: str) -> list[Screened]:
        return [one for one in self._screened if one.parameter in parameters and one.ratio.least > CLEAR_RATIO]

    def facts(self, kind: type[Fact]) -> Sequence[Fact]:
        if kind not in self._facts:
            self._facts[kind] = facts_of(self, kind)
        return self._facts[kind]

    # What a line shows.

    @cached_property
    def _lines(self) -> Lines:
        return Lines(self._results.cells, self.minimum_effect, self._roles, pooled=self.imported, later=self._later)

    def lines(self, *covariates: str, phase: str, metrics: Iterable[str]) -> list[Line]:
        """Sweeps in which one of these covariates varies and nothing else that does not follow from it."""
        wanted = set(metrics)
        return [line for line in self._lines.along(covariates, phase) if line.sweep.metric in wanted]

    def line_through(self, cell: CellResult, covariate: str, metric: str, phase: str) -> Line | None:
        """The line over a covariate that has a point in this cell; None where there is none."""
        lines = self.lines(covariate, phase=phase, metrics=(metric,))
        return next((line for line in lines if any(one is cell for one in line.cells)), None)

    @cached_property
    def _first_uses(self) -> tuple[FirstUse, ...]:
        left_out = with_touched_twin(self._results.cells)

        def lines(covariates: Sequence[str], metrics: Sequence[str]) -> list[Line]:
            found = self.lines(*covariates, phase="first", metrics=metrics)
            return [line for line in found if not any(cell.cell in left_out for cell in line.cells)]

        slowdowns = [one for one in self._slowdowns if one.slow.cell not in left_out]
        return first_use.first_uses(first_use.Sources(slowdowns, lines, self.minimum_effect, self.imported))

    def first_uses(self) -> tuple[FirstUse, ...]:
        return self._first_uses

    def growths(self, covariate: str, laws: Sequence[str], *, phase: str = "steady") -> list[Growth]:
        lines = self.lines(covariate, phase=phase, metrics=breaks.GROWTH_METRICS)
        return list(breaks.growths(lines, covariate, laws))

    def late_fast_paths(self) -> list[LateFastPath]:
        return breaks.late_fast_paths(self._results.cells, self.minimum_effect)

    def protocol_switches(self) -> list[ProtocolSwitch]:
        lines = self.lines(breaks.MESSAGE, phase="steady", metrics=breaks.SWITCH_METRICS)
        return list(breaks.protocol_switches(lines))

    # What cells of the same launches show side by side.

    def exposed_messages(self) -> list[ExposedMessage]:
        return pairs.exposed_messages(self._results.cells, self.minimum_effect)

    def slow_peers(self) -> list[SlowPeer]:
        return pairs.slow_peers(self._results.cells, self.minimum_effect)

    def slow_puts(self) -> list[SlowPut]:
        return pairs.slow_puts(self._results.cells, self.minimum_effect)

    def unexpected_receives(self) -> list[UnexpectedReceive]:
        return late_receives.unexpected_receives(self._results.cells, self.minimum_effect)

    def periods(self) -> list[Periodic]:
        return shapes.periods(self.cells, self._results.shapes or (), self.minimum_effect)

    def lengthenings(self) -> list[Lengthening]:
        return lengthening.lengthenings(self.cells, self._results.shapes or ())

    def launch_lotteries(self) -> list[LaunchLottery]:
        return lotteries.launch_lotteries(self.cells, self._results.launch_kinds or (), self.minimum_effect)

    def shared_placements(self) -> list[SharedPlacement]:
        return processors.shared_placements(self.run.placements, self._results.cells)

    # Laws of what contrasts differ by.

    def difference_law(self, group: Sequence[Slowdown]) -> FittedLaw | None:
        return laws.difference_law(group, self.minimum_effect)

    def over_lengths(self, one: Slowdown) -> list[Slowdown]:
        slow, fast = (laws.by_length(side, self.cells.values()) for side in (one.slow, one.fast))
        return [dataclasses.replace(one, slow=slow[length], fast=fast[length]) for length in slow if length in fast]

    def page_law(self, group: Sequence[Slowdown]) -> FittedLaw | None:
        return laws.page_law(group, self.minimum_effect)

    def law_over(self, covariate: str, one: Slowdown, names: Sequence[str]) -> FittedLaw | None:
        line = self.line_through(one.slow, covariate, one.metric, one.slow_phase)
        return line.among(laws.named(names)) if line is not None else None

    # Where it was measured.

    def cells_of(self, experiment: str) -> list[CellResult]:
        """Of one experiment, with times, in their order."""
        return [cell for cell in self._results.cells if cell.experiment == experiment and cell.metrics]

    def setting(self, cell: CellResult) -> str | None:
        entry = _of_cell(self._environments, cell)
        return entry.setting if entry else None

    def variables(self, cell: CellResult) -> Mapping[str, str]:
        entry = _of_cell(self._environments, cell)
        return entry.variables if entry else {}

    def stated(self, cell: CellResult) -> Mapping[str, str]:
        entry = _of_cell(self._environments, cell)
        return (entry.stated if entry else None) or {}

    def as_found(self, cell: CellResult) -> bool:
        entry = _of_cell(self._environments, cell)
        return entry is None or entry.as_found

    def is_default(self, cell: CellResult) -> bool:
        user = self._user_state
        if user is None:
            return self.as_found(cell)
        entry = _of_cell(self.run.environments, cell)
        return cell.environment != user.without and (entry is None or _is_plain(entry))

    def over_network(self, cell: CellResult) -> bool:
        return self.setting(cell) == NETWORK or len(self._hosts(cell)) > 1

    def _hosts(self, cell: CellResult) -> set[str]:
        """Nodes of the ranks under its placement; empty when no launch recorded them."""
        place = next((one for one in self.run.placements if one.name == cell.placement), None)
        return {one.host for one in place.observed} if place else set()

    def processors(self, cell: CellResult) -> Processors | None:
        place = next((one for one in self.run.placements if one.name == cell.placement), None)
        return processors.allowed(place.observed) if place else None

    def place(self, cells: Sequence[CellResult], words: Sequence[str] = ()) -> Place:
        mpi = _shared([cell.mpi for cell in cells])
        environment = _shared([cell.environment for cell in cells])
        placement = _shared([cell.placement for cell in cells])
        more = [f"environment {environment}"] if environment and len(self.run.environments) > 1 else []
        more += [f"placement {placement}"] if placement and len(self.run.placements) > 1 else []
        return Place(", ".join([*words, *([mpi] if mpi else []), *more]), mpi, environment, placement)

    def control_variables(self, place: Place, low: float, high: float) -> list[ControlVariable] | None:
        return control_variables.variables_near(self.run, place.mpi, place.environment, low, high)

    def ucx_protocols(self, place: Place, low: float, high: float) -> list[str]:
        return control_variables.protocol_limits(self.run, place.mpi, place.environment, low, high)


def _as_used(entry: EnvironmentResult, user: UserState | None) -> EnvironmentResult:
    """As rules see it: the state that the user's variables force holds where the plan sets nothing, unless it unsets
    them, which leaves the library's own.
    """
    if user is not None and entry.name == user.without:
        return replace(entry, unset=[], variables={}, setting=None)
    if user is not None and _is_plain(entry):
        return replace(entry, setting=user.state, variables=dict(user.variables))
    return entry


def _is_plain(entry: EnvironmentResult) -> bool:
    return not (entry.variables or entry.setting)


def _of_cell(entries: Iterable[EnvironmentResult], cell: CellResult) -> EnvironmentResult | None:
    """Entry of a cell, under its MPI; None when the run does not have it."""
    return next((one for one in entries if one.name == cell.environment and one.mpi in (None, cell.mpi)), None)


def _shared(names: Sequence[str | None]) -> str | None:
    """The one name that all have; None: they differ, or have none."""
    first = names[0] if names else None
    return first if all(name == first for name in names) else None
