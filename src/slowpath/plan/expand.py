# SPDX-License-Identifier: Apache-2.0
"""A campaign, an engine's description and the MPIs in use become a plan: every cell, contrast and launch.

The cells of a group are every combination of its values, spelled, labelled and keyed.
"""

from __future__ import annotations

import itertools
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from slowpath.core import engine_description
from slowpath.core.campaign import EVERY, Campaign, CellsTable, ContrastTable, EnvironmentTable, Names, scalars, wrong
from slowpath.core.engine_description import (
    CellVerdict,
    CheckCells,
    DescribedExperiment,
    EngineDescription,
    Verdicts,
    expand_parameter,
    group_labels,
    nothing_checked,
    readable_value,
    unique_labels,
)
from slowpath.core.errors import UsageError, is_not, require_distinct, unknown
from slowpath.core.plan import (
    LIBRARIES,
    PLAN_SCHEMA,
    WITNESSED_ROUNDS,
    Cell,
    Contrast,
    Environment,
    Launch,
    Placement,
    Plan,
    PlannedMpi,
    Side,
    cell_key,
)
from slowpath.experiments.registry import not_comparable
from slowpath.plan.campaign import NEEDS_RANKS, Nodes, require_distinct_in, resolve_placements
from slowpath.slowpaths.registry import find_remedy

ResolveSetting = Callable[[str], tuple[dict[str, str], str | None]]


@dataclass(frozen=True)
class MpiInUse:
    """One MPI to plan for.

    name, identity  as in PlannedMpi
    resolve         library-neutral setting -> variables, or the reason why there are none; unused where unavailable
    unavailable     why it is not there
    """

    name: str
    identity: str
    resolve: ResolveSetting
    unavailable: str | None = None

    @property
    def planned(self) -> PlannedMpi:
        """What plan.json says of it."""
        return PlannedMpi(self.name, self.identity, self.unavailable)


def absent(name: str, reason: str) -> MpiInUse:
    """An MPI that a campaign names and that is not there."""
    return MpiInUse(name, name, lambda setting: ({}, reason), reason)


def short_names(libraries: Sequence[str], identities: Sequence[str]) -> list[str]:
    """A short name for each MPI: the library's where it is the only one, else with its version, else numbered."""
    shared = Counter(libraries)
    names = [
        library if shared[library] == 1 else identity for library, identity in zip(libraries, identities, strict=True)
    ]
    return numbered(names)


def numbered(names: Sequence[str]) -> list[str]:
    """`names`, from the second of equal ones on with a number: "mpich 5.0.2", "mpich 5.0.2 (2)"."""
    seen: Counter[str] = Counter()
    result = []
    for name in names:
        seen[name] += 1
        result.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return result


def resolve_environments(tables: Sequence[EnvironmentTable], mpis: Sequence[MpiInUse]) -> list[Environment]:
    """Environments in the campaign's order: one for all MPIs, or one for each where a setting differs by library."""
    return [environment for table in tables for environment in _resolve(table, mpis)]


def _resolve(table: EnvironmentTable, mpis: Sequence[MpiInUse]) -> list[Environment]:
    if table.setting is None:
        return [Environment(table.name, dict(table.variables), unset=list(table.unset), witness=table.witness)]
    result = []
    for mpi in mpis:
        variables, reason = mpi.resolve(table.setting)
        name = mpi.name if len(mpis) > 1 else None
        unset = list(table.unset)
        result.append(Environment(table.name, dict(variables), table.setting, reason, name, unset, table.witness))
    return result


_SEED_BITS = 48  # exact in every JSON reader, which may hold numbers as doubles
_Place = tuple[str | None, str, str]  # MPI, environment, placement
_Kind = tuple[_Place, frozenset[_Place]]
Pair = tuple[str, str]  # two nodes


