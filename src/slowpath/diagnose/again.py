# SPDX-License-Identifier: Apache-2.0
"""Campaigns that measure something of the survey again: with more pairs, or with points between. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from slowpath.diagnose.campaign_text import Campaign, Contrast, Environment, Group
from slowpath.diagnose.sides import Condition, condition

Json = Mapping[str, Any]
ROUNDS = 12
SEPARATE_ROUNDS = 6
MOST_CELLS = 120  # of the grid that the points lie on
_LENGTHS = ("allocation_bytes", "sender_allocation_bytes", "receiver_allocation_bytes")


def repeat_campaign(contrast: Json, results: Json, ranks: int, why: str) -> Campaign:
    """The two cells of a contrast in more rounds."""
    cells = {cell["cell"]: cell for cell in results["cells"]}
    a, b = cells[contrast["a"]["cell"]], cells[contrast["b"]["cell"]]
    axis, values = contrast["axis"], [str(_value(cell, contrast["axis"])) for cell in (a, b)]
    under = [condition(cell, results) for cell in (a, b)]
    parameters: dict[str, str | Sequence[str]] = dict(a["parameters"])
    if axis in parameters:
        parameters[axis] = values
    group = Group(
        contrast["group"],
        a["experiment"],
        parameters,
        list(dict.fromkeys(one.environment for one in under)),
        list(dict.fromkeys(one.placement for one in under)),
    )
    again = Contrast(
        name=contrast["group"],
        question=contrast["question"],
        cells=contrast["group"],
        axis=axis,
        a=values[0],
        b=values[1],
        metric=contrast["metric"],
        phase=contrast["a"]["phase"],
    )
    return Campaign(
        name="repeat",
        title=f"Again: {contrast['group']}"[:80],
        ranks=ranks,
        rounds=ROUNDS,
        environments=environments(under),
        placements={one.placement: one.bind for one in under},
        groups=[group],
        contrasts=[again],
        minimum_effect=contrast["minimum_effect"],
        why=why,
    )


def environments(under: Sequence[Condition]) -> list[Environment]:
    """Each environment once."""
    return [
        Environment(one.environment, one.variables, one.unset) for one in {o.environment: o for o in under}.values()
    ]


def _value(cell: Json, axis: str) -> Any:
    return cell[axis] if axis in ("environment", "placement", "copy") else cell["parameters"][axis]


def separate_campaign(finding: Json, results: Json, ranks: int, why: str) -> Campaign | None:
    """The cells of the finding's sweep and the points that would tell its laws apart.

    Returns: None where a point asks for something that no parameter sets, or the grid gets too large.
    """
    cells = {cell["cell"]: cell for cell in results["cells"]}
    swept = [cells[n] for n in finding["cells"] if n in cells]
    if not swept:
        return None
    slow = swept[0]
    points = [dict(cell["parameters"]) for cell in swept]
    for place in finding["law"]["separating"]:
        point = placed(slow["parameters"], place)
        if point is None:
            return None
        points.append(point)
    under = condition(slow, results)
    values = {name: list(dict.fromkeys(point[name] for point in points)) for name in points[0]}
    if prod(len(some) for some in values.values()) > MOST_CELLS:
        return None
    # One group: only cells of one group make one sweep.
    grid: dict[str, str | Sequence[str]] = {name: some if len(some) > 1 else some[0] for name, some in values.items()}
    groups = [Group(slow["group"], slow["experiment"], grid, [under.environment], [under.placement])]
    return Campaign(
        name="separate",
        title="Points that tell two laws apart",
        ranks=ranks,
        rounds=SEPARATE_ROUNDS,
        environments=environments([under]),
        placements={under.placement: under.bind},
        groups=groups,
        contrasts=[],
        why=why,
    )


def placed(parameters: Mapping[str, str], place: Mapping[str, float]) -> dict[str, str] | None:
    """A cell's parameters moved to a place of a sweep; None: no parameter sets what the place asks for."""
    found = dict(parameters)
    base = place.get("buffer_bytes")
    if base is not None and parameters.get("buffer_bytes", "message").isdigit():
        found["buffer_bytes"] = str(round(base))
    for name, value in place.items():
        if name in _LENGTHS:
            length = found.get("buffer_bytes", "message")
            asked = int(found["message_bytes"]) if length == "message" else int(length)
            if round(value) < asked:
                found["buffer_bytes"], asked = str(round(value)), round(value)
            if asked < int(found["message_bytes"]):
                return None
            found["overalloc_bytes"] = str(round(value) - asked)
        elif name in parameters and name != "buffer_bytes":
            found[name] = str(round(value))
        elif name != "buffer_bytes":
            return None
    return found
