# SPDX-License-Identifier: Apache-2.0
"""Short names of cells: what is constant over a group is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from slowpath.core.engine_description import DescribedExperiment
from slowpath.core.units import format_bytes, whole_number

# Words that a parameter's name needs no help with when its value stands alone.
_SELF_EVIDENT = ("message_bytes", "pattern", "environment", "placement")


def readable_value(experiment: DescribedExperiment, axis: str, value: str) -> str:
    """`value` of `axis` for people: lengths get units, everything else stays."""
    kind = next((p.type for p in experiment.parameters if p.name == axis), None)
    if kind != "bytes":
        return value
    return ":".join(_readable_side(side) for side in value.split(":"))


def _readable_side(side: str) -> str:
    count = whole_number(side)
    return side if count is None else format_bytes(count)


def group_labels(group: str, experiment: DescribedExperiment, points: Sequence[Mapping[str, str]]) -> list[str]:
    """One label a point; a point gives the value of every axis, in the order in which a label names them.

    A group of one cell is called by the group's name.
    """
    varying = [axis for axis in points[0] if len({point[axis] for point in points}) > 1]
    # The message's length is what people look for first, where a cell was measured last.
    order = sorted(varying, key=lambda axis: (axis != "message_bytes", axis in ("environment", "placement", "copy")))
    return [", ".join(_part(experiment, axis, point[axis]) for axis in order) or group for point in points]


def _part(experiment: DescribedExperiment, axis: str, value: str) -> str:
    if axis == "way":
        return way_words(value)
    readable = readable_value(experiment, axis, value)
    if axis in _SELF_EVIDENT:
        return readable
    name = axis.removesuffix("_bytes").removesuffix("_s").replace("_", " ")
    return f"{name} {readable}"


def way_words(way: str) -> str:
    """Return how a collective is done: `by the library`, `by scatter+allgather`."""
    return "by the library" if way == "library" else f"by {way}"


def unique_labels(groups: Sequence[str], labels: Sequence[str]) -> list[str]:
    """`labels`, with the group's name in front of all labels of a group that shares one with another group."""
    count = Counter(labels)
    shared = {group for group, label in zip(groups, labels, strict=True) if count[label] > 1}
    return [f"{group}: {label}" if group in shared else label for group, label in zip(groups, labels, strict=True)]