def order_launches(
    cells: Sequence[Cell],
    rounds: int,
    seed: int,
    witnessed: Collection[str] = (),
    pairs: Mapping[str, Pair] | None = None,
) -> list[Launch]:
    """Every launch of the run, numbered from 1; a function of its arguments alone.

    Args: witnessed: names of environments that count calls; they don't change who shares a launch with whom.
          pairs: placement -> its two nodes, of placements that run at the same time where they share none.
    """
    spans: dict[str, set[_Place]] = {}
    for cell in cells:
        if cell.skip is None and cell.environment not in witnessed:
            spans.setdefault(cell.group, set()).add(_place(cell))
    kinds: dict[_Kind, list[int]] = {}
    for cell in cells:
        if cell.skip is None:
            kinds.setdefault((_place(cell), frozenset(spans.get(cell.group, ()))), []).append(cell.cell)
    generator = random.Random(seed)
    launches: list[Launch] = []
    for round_number in range(1, rounds + 1):
        block = [kind for kind in kinds if round_number <= WITNESSED_ROUNDS or kind[0][1] not in witnessed]
        generator.shuffle(block)
        for kind, turn in _in_turns(block, pairs or {}, generator):
            inside = list(kinds[kind])
            generator.shuffle(inside)
            mpi, environment, placement = kind[0]
            launches.append(
                Launch(
                    launch=len(launches) + 1,
                    round=round_number,
                    environment=environment,
                    placement=placement,
                    cells=inside,
                    seed=generator.getrandbits(_SEED_BITS),
                    mpi=mpi,
                    turn=turn,
                )
            )
    return launches


def _in_turns(
    block: Sequence[_Kind], pairs: Mapping[str, Pair], generator: random.Random
) -> list[tuple[_Kind, int | None]]:
    """The launches of a round: those of pairs turn by turn, in the place of the first of them; all others alone."""
    alike: dict[tuple[object, ...], list[_Kind]] = {}
    for kind in block:
        (mpi, environment, placement), company = kind
        key = (mpi, environment, company) if placement in pairs else (kind,)
        alike.setdefault(key, []).append(kind)
    ordered: list[tuple[_Kind, int | None]] = []
    turn = 0
    for together in alike.values():
        if together[0][0][2] not in pairs:
            ordered.append((together[0], None))
            continue
        of = turns_of([pairs[kind[0][2]] for kind in together], generator)
        numbered = sorted(((of[pairs[kind[0][2]]], position) for position, kind in enumerate(together)))
        ordered += [(together[position], turn + number) for number, position in numbered]
        turn += 1 + max(of.values())
    return ordered


def _place(cell: Cell) -> _Place:
    return cell.mpi, cell.environment, cell.placement


def turns_of(pairs: Sequence[Pair], generator: random.Random) -> Mapping[Pair, int]:
    """Turn of each pair, from 0 on; which pairs meet in a turn is drawn."""
    nodes = sorted({node for pair in pairs for node in pair})
    generator.shuffle(nodes)
    seat = {node: number for number, node in enumerate(nodes)}
    around = len(nodes) - 1 + len(nodes) % 2  # with an odd number of nodes one of them rests in each turn
    order = list(range(around))
    generator.shuffle(order)
    return {pair: order[_meet(seat[pair[0]], seat[pair[1]], around)] for pair in pairs}


def _meet(a: int, b: int, around: int) -> int:
    """Turn in which two seats meet; the seat `around`, which an even number of nodes fills, is the one that rests."""
    if around in (a, b):
        return 2 * min(a, b) % around
    return (a + b) % around


PHASES = ("steady", "first")
MPI_AXIS = "mpi"


class GroupCells(msgspec.Struct, frozen=True):
    """Cells of one group and the experiment that they exercise. too_few: numbers of those that need more ranks."""

    name: str
    experiment: DescribedExperiment
    cells: list[Cell]
    too_few: frozenset[int] = frozenset()


def coordinates(cell: Cell) -> dict[str, str]:
    """Where a cell stands on every axis that a contrast can be along, phase excepted."""
    return {
        **({} if cell.mpi is None else {"mpi": cell.mpi}),
        "environment": cell.environment,
        "placement": cell.placement,
        "copy": str(cell.copy),
        **cell.parameters,
    }


