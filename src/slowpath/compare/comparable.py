# SPDX-License-Identifier: Apache-2.0
"""Doubts that two runs are comparable: what must be equal before a ratio between them can be attributed to code. Pure.

hardware    processor model, processors, those the run may use, memory, GPUs
mpi         library, version, and the line by which the library names itself
engine      the build that measured; another build measures otherwise
placement   nodes, ranks, binding, and whether ranks were found where they were asked to be
settings    variables of the campaign's environments
incomplete  launches or cells that one side lacks, or whose messages were wrong

Names of hosts, kernels, dates and the user's own variables are listed by `facts` and cause no doubt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

import msgspec

from slowpath.compare.facts import engine_build, mpi_identity
from slowpath.compare.pairs import CellPair
from slowpath.compare.read import environment_of, mpi_of, placement_of
from slowpath.compare.uncompared import Uncompared
from slowpath.core.cell_results import CellResult
from slowpath.core.cpu_list import count_cpus
from slowpath.core.machine_kind import gpus, is_stated, unlike
from slowpath.core.results import EnvironmentResult, PlacementResult, Results, RunResult

ACCEPTABLE: Final = ("hardware", "mpi", "engine", "placement", "settings", "incomplete")
MOST_NAMED = 3
Fact = TypeVar("Fact")


class Doubt(msgspec.Struct, frozen=True):
    """A reason why a comparison can't be decided. `kind` is one of ACCEPTABLE; `accepted`: the user judges anyway."""

    kind: str
    reason: str
    accepted: bool = False


def doubts(a: Results, b: Results, pairs: Sequence[CellPair], uncompared: Sequence[Uncompared]) -> list[Doubt]:
    """Return all doubts in the order of ACCEPTABLE.  Args: pairs: the pairs of cells that are compared."""
    found: list[Doubt] = []
    for kind, reasons in (
        ("hardware", _hardware(a.run, b.run)),
        ("mpi", _mpis(a, b, pairs)),
        ("engine", _engines(a.run, b.run, pairs)),
        ("placement", _placements(a.run, b.run, pairs)),
        ("settings", _settings(a, b, pairs)),
        ("incomplete", _incomplete(a, b, uncompared)),
    ):
        found += [Doubt(kind, reason) for reason in dict.fromkeys(reasons)]
    return found


def _hardware(a: RunResult, b: RunResult) -> Iterator[str]:
    if silent := [name for name, run in (("A", a), ("B", b)) if not is_stated(run.machine)]:
        yield f"{' and '.join(silent)} {_do(silent)} not state the machine (processor, processors, memory)"
        return
    for fact in unlike(a.machine, b.machine):
        yield f"{fact.what}: {fact.a} in A, {fact.b} in B"
    mine, yours = gpus(a.machine), gpus(b.machine)
    if (mine is None) != (yours is None) and "none" not in (mine, yours):
        yield f"GPUs: {mine or 'not stated'} in A, {yours or 'not stated'} in B"


def _mpis(a: Results, b: Results, pairs: Iterable[CellPair]) -> Iterator[str]:
    for mine, yours in _each(a.run, b.run, pairs, lambda run, cell: mpi_of(run, cell.mpi)):
        name_a, name_b = mpi_identity(mine), mpi_identity(yours)
        if not name_a or not name_b:
            silent = [name for name, words in (("A", name_a), ("B", name_b)) if not words]
            yield f"{' and '.join(silent)} {_do(silent)} not state the MPI library"
        elif name_a != name_b:
            yield f"{name_a} in A, {name_b} in B"
        elif mine.library and yours.library and mine.library != yours.library:
            yield f"the library's version string is '{mine.library}' in A, '{yours.library}' in B"


def _engines(a: RunResult, b: RunResult, pairs: Iterable[CellPair]) -> Iterator[str]:
    """Yield differences between engines, unless the MPI differs, which changes the engine as well."""
    if a.imported and b.imported:
        return
    if a.imported or b.imported:
        yield f"{'A' if a.imported else 'B'} was imported from another program's logs, but the other was measured here"
        return
    if a.engine != b.engine:
        yield f"engine {a.engine or 'not stated'} in A, {b.engine or 'not stated'} in B"
        return
    for mine, yours in _each(a, b, pairs, lambda run, cell: mpi_of(run, cell.mpi)):
        key_a, key_b = engine_build(a, mine.mpi).get("key"), engine_build(b, yours.mpi).get("key")
        if mpi_identity(mine) == mpi_identity(yours) and key_a != key_b:
            yield f"engine build {key_a or 'not stated'} in A, {key_b or 'not stated'} in B"


