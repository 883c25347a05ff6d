# SPDX-License-Identifier: Apache-2.0
"""Facts of one run, out of results.json: what slow paths look at. Pure.

`Facts` holds what any slow path may ask. What one family alone asks for is a function of its own that takes a `Facts`;
`once` keeps what several slow paths ask for.

Among the facts: processors that ranks were allowed to use, and whether some had to share one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec
from msgspec.structs import replace

from slowpath.core.cell_results import CellResult
from slowpath.core.cpu_list import parse_cpu_list
from slowpath.core.finding_results import ContrastResult
from slowpath.core.machine import Others
from slowpath.core.roles import Roles
from slowpath.core.run_results import EnvironmentResult, PlacementResult, RankPlace, RunResult, SkippedRow
from slowpath.core.shape_results import CellShapes, LaunchKinds
from slowpath.findings.difference import DECIDED, WITHOUT_USER, Place, Slowdown, slowdown


@dataclass(frozen=True)
class Processors:
    """Where ranks may run. shared: a node has fewer processors than ranks. movable: one may run on several."""

    words: str
    shared: bool
    movable: bool


def allowed(ranks: Sequence[RankPlace]) -> Processors | None:
    """None: no rank was observed."""
    if not ranks:
        return None
    words = ", ".join(f"rank {rank.rank} on {rank.cpus_allowed}" for rank in ranks)
    return Processors(words, _is_crowded(ranks), any(len(parse_cpu_list(rank.cpus_allowed)) > 1 for rank in ranks))


def _is_crowded(ranks: Sequence[RankPlace]) -> bool:
    """Whether the ranks of a node have fewer processors than there are of them."""
    by_host: dict[str, list[frozenset[int]]] = {}
    for rank in ranks:
        by_host.setdefault(rank.host, []).append(parse_cpu_list(rank.cpus_allowed))
    return any(all(sets) and len(frozenset().union(*sets)) < len(sets) for sets in by_host.values())


def crowded(placements: Sequence[PlacementResult]) -> list[PlacementResult]:
    """Placements in which ranks of a node have fewer processors than there are of them.

    [] where one of the run has enough, for then their contrast speaks, and where none asked for a core each: who asks
    for more ranks than cores knows it.
    """
    known = [placement for placement in placements if placement.observed]
    if not all(_is_crowded(one.observed) for one in known):
        return []
    return known if any(one.bind == "core" for one in known) else []


NETWORK = "network_path"
DEFAULT_EFFECT = 0.03  # minimum effect of a run that has no contrast
_Found = TypeVar("_Found")
_More = ParamSpec("_More")


@dataclass(frozen=True)
class UserState:
    """A slow state that the user's own variables force wherever the plan sets nothing.

    state: as settings name it ("single_copy_off").  variables: name -> value, as exported.  without: name of the run's
    environment that unsets them; it shows what the library does by itself.
    """

    state: str
    variables: Mapping[str, str]
    without: str


class Facts:
    """Cells, contrasts, environments and placements of one run.

    Attributes:
        every_cell, contrasts, shapes, launch_kinds, skipped: as results.json has them.
        roles: of the parameters of its cells.
        cells: by number.
        imported: whether it is made of logs, which do not say how they were launched.
    """

    def __init__(
        self,
        run: RunResult,
        cells: Sequence[CellResult],
        contrasts: Sequence[ContrastResult],
        roles: Roles,
        *,
        shapes: Sequence[CellShapes] = (),
        launch_kinds: Sequence[LaunchKinds] = (),
        skipped: Sequence[SkippedRow] = (),
        user_state: UserState | None = None,
    ) -> None:
        self.run = run
        self.every_cell = cells
        self.contrasts = contrasts
        self.roles = roles
        self.shapes, self.launch_kinds, self.skipped = shapes, launch_kinds, skipped
        self.cells: dict[int, CellResult] = {cell.cell: cell for cell in cells}
        self.imported = run.imported
        self._user_state = user_state
        self._environments = [_as_used(entry, user_state) for entry in run.environments]
        self._kept: dict[Hashable, Any] = {}

    def kept(self, key: Hashable, compute: Callable[[], _Found]) -> _Found:
        """Return what was computed for a key before; computed now where it was not."""
        if key not in self._kept:
            self._kept[key] = compute()
        found: _Found = self._kept[key]
        return found

    @cached_property
    def minimum_effect(self) -> float:
        """As the contrasts have it."""
        return max((contrast.minimum_effect for contrast in self.contrasts), default=DEFAULT_EFFECT)

    @cached_property
    def others(self) -> Others | None:
        """What other processes took of the machine just before the run; None: not looked at."""
        found = self.run.machine.get("others")
        return None if found is None else msgspec.convert(found, Others)

    @cached_property
    def control_ratio(self) -> float:
        """The largest difference, as a ratio above 1, that a decided contrast of a cell with itself shows; 1: none."""
        controls = [contrast for contrast in self.contrasts if contrast.control and contrast.verdict in DECIDED]
        return max((max(control.ratio, 1 / control.ratio) for control in controls if control.ratio), default=1.0)

    # What was compared.

    @cached_property
    def all_slowdowns(self) -> list[Slowdown]:
        """Every decided contrast beyond the minimum effect, controls left out, and those in which the user's own
        settings are the fast side: that is no slow path.
        """
        found = (slowdown(contrast, self.cells) for contrast in self.contrasts)
        return [one for one in found if one is not None and one.slow.environment != WITHOUT_USER]

    def slowdowns(self, *axes: str, phase: str) -> list[Slowdown]:
        """Decided contrasts on one of these axes with both sides in this phase. Where launches of one environment are
        of two kinds, the environment is no cause."""
        found = (one for one in self.all_slowdowns if one.axis in axes and one.slow_phase == one.fast_phase == phase)
        return [one for one in found if one.axis != "environment" or not one.of_two_kinds]

    # Where it was measured.

    def cells_of(self, experiment: str) -> list[CellResult]:
        """Cells of one experiment, with times, in their order."""
        return [cell for cell in self.every_cell if cell.experiment == experiment and cell.metrics]

    def setting(self, cell: CellResult) -> str | None:
        """Library-neutral name of its environment's state, as "network_path"; None: none was asked for."""
        entry = _of_cell(self._environments, cell)
        return entry.setting if entry else None

    def variables(self, cell: CellResult) -> Mapping[str, str]:
        """Variables that its environment sets."""
        entry = _of_cell(self._environments, cell)
        return entry.variables if entry else {}

    def stated(self, cell: CellResult) -> Mapping[str, str]:
        """Of an imported log: what its importer stated of the launch, as nodes, transport, bind."""
        entry = _of_cell(self._environments, cell)
        return (entry.stated if entry else None) or {}

    def as_found(self, cell: CellResult) -> bool:
        """Whether its environment is the library's own: nothing set and nothing unset."""
        entry = _of_cell(self._environments, cell)
        return entry is None or entry.as_found

    def is_default(self, cell: CellResult) -> bool:
        """Whether its environment is that of users who change nothing, with what they had exported before."""
        user = self._user_state
        if user is None:
            return self.as_found(cell)
        entry = _of_cell(self.run.environments, cell)
        return cell.environment != user.without and (entry is None or _is_plain(entry))

    def over_network(self, cell: CellResult) -> bool:
        """Whether its messages take the network's path, or go from one node to another."""
        return self.setting(cell) == NETWORK or len(self._hosts(cell)) > 1

    def _hosts(self, cell: CellResult) -> set[str]:
        """Nodes of the ranks under its placement; empty when no launch recorded them."""
        place = next((placement for placement in self.run.placements if placement.name == cell.placement), None)
        return {rank.host for rank in place.observed} if place else set()

    def processors(self, cell: CellResult) -> Processors | None:
        """Where its ranks may run; None: not recorded."""
        place = next((placement for placement in self.run.placements if placement.name == cell.placement), None)
        return allowed(place.observed) if place else None

    def place(self, cells: Sequence[CellResult], words: Sequence[str] = ()) -> Place:
        """Where cells are that share their MPI; a name that they do not share is None."""
        mpi = _shared([cell.mpi for cell in cells])
        environment = _shared([cell.environment for cell in cells])
        placement = _shared([cell.placement for cell in cells])
        more = [f"environment {environment}"] if environment and len(self.run.environments) > 1 else []
        more += [f"placement {placement}"] if placement and len(self.run.placements) > 1 else []
        return Place(", ".join([*words, *([mpi] if mpi else []), *more]), mpi, environment, placement)


def once(
    compute: Callable[Concatenate[Facts, _More], _Found],
) -> Callable[Concatenate[Facts, _More], _Found]:
    """Keep what a function makes of one run's facts and of further arguments, since several slow paths ask for it."""

    @wraps(compute)
    def kept(facts: Facts, /, *more: _More.args, **named: _More.kwargs) -> _Found:
        key = (compute, more, tuple(sorted(named.items())))
        return facts.kept(key, lambda: compute(facts, *more, **named))

    return kept


def _as_used(entry: EnvironmentResult, user: UserState | None) -> EnvironmentResult:
    """As slow paths see it: the state that the user's variables force holds where the plan sets nothing, unless it
    unsets them, which leaves the library's own.
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
    return next((entry for entry in entries if entry.name == cell.environment and entry.mpi in (None, cell.mpi)), None)


def _shared(names: Sequence[str | None]) -> str | None:
    """The one name that all have; None: they differ, or have none."""
    first = names[0] if names else None
    return first if all(name == first for name in names) else None