def contrasts_of(table: ContrastTable, group: GroupCells, source: str, verdicts: Verdicts) -> list[Contrast]:
    """All contrasts of one [[contrast]] table, one for each combination of the other axes and each b.

    A contrast that speaks of an MPI is left out where this run goes without that one.

    Args: verdicts: on cells, those that the engine gave.
    Raises: UsageError if an axis, a side or a metric does not exist, or no two cells form a pair.
    """
    title = f"[[contrast]] '{table.name}'"
    try:
        _check_metric_name(table, group)
        _check_comparable(table, group)
        cells = _selected(table, group)
        a_values = _values(table.axis, scalars(table.a), group, "a")
        b_values = _values(table.axis, scalars(table.b), group, "b")
        if len(a_values) != 1:
            raise is_not(table.a, "one value", a_values[0])
        require_distinct([a_values[0], *b_values])
        pairs = [pair for b in b_values for pair in _pairs(table, cells, a_values[0], b)]
        by_number = {cell.cell: cell for cell in cells}
        for side in (side for pair in pairs for side in pair):
            _check_measured(by_number[side.cell], group.experiment, table.metric, verdicts)
    except UsageError as error:
        raise wrong(source, title, None, error) from error
    if not pairs and not (table.axis == "mpi" or "mpi" in table.where):
        raise wrong(source, title, None, f"no two cells differ in {table.axis} alone; check where, a and b")
    try:
        remedy = find_remedy(table.remedy, table.axis).name if table.remedy is not None else None
    except UsageError as error:
        raise wrong(source, title, "remedy", error) from error
    slug = re.sub(r"[^a-z0-9]+", "-", table.name.lower()).strip("-") or "contrast"
    return [
        Contrast(
            id=f"{slug}-{i}",
            group=table.name,
            question=table.question,
            axis=table.axis,
            metric=table.metric,
            a=_readable(group, table.axis, a),
            b=_readable(group, table.axis, b),
            control=table.control,
            explains=table.explains,
            remedy=remedy,
        )
        for i, (a, b) in enumerate(pairs, start=1)
    ]


def _check_metric_name(table: ContrastTable, group: GroupCells) -> None:
    metrics = {metric.name: metric for metric in group.experiment.metrics}
    times = [name for name in metrics if name.endswith("_s") and not name.endswith("_per_s")]
    if table.metric not in times:
        raise unknown("metric in seconds", table.metric, times)


def _check_comparable(table: ContrastTable, group: GroupCells) -> None:
    """A metric says itself along which axes its two sides would time unlike things."""
    why = not_comparable(group.experiment.name, table.metric, table.axis)
    if why is not None:
        raise UsageError(f"{table.metric} can't be compared along {table.axis}: {why}")


def _check_measured(cell: Cell, experiment: DescribedExperiment, name: str, verdicts: Verdicts) -> None:
    """A cell must yield the metric that it is compared by."""
    patterns = [metric.pattern or "" for metric in experiment.metrics if metric.name == name]
    if all(patterns) and cell.parameters.get("pattern", patterns[0]) not in patterns:
        raise UsageError(f"only pattern={' or '.join(patterns)} measures {name}; narrow where")
    _require_metric(cell, verdicts, name)


def _values(axis: str, written: list[str], group: GroupCells, key: str) -> list[str]:
    """`written` in the spelling of the cells' coordinates; each must exist in the group."""
    if axis == "phase":
        known = set(PHASES)
        values = written
    else:
        _check_axis(axis, group)
        known = {coordinates(cell)[axis] for cell in group.cells} | (set(LIBRARIES) if axis == "mpi" else set())
        values = _spelled(axis, written, group, key)
    for value in values:
        if value not in known:
            raise unknown(f"cell of '{group.name}' with {axis}", value, sorted(known))
    return values


def _check_axis(axis: str, group: GroupCells) -> None:
    known = list(coordinates(group.cells[0]))
    if axis not in known:
        raise unknown("axis", axis, [*known, "phase"])


def _spelled(axis: str, written: list[str], group: GroupCells, key: str) -> list[str]:
    if axis in ("mpi", "environment", "placement", "copy"):
        return written
    try:
        return expand_parameter(group.experiment.parameter(axis), written)
    except UsageError as error:
        raise UsageError(f"key {key}: {error}") from error


