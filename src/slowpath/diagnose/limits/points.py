# SPDX-License-Identifier: Apache-2.0
"""Which points to measure so that a limit is known more exactly, and the campaign that measures them. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from slowpath.core.campaign import Campaign, CellsTable, EnvironmentTable, Values
from slowpath.core.cell_results import CellResult
from slowpath.diagnose.sides import Condition, placements_of
from slowpath.stats.laws.choose import next_values
from slowpath.stats.laws.law import Bracket

AT_ONCE = 15
MOST_STEPS_TO_THE_BYTE = 8  # a bracket of a factor of 2 below 1 MiB takes 5, and a step that stays unclear is repeated
ROUNDS = 6
ANCHORS = 4  # points on each side that are known to lie there
_SPAN_RATIO = 0.12  # how far they reach from the bracket
_AROUND = 64  # on each side of an exact limit
SHORT_EFFORT = {"samples": "60", "time_limit_s": "0.008", "warmup_s": "0.002"}  # of each of many points


def points(bracket: Bracket, lowest: int = 1, at_once: int = AT_ONCE, exact: float | None = None) -> tuple[int, ...]:
    """Values to measure: those that divide the bracket, its ends, and anchors beyond them; ascending.

    Args: exact: last value before the limit, where it is known and to be measured once more with its neighbours.
    """
    low, high = int(bracket.above), int(bracket.up_to)
    reach = max(ANCHORS, round(low * _SPAN_RATIO))
    below = [low - reach * i // (ANCHORS - 1) for i in range(ANCHORS)]
    above = [high + reach * i // (ANCHORS - 1) for i in range(ANCHORS)]
    inside = [*next_values(bracket, at_once), *(() if exact is None else (int(exact) + i for i in (-1, 0, 1, 2)))]
    return tuple(sorted({value for value in (*below, *inside, *above) if value >= lowest}))


def around(exact: Bracket) -> Bracket:
    """A wider bracket about an exact one, off its middle, to measure it once more with other points."""
    low = max(min(exact.above, float(ANCHORS)), exact.above - _AROUND)  # anchors below it are numbers above 0, too
    return Bracket(exact.covariate, low, exact.up_to + _AROUND + 5)


def campaign(
    bracket: Bracket,
    cell: CellResult,
    under: Condition,
    ranks: int,
    rounds: int = ROUNDS,
    why: str = "",
    exact: float | None = None,
) -> Campaign:
    """The cell of a finding at `points`: one step towards the limit."""
    values: dict[str, Values] = {
        **shortened(cell.parameters),
        bracket.covariate: [str(v) for v in points(bracket, exact=exact)],
    }
    group = CellsTable("limit", cell.experiment, values, [under.environment], [under.placement])
    return Campaign(
        name="refine",
        title=f"Where the limit of {bracket.covariate.replace('_', ' ')} lies"[:80],
        ranks=[ranks],
        rounds=rounds,
        environments=[EnvironmentTable(under.environment, under.variables, under.unset)],
        placements=placements_of([under]),
        cells=[group],
        contrasts=[],
        why=why,
    )


def shortened(parameters: Mapping[str, str]) -> dict[str, str]:
    """The same cell, measured with less effort."""
    return {**parameters, **{name: text for name, text in SHORT_EFFORT.items() if name in parameters}}
