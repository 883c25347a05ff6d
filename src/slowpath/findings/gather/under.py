# SPDX-License-Identifier: Apache-2.0
"""Both sides of a difference between collectives, in the other environments of the run. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from slowpath.core.cell_results import CellResult
from slowpath.findings.evidence.collectives import Share, Under
from slowpath.findings.evidence.evidence import Slowdown
from slowpath.findings.evidence.words import sizes
from slowpath.findings.gather.source import Source
from slowpath.findings.gather.stayed import stayed
from slowpath.findings.observation import Stayed
from slowpath.slowpaths.registry import REMEDIES
from slowpath.stats.inputs import Floats
from slowpath.stats.removed import removed

EXPERIMENT = "coll"
AXES = ("op", "start", "shape", "in_place", "arrival", "environment")


def unders(source: Source) -> list[Under]:
    """Of each decided contrast of collectives, in each environment that is on neither of its sides."""
    cells = source.cells_of(EXPERIMENT)
    return [under for one in decided(source, AXES) for under in _of(source, cells, one)]


def decided(source: Source, axes: Iterable[str]) -> list[Slowdown]:
    """Contrasts of collectives on these axes, later calls."""
    return [one for one in source.slowdowns(*axes, phase="steady") if one.slow.experiment == EXPERIMENT]


def _of(source: Source, cells: Sequence[CellResult], one: Slowdown) -> Iterator[Under]:
    """Where the slow side's state is an environment, only the fast side can change, and what that environment sets."""
    mine = {one.slow.environment, one.fast.environment}
    others = dict.fromkeys(cell.environment for cell in cells if _same_place(cell, one.slow))
    for environment in (name for name in others if name not in mine):
        twins = [twin(cells, side, environment) for side in (one.slow, one.fast)]
        there = next((cell for cell in twins if cell is not None), None)
        if there is None:
            continue
        slow, fast = (times_s(side, one.metric) for side in (one.slow, one.fast))
        changed = [None if cell is None else times_s(cell, one.metric) for cell in twins]
        variables = dict(source.variables(there))
        if one.axis == "environment" and not variables.keys() <= source.variables(one.slow).keys():
            changed[0] = None
        yield Under(
            contrast=one.contrast,
            environment=environment,
            setting=source.setting(there),
            variables=variables,
            remedy=remedy_of(variables),
            gone=share(slow, changed[0], fast, fast),
            lost=share(slow, slow, fast, changed[1]),
            launches=0 if slow is None else slow.size,
            length=sizes([one.slow]),
            stayed=tuple(_left(cells, one, there, remedy_of(variables))),
        )


def _left(cells: Sequence[CellResult], one: Slowdown, there: CellResult, name: str | None) -> Iterator[Stayed]:
    """Of the same group and length: collectives that the remedy's variables do not name."""
    remedy = next((other for other in REMEDIES if other.name == name), None)
    named = remedy.only.get("collective", ()) if remedy else ()
    for cell in cells:
        mine = cell.parameters.get("collective", "")
        alike = (cell.group, cell.environment, _but(cell, "collective")) == (
            one.slow.group, one.slow.environment, _but(one.slow, "collective"))  # fmt: skip
        if not named or mine in named or not alike or not _same_place(cell, one.slow):
            continue
        changed = twin(cells, cell, there.environment)
        own_s, changed_s = (None if each is None else times_s(each, one.metric) for each in (cell, changed))
        if own_s is not None and changed_s is not None and own_s.size == changed_s.size:
            words = f"{mine} of {sizes([cell])}, which it does not name"
            yield stayed(there.environment, words, own_s, changed_s, one.ratio.value)


def _but(cell: CellResult, name: str) -> dict[str, str]:
    return {key: value for key, value in cell.parameters.items() if key != name}


def _same_place(one: CellResult, other: CellResult) -> bool:
    return (one.mpi, one.placement) == (other.mpi, other.placement)


def twin(cells: Sequence[CellResult], cell: CellResult, environment: str) -> CellResult | None:
    """The same measurement in another environment."""
    return next(
        (
            one
            for one in cells
            if one.environment == environment and one.parameters == cell.parameters and _same_place(one, cell)
        ),
        None,
    )


def times_s(cell: CellResult, metric: str) -> Floats | None:
    """Of each launch, later calls; None: not measured."""
    found = cell.estimate(metric, "steady")
    return np.array(found.launch_values, dtype=np.float64) if found else None


def share(slow: Floats | None, changed: Floats | None, fast: Floats | None, there: Floats | None) -> Share | None:
    """As `removed`; None where a side was not measured in as many launches."""
    if slow is None or changed is None or fast is None or there is None:
        return None
    if len({one.size for one in (slow, changed, fast, there)}) > 1:
        return None
    found = removed(slow, changed, fast, there)
    return None if found is None else (found.value, *found.interval)


def remedy_of(variables: dict[str, str]) -> str | None:
    """The remedy of the table that sets exactly this."""
    return next((one.name for one in REMEDIES if variables and dict(one.variables) == variables), None)