def _selected(table: ContrastTable, group: GroupCells) -> list[Cell]:
    """The cells that `where` leaves."""
    wanted: dict[str, list[str]] = {}
    for axis, value in table.where.items():
        key = f"where.{axis}"
        if axis == table.axis or axis == "phase":
            raise unknown("axis", axis, coordinates(group.cells[0]).keys() - {table.axis})
        _check_axis(axis, group)
        wanted[axis] = _values(axis, scalars(value), group, key)
    return [cell for cell in group.cells if all(coordinates(cell)[axis] in values for axis, values in wanted.items())]


def _pairs(table: ContrastTable, cells: list[Cell], a: str, b: str) -> Iterator[tuple[Side, Side]]:
    """Sides that differ in `axis` alone, in the order of the cells."""
    if table.axis == "phase":
        yield from ((Side(cell.cell, a, a), Side(cell.cell, b, b)) for cell in cells)
        return
    places = {tuple(coordinates(cell).items()): cell for cell in cells}
    for cell in cells:
        here = coordinates(cell)
        if here[table.axis] != a:
            continue
        other = places.get(tuple({**here, table.axis: b}.items()))
        if other is not None:
            there = coordinates(other)
            assert [axis for axis in here if here[axis] != there[axis]] == [table.axis]
            yield Side(cell.cell, table.phase, a), Side(other.cell, table.phase, b)


def _readable(group: GroupCells, axis: str, side: Side) -> Side:
    return msgspec.structs.replace(side, value=readable_value(group.experiment, axis, side.value))


def _require_metric(cell: Cell, verdicts: Verdicts, metric: str) -> None:
    """Raises UsageError where the cell does not yield the metric that it is to be compared by."""
    verdict = verdicts.get(cell.cell)
    if verdict is not None and metric not in verdict.metrics:
        raise unknown(f"metric of cell '{cell.label}'", metric, verdict.metrics)


def between_mpis(
    groups: Iterable[GroupCells], mpis: Sequence[PlannedMpi], written: Sequence[ContrastTable], verdicts: Verdicts
) -> list[Contrast]:
    """One for each cell of an MPI and the same cell of the first; none where the campaign compares MPIs itself.

    Args: groups: of cells with times.  mpis: in the order in which the user named them; the first that is there is
          side a.  written: the campaign's own tables.  verdicts: on cells, those that the engine gave.
    """
    names = [mpi.name for mpi in mpis if mpi.unavailable is None]
    if len(names) < 2 or any(table.axis == MPI_AXIS for table in written):
        return []
    return [
        contrast for group in groups for other in names[1:] for contrast in _of_group(group, names[0], other, verdicts)
    ]


def _of_group(group: GroupCells, first: str, other: str, verdicts: Verdicts) -> Iterator[Contrast]:
    name = f"{other} against {first}: {group.name}"
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    pairs = (
        (a, b, metric) for a, b in _same_cells(group.cells, first, other) if (metric := _metric(group, a, b, verdicts))
    )
    for number, (a, b, metric) in enumerate(pairs, start=1):
        yield Contrast(
            id=f"{slug}-{number}",
            group=name,
            question=f"Is {other} slower than {first} in '{group.name}'?"[:400],
            axis=MPI_AXIS,
            metric=metric,
            a=Side(a.cell, "steady", first),
            b=Side(b.cell, "steady", other),
        )


def _same_cells(cells: Sequence[Cell], first: str, other: str) -> Iterator[tuple[Cell, Cell]]:
    """Cells that differ in nothing but the MPI; second copies are for controls alone, skipped cells have no times."""
    there = {_all_but_mpi(cell): cell for cell in cells if cell.mpi == other and cell.skip is None}
    for cell in cells:
        if cell.mpi == first and cell.skip is None and cell.copy == 1 and _all_but_mpi(cell) in there:
            yield cell, there[_all_but_mpi(cell)]


def _all_but_mpi(cell: Cell) -> tuple[tuple[str, str], ...]:
    return tuple(item for item in coordinates(cell).items() if item[0] != MPI_AXIS)


def _metric(group: GroupCells, a: Cell, b: Cell, verdicts: Verdicts) -> str | None:
    """The first time that both cells yield."""
    times = _times(group.experiment, a.parameters.get("pattern"))
    known = [verdict.metrics for cell in (a, b) if (verdict := verdicts.get(cell.cell)) is not None]
    return next((name for name in times if all(name in metrics for metrics in known)), None)