def _placements(a: RunResult, b: RunResult, pairs: Iterable[CellPair]) -> Iterator[str]:
    for mine, yours in _each(a, b, pairs, placement_of):
        for what, fact in _PLACED:
            fact_a, fact_b = fact(mine), fact(yours)
            if fact_a != fact_b:
                name = next((each.name for each in (mine, yours) if each), "?")
                yield f"placement {name}: {what} {fact_a or 'not stated'} in A, {fact_b or 'not stated'} in B"


def _nodes(placement: PlacementResult | None) -> str | None:
    seen = placement.observed if placement else []
    return str(len({rank.host for rank in seen})) if seen else None


def _ranks(placement: PlacementResult | None) -> str | None:
    return str(len(placement.observed)) if placement and placement.observed else None


def _astray(placement: PlacementResult | None) -> str | None:
    return "elsewhere than asked" if placement and placement.differs else "as asked"


def _widths(placement: PlacementResult | None) -> str | None:
    found = sorted({count_cpus(rank.cpus_allowed) or 0 for rank in placement.observed} if placement else ())
    return " or ".join(map(str, found)) if any(found) else None


_PLACED: tuple[tuple[str, Callable[[PlacementResult | None], str | None]], ...] = (
    ("binding", lambda placement: placement.bind if placement else None),
    ("nodes", _nodes),
    ("ranks", _ranks),
    ("processors of each rank", _widths),
    ("ranks", _astray),
)


def _settings(a: Results, b: Results, pairs: Iterable[CellPair]) -> Iterator[str]:
    for mine, yours in _each(a.run, b.run, pairs, environment_of):
        if mine and yours and mine.setting and mine.setting == yours.setting:
            continue  # a setting that is independent of the library: other MPIs use other variables for it
        set_a, set_b = (_set(each) for each in (mine, yours))
        if set_a != set_b:
            name = next((each.name for each in (mine, yours) if each), "?")
            yield f"environment {name}: {set_a} in A, {set_b} in B"


def _set(environment: EnvironmentResult | None) -> str:
    """Return the environment as text."""
    if environment is None:
        return "not stated"
    given = {**environment.variables, **(environment.stated or {})}
    words = [f"{name}={value}" for name, value in sorted(given.items())]
    return " ".join([*words, *(f"unset {name}" for name in sorted(environment.unset))]) or "no variables"


def _incomplete(a: Results, b: Results, uncompared: Sequence[Uncompared]) -> Iterator[str]:
    for name, results in (("A", a), ("B", b)):
        count = results.run.launches
        cut = [cell for cell in results.cells if cell.status == "partial"]
        if results.run.status in ("running", "interrupted"):
            yield f"{name} is {results.run.status}: {count.done} of {count.planned} launches succeeded"
        elif count.done < count.planned:
            yield f"{name} lacks launches: {count.done} of {count.planned} succeeded"
        elif cut:
            yield f"{_counted(cut, results)} {name} were not measured in every round: {_named(cut)}"
        if wrong := [cell for cell in results.cells if cell.wrong_bytes]:
            yield f"{_counted(wrong, results)} {name} had messages with wrong bytes: {_named(wrong)}"
        if alone := [each for each in uncompared if each.side == name.lower()]:
            yield f"{_counted(alone, results)} {name} were not compared: {_named(alone)}"


def _counted(some: Sequence[object], whole: Results) -> str:
    return f"{len(some)} of {len(whole.cells)} cells of"


def _named(cells: Sequence[CellResult] | Sequence[Uncompared]) -> str:
    labels = list(dict.fromkeys(cell.label for cell in cells))
    return "; ".join(labels[:MOST_NAMED]) + (f"; {len(labels) - MOST_NAMED} more" if len(labels) > MOST_NAMED else "")


def _each(
    a: RunResult, b: RunResult, pairs: Iterable[CellPair], fact: Callable[[RunResult, CellResult], Fact]
) -> list[tuple[Fact, Fact]]:
    """Return the distinct pairs of a fact about the two cells of each pair."""
    found = ((fact(a, pair.a), fact(b, pair.b)) for pair in pairs)
    return list({(id(fact_a), id(fact_b)): (fact_a, fact_b) for fact_a, fact_b in found}.values())


def _do(subjects: Sequence[str]) -> str:
    return "do" if len(subjects) > 1 else "does"
