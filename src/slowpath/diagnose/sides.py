# SPDX-License-Identifier: Apache-2.0
"""Where ranks of a step's launches go, and the sides of a finding in a campaign. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from slowpath.core.campaign import EnvironmentTable, PlacementTable
from slowpath.core.cell_results import CellResult
from slowpath.core.results import ContrastResult, Finding, Results

# Where ranks of a step's launches go, and where in a sweep its cells lie.


@dataclass(frozen=True)
class LaunchPlace:
    """A placement without its name. ranks: None: as many as the campaign has.  nodes, ranks_per_node, spread: None:
    as the launcher has it.
    """

    bind: str = "core"
    ranks: int | None = None
    nodes: int | None = None
    ranks_per_node: int | None = None
    spread: str | None = None

    def named(self, name: str) -> PlacementTable:
        """Return it as a placement of a campaign."""
        return PlacementTable(name, self.bind, self.spread, self.nodes, self.ranks_per_node, ranks=self.ranks)


ANYWHERE = LaunchPlace()  # each rank bound to a core, as the launcher has them


def named_places(places: Mapping[str, LaunchPlace]) -> list[PlacementTable]:
    """Return the placements of a campaign, by their names."""
    return [place.named(name) for name, place in places.items()]


# The two sides of a finding: the slow cell that stands for it, and what it is slow against.


@dataclass(frozen=True)
class Condition:
    """Under what a cell runs: names as in its run, and what they stand for. at: the place, its binding aside."""

    environment: str
    variables: Mapping[str, str]
    unset: tuple[str, ...]
    placement: str
    bind: str
    setting: str | None = None
    at: LaunchPlace = ANYWHERE

    @property
    def place(self) -> LaunchPlace:
        """Of its launches."""
        return replace(self.at, bind=self.bind)


def environments_of(conditions: Sequence[Condition]) -> list[EnvironmentTable]:
    """Return the environments of conditions, each once."""
    by_name = {condition.environment: condition for condition in conditions}
    return [EnvironmentTable(name, under.variables, under.unset) for name, under in by_name.items()]


def placements_of(conditions: Sequence[Condition]) -> list[PlacementTable]:
    """Return the placements of conditions, each once."""
    return named_places({condition.placement: condition.place for condition in conditions})


@dataclass(frozen=True)
class Sides:
    """axis: what the two differ in; None: fast is missing, or they differ in their numbers as a law has them."""

    slow: CellResult
    slow_under: Condition
    fast: CellResult | None
    fast_under: Condition | None
    axis: str | None
    metric: str
    phase: str
    fast_phase: str


def sides_of(finding: Finding, results: Results) -> Sides | None:
    """The clearest of the finding's contrasts, the user's own slow sides first; else the extremes of its cells. None:
    it has neither.

    Args: results: of the run in which the finding was observed.
    """
    chosen = [c for c in results.contrasts if c.id in set(finding.contrasts) and c.interval and c.ratio]
    across = [c for c in chosen if c.axis != "phase"]
    if across or chosen:
        return _of_contrast(max(across or chosen, key=_clearness), results)
    return _of_cells(finding, results)


def _clearness(contrast: ContrastResult) -> tuple[bool, float]:
    """Whether users who change nothing are on its slow side, and how far its interval lies from 1."""
    low, high = contrast.interval or (0.0, float("inf"))
    return contrast.default_side == ("b" if (contrast.ratio or 0) > 1 else "a"), max(low, 1 / high)


def _of_contrast(contrast: ContrastResult, results: Results) -> Sides:
    rising = contrast.ratio is not None and contrast.ratio > 1
    slow, fast = (contrast.b, contrast.a) if rising else (contrast.a, contrast.b)
    slow_cell, fast_cell = results.cell(slow.cell), results.cell(fast.cell)
    return Sides(
        slow_cell,
        condition(slow_cell, results),
        fast_cell,
        condition(fast_cell, results),
        contrast.axis,
        contrast.metric,
        slow.phase,
        fast.phase,
    )


def _of_cells(finding: Finding, results: Results) -> Sides | None:
    metric, phase = finding.metric, finding.phase
    cells = {cell.cell: cell for cell in results.cells}
    own = [cells[n] for n in finding.cells if n in cells]
    timed = [(estimate.value, cell) for cell in own if (estimate := cell.estimate(metric, phase)) is not None]
    if not timed:
        return None
    slow_s, slow = max(timed, key=lambda pair: pair[0])
    alike = [pair for pair in timed if _message(pair[1]) == _message(slow) and pair[1] is not slow]
    fast = min(alike, key=lambda pair: pair[0], default=None)
    under = condition(slow, results)
    if fast is None or fast[0] >= slow_s:
        return Sides(slow, under, None, None, None, metric, phase, phase)
    differing = [name for name, value in slow.parameters.items() if value != fast[1].parameters.get(name)]
    axis = differing[0] if len(differing) == 1 else None
    return Sides(slow, under, fast[1], condition(fast[1], results), axis, metric, phase, phase)


def _message(cell: CellResult) -> str | None:
    return cell.parameters.get("message_bytes")


def condition(cell: CellResult, results: Results) -> Condition:
    """What the cell's environment and placement stand for in its run."""
    fitting = (e for e in results.run.environments if e.name == cell.environment and e.mpi in (None, cell.mpi))
    environment = next(fitting, None)
    at = results.run.placement_of(cell.placement)
    return Condition(
        environment=cell.environment,
        variables=dict(environment.variables) if environment else {},
        unset=tuple(environment.unset) if environment else (),
        placement=cell.placement,
        bind=(at.bind if at else None) or "core",
        setting=environment.setting if environment else None,
        at=LaunchPlace("core", at.ranks, at.nodes, at.ranks_per_node, at.spread) if at else ANYWHERE,
    )