def _times(experiment: DescribedExperiment, pattern: str | None) -> list[str]:
    return [
        metric.name
        for metric in experiment.metrics
        if metric.unit == "s" and (metric.pattern is None or pattern is None or metric.pattern == pattern)
    ]


def expand(
    campaign: Campaign,
    description: EngineDescription | dict[str, Any],
    mpis: Sequence[MpiInUse],
    seed: int,
    ranks: int | Sequence[int] | None = None,
    rounds: int | None = None,
    nodes: Nodes | None = None,
    check: CheckCells = nothing_checked,
) -> Plan:
    """The plan of `campaign` under one or several MPIs.

    Args: description: of the engine, decoded or as it prints it.  mpis: one or more, their names and identities
          distinct.  seed: fixes the order of launches and cells.  ranks: one number or several; these and
          rounds in place of the campaign's.
          nodes: those that the launcher can use; None: this one alone.  check: judges all cells at once.
    Raises: UsageError naming file, table and key.
    """
    if isinstance(description, dict):
        description = engine_description.decode(description)
    asked = campaign.ranks if ranks is None else [ranks] if isinstance(ranks, int) else ranks
    counts = sorted(set(asked))
    rounds = campaign.rounds if rounds is None else rounds
    if not counts or counts[0] < 1 or rounds < 1:
        raise is_not(f"{', '.join(map(str, counts))} ranks, {rounds} rounds", "1 or more of each", "2 ranks, 8 rounds")
    environments = resolve_environments(campaign.environments, mpis)
    placements = resolve_placements(campaign.placements, counts, nodes or Nodes(), campaign.source)
    counts = sorted({placement.ranks or counts[-1] for placement in placements})
    planned = [mpi.planned for mpi in mpis]
    groups = _expand_groups(campaign, description, Shared(counts, planned, environments, placements))
    cells = [cell for group in groups.values() for cell in group.cells]
    too_few = frozenset[int]().union(*(group.too_few for group in groups.values()))
    verdicts = _checked(check, [cell for cell in cells if cell.cell not in too_few], placements, counts)
    _require_accepted(cells, verdicts, campaign.source)
    return Plan(
        schema=PLAN_SCHEMA,
        campaign=campaign.name,
        title=campaign.title,
        ranks=counts[-1],
        rounds=rounds,
        seed=seed,
        minimum_effect=campaign.minimum_effect,
        environments=environments,
        placements=placements,
        cells=_with_unique_labels(cells),
        contrasts=_all_contrasts(campaign, groups, planned, verdicts),
        launches=order_launches(
            cells, rounds, seed, {e.name for e in environments if e.witness}, _at_once(campaign, placements)
        ),
        mpis=planned,
    )


def _checked(
    check: CheckCells, cells: Sequence[Cell], placements: Sequence[Placement], counts: Sequence[int]
) -> Verdicts:
    """These cells judged, each with the number of ranks that it is to have."""
    of_placement = {placement.name: placement.ranks or counts[-1] for placement in placements}
    verdicts: dict[int, CellVerdict] = {}
    for count in counts:
        mine = [cell for cell in cells if of_placement[cell.placement] == count]
        verdicts |= check(mine, count) if mine else {}
    return verdicts


def _at_once(campaign: Campaign, placements: Sequence[Placement]) -> dict[str, tuple[str, str]]:
    """Placement -> its two nodes, of those that may run while others do."""
    names = {table.name for table in campaign.placements if table.pairs and table.pairs_at_once}
    return {
        placement.name: (placement.hosts[0], placement.hosts[1])
        for placement in placements
        if placement.of in names and len(placement.hosts) == 2
    }


def _with_unique_labels(cells: list[Cell]) -> list[Cell]:
    labels = unique_labels([cell.group for cell in cells], [cell.label for cell in cells])
    return [msgspec.structs.replace(cell, label=label) for cell, label in zip(cells, labels, strict=True)]


def _all_contrasts(
    campaign: Campaign, groups: Mapping[str, GroupCells], mpis: Sequence[PlannedMpi], verdicts: Verdicts
) -> list[Contrast]:
    tables = campaign.contrasts
    witnessed = {environment.name for environment in campaign.environments if environment.witness}
    timed = {
        name: msgspec.structs.replace(group, cells=[c for c in group.cells if c.environment not in witnessed])
        for name, group in groups.items()
    }
    for table in tables:
        if not timed[table.cells].cells:
            problem = f"names '{table.cells}', which takes no times; name an environment without witness"
            raise wrong(campaign.source, f"[[contrast]] '{table.name}'", "cells", problem)
    source = campaign.source
    contrasts = [c for table in tables for c in contrasts_of(table, timed[table.cells], source, verdicts)]
    contrasts += between_mpis(timed.values(), mpis, tables, verdicts)
    _check_distinct_ids([contrast.id for contrast in contrasts], campaign.source)
    return contrasts


def _check_distinct_ids(ids: list[str], source: str) -> None:
    """Ids are names without what an anchor can't hold, so that two names may clash."""
    repeated = next((name for name, count in Counter(ids).items() if count > 1), None)
    if repeated is not None:
        raise wrong(source, "[[contrast]]", "name", f"two contrasts have the id '{repeated}'; rename one")


def _expand_groups(campaign: Campaign, description: EngineDescription, shared: Shared) -> dict[str, GroupCells]:
    """Cells of every group, numbered through from 0."""
    groups: dict[str, GroupCells] = {}
    first = 0
    for table in campaign.cells:
        groups[table.name] = expand_group(campaign, table, description, shared, first)
        first += len(groups[table.name].cells)
    return groups


def _require_accepted(cells: Sequence[Cell], verdicts: Verdicts, source: str) -> None:
    """Raises UsageError for the first refused cell, naming the campaign's file, its table and the cell."""
    for cell in cells:
        verdict = verdicts.get(cell.cell)
        if verdict is not None and verdict.reason is not None:
            raise wrong(source, f"[[cells]] '{cell.group}'", "parameters", f"{cell.label}: {verdict.reason}")


MAX_CELLS = 100_000


class Shared(msgspec.Struct, frozen=True):
    """What cells of all groups share: the MPIs, and what environments and placements stand for."""

    counts: list[int]  # of ranks, ascending
    mpis: list[PlannedMpi]
    environments: list[Environment]
    placements: list[Placement]

    def environment(self, name: str, mpi: str) -> Environment:
        """The environment of this name under `mpi`."""
        return next(e for e in self.environments if e.name == name and e.mpi in (None, mpi))

    def placement(self, name: str) -> Placement:
        """The placement of this name."""
        return next(p for p in self.placements if p.name == name)

    def ranks_of(self, placement: Placement) -> int:
        """Ranks of launches there."""
        return placement.ranks or self.counts[-1]


def expand_group(
    campaign: Campaign, table: CellsTable, description: EngineDescription, shared: Shared, first: int
) -> GroupCells:
    """Cells of one [[cells]] table, numbered from `first`.  Raises: UsageError."""
    title = f"[[cells]] '{table.name}'"
    try:
        experiment = description.experiment(table.experiment)
    except UsageError as error:
        raise wrong(campaign.source, title, "experiment", error) from error
    if shared.counts[-1] < experiment.min_ranks:
        raise wrong(campaign.source, title, "experiment", NEEDS_RANKS.format(experiment.min_ranks, shared.counts[-1]))
    axes = _axes(campaign, table, experiment, shared)
    count = math.prod(len(values) for values in axes.values()) * len(shared.mpis)
    if first + count > MAX_CELLS:
        raise wrong(campaign.source, title, None, f"makes {first + count} cells; the limit is {MAX_CELLS}")
    points = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    labels = group_labels(table.name, experiment, points)
    defaults = experiment.defaults()
    parameters = [{name: point.get(name, default) for name, default in defaults.items()} for point in points]
    numbers = itertools.count(first)
    cells = list[Cell]()
    too_few = set[int]()
    for mpi in shared.mpis:
        for point, values, label in zip(points, parameters, labels, strict=True):
            why = _why_too_few(experiment, values, shared.ranks_of(shared.placement(point["placement"])))
            number = next(numbers)
            cells.append(
                _cell(number, table, point, values, mpi_label(mpi, label, shared), mpi, shared, experiment, why)
            )
            if why is not None:
                too_few.add(number)
    if len(too_few) == len(cells):
        raise wrong(campaign.source, title, None, f"all cells are skipped: {cells[0].skip}")
    return GroupCells(table.name, experiment, cells, frozenset(too_few))


def mpi_label(mpi: PlannedMpi, label: str, shared: Shared) -> str:
    """`label`, behind the MPI's name where there are several."""
    return f"{mpi.name}, {label}" if len(shared.mpis) > 1 else label


def _axes(
    campaign: Campaign, table: CellsTable, experiment: DescribedExperiment, shared: Shared
) -> dict[str, list[str]]:
    """Every axis of the group with its values: environment, placement, parameters as written, copy."""
    title = f"[[cells]] '{table.name}'"
    axes = {
        "environment": _names(
            campaign, title, "environment", table.environment, [e.name for e in campaign.environments]
        )
    }
    named = _names(campaign, title, "placement", table.placement, [p.name for p in campaign.placements])
    axes["placement"] = [p.name for name in named for p in shared.placements if name in (p.of, p.name)]
    for name, written in table.parameters.items():
        try:
            axes[name] = expand_parameter(experiment.parameter(name), scalars(written))
        except UsageError as error:
            raise wrong(campaign.source, title, f"parameters.{name}", error) from error
    axes["copy"] = [str(copy) for copy in range(1, table.copies + 1)]
    return axes


def _names(campaign: Campaign, title: str, key: str, given: Names | None, known: list[str]) -> list[str]:
    """Names that a group of cells asks for: by default the first, with "*" all."""
    if given is None:
        return known[:1]
    if given == EVERY:
        return known
    names = [given] if isinstance(given, str) else given
    for name in names:
        if name not in known:
            raise wrong(campaign.source, title, key, unknown(key, name, known))
    require_distinct_in(names, campaign.source, title, key)
    return list(names)


def _cell(
    number: int,
    table: CellsTable,
    point: Mapping[str, str],
    parameters: dict[str, str],
    label: str,
    mpi: PlannedMpi,
    shared: Shared,
    experiment: DescribedExperiment,
    why_too_few: str | None,
) -> Cell:
    environment = shared.environment(point["environment"], mpi.name)
    placement = shared.placement(point["placement"])
    ranks = shared.ranks_of(placement)
    key = cell_key(
        table.experiment,
        parameters,
        {**environment.variables, **{f"-{name}": "" for name in environment.unset}},
        placement.bind,
        int(point["copy"]),
        ranks,
        mpi.identity,
        placement.asked,
    )
    return Cell(
        cell=number,
        key=key,
        group=table.name,
        label=label,
        experiment=table.experiment,
        parameters=parameters,
        environment=environment.name,
        placement=placement.name,
        copy=int(point["copy"]),
        skip=why_too_few or _why_skipped(environment, placement, mpi, shared),
        mpi=mpi.name,
    )


def _why_too_few(experiment: DescribedExperiment, parameters: Mapping[str, str], ranks: int) -> str | None:
    """Why so few ranks cannot run the cell: the experiment needs more, or a parameter that counts ranks names more."""
    if ranks < experiment.min_ranks:
        return NEEDS_RANKS.format(experiment.min_ranks, ranks)
    for parameter in experiment.parameters:
        value = parameters[parameter.name]
        if parameter.unit == "ranks" and value.isdecimal() and int(value) > ranks:
            return NEEDS_RANKS.format(value, ranks)
    return None


def _why_skipped(environment: Environment, placement: Placement, mpi: PlannedMpi, shared: Shared) -> str | None:
    if mpi.unavailable is not None:
        return f"{mpi.name}: {mpi.unavailable}"
    if placement.unavailable is not None:
        return f"placement {placement.name}: {placement.unavailable}"
    if environment.unavailable is None:
        return None
    under = f" under {mpi.name}" if len(shared.mpis) > 1 else ""
    return f"environment {environment.name}{under}: {environment.unavailable}"
