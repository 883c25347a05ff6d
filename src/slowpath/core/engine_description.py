# SPDX-License-Identifier: Apache-2.0
"""What the engine says of its experiments, and labels of cells made of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import msgspec

from slowpath.core.errors import is_not, require_distinct, unknown, unreadable
from slowpath.core.files import data_folder
from slowpath.core.plan import Cell, ParameterRole, Roles
from slowpath.core.units import expand_values, format_bytes, parse_bytes, parse_count, parse_seconds, whole_number


class Parameter(msgspec.Struct, frozen=True):
    """One parameter; numbers are strings so that nothing is rounded."""

    name: str
    type: str  # bytes | count | seconds | choice | flag
    default: str
    unit: str | None = None
    minimum: str | None = None
    maximum: str | None = None
    choices: list[str] | None = None
    sided: bool = False
    meaning: str = ""
    role: ParameterRole = "setting"


class DescribedMetric(msgspec.Struct, frozen=True):
    """One metric and the pattern that yields it."""

    name: str
    unit: str = "s"
    pattern: str | None = None
    meaning: str = ""
    better: Literal["lower", "higher"] = "lower"
    bandwidth: bool = False
    message_rate: bool = False


class DescribedExperiment(msgspec.Struct, frozen=True):
    """One experiment of the engine."""

    name: str
    parameters: list[Parameter]
    metrics: list[DescribedMetric] = []
    summary: str = ""
    min_ranks: int = 1

    def parameter(self, name: str) -> Parameter:
        """Parameter `name`.  Raises: UsageError with the nearest name."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        known = (parameter.name for parameter in self.parameters)
        raise unknown(f"parameter of {self.name}", name, known)

    def defaults(self) -> dict[str, str]:
        """Every parameter at its default, in the engine's order and spelling."""
        return {p.name: spell_value(p, p.default) for p in self.parameters}


class EngineDescription(msgspec.Struct, frozen=True):
    """The engine, its version and its experiments."""

    engine: str
    experiments: list[DescribedExperiment]
    plan_version: int = 1

    def experiment(self, name: str) -> DescribedExperiment:
        """Experiment `name`.  Raises: UsageError with the nearest name."""
        for experiment in self.experiments:
            if experiment.name == name:
                return experiment
        raise unknown("experiment", name, (e.name for e in self.experiments))


def decode(description: dict[str, Any]) -> EngineDescription:
    """Typed form of the engine's own description.  Raises: RecordError if it is not one."""
    try:
        return msgspec.convert(description, EngineDescription)
    except msgspec.ValidationError as error:
        raise unreadable("the engine's description", error, "run: slowpath mpi build --force") from error


def expand_parameter(parameter: Parameter, written: list[str]) -> list[str]:
    """Return all values of a list whose items may be comma lists and ranges, in the engine's spelling, each once.

    Raises: UsageError if a value is wrong, or is listed twice.
    """
    values = [spell_value(parameter, value) for item in written for value in _split(parameter, item)]
    require_distinct(values)
    return values


def _split(parameter: Parameter, item: str) -> list[str]:
    """Parts of a comma list; ranges become their values."""
    parse = {"bytes": parse_bytes, "count": parse_count}.get(parameter.type)
    parts: list[str] = []
    for part in item.split(","):
        if parse is not None and ".." in part:
            if ":" in part:
                raise is_not(part, "a range", "1MiB:2MiB,1MiB:3MiB")
            parts += [str(value) for value in expand_values(part, parse)]
        else:
            parts.append(part.strip())
    return parts


def spell_value(parameter: Parameter, value: str) -> str:
    """`value` as it stands in plan.txt: bytes as plain integers, `A:A` as `A`.  Raises: UsageError."""
    sides = value.split(":")
    if len(sides) == 1:
        return _spell_one(parameter, value)
    if not parameter.sided or len(sides) != 2:
        kind, example = ("a pair SENDER:RECEIVER", ":".join(sides[:2])) if parameter.sided else ("one value", sides[0])
        raise is_not(value, kind, example)
    spelled = [_spell_one(parameter, side) for side in sides]
    return spelled[0] if spelled[0] == spelled[1] else ":".join(spelled)


def _spell_one(parameter: Parameter, value: str) -> str:
    words = list(parameter.choices or ())
    if parameter.type == "flag":
        words = words or ["on", "off"]
    # A word may stand for a number, such as buffer_bytes=message; a numeric default is spelled below.
    if (value in words or value == parameter.default) and not value[:1].isdecimal():
        return value
    if parameter.type in ("choice", "flag"):
        raise unknown(f"value of {parameter.name}", value, words)
    if parameter.type == "seconds":
        seconds = parse_seconds(value)
        _check_range(parameter, value, seconds)
        return f"{seconds:g}" if float(f"{seconds:g}") == seconds else repr(seconds)
    if parameter.type not in ("bytes", "count") or (words and value[:1].isalpha()):
        raise unknown(f"value of {parameter.name}", value, words)
    number = parse_bytes(value) if parameter.type == "bytes" else parse_count(value)
    _check_range(parameter, value, number)
    return str(number)


def _check_range(parameter: Parameter, value: str, number: float) -> None:
    parsers: dict[str, Callable[[str], float]] = {"seconds": float, "bytes": parse_bytes}
    convert = parsers.get(parameter.type, int)
    if parameter.minimum and number < convert(parameter.minimum):
        raise is_not(value, f"{parameter.minimum} or more", parameter.minimum)
    if parameter.maximum and number > convert(parameter.maximum):
        raise is_not(value, f"{parameter.maximum} or less", parameter.maximum)


# Which cells an engine accepts: its answer, and how it is asked. The engine is the one judge of a cell.
#
# `run.engine.check` asks it; where a plan is made without an engine, nothing is asked.


class CellVerdict(msgspec.Struct, frozen=True):
    """One cell, judged. reason: why it is refused, and what to do; None: it is accepted and yields `metrics`."""

    cell: int
    reason: str | None = None
    metrics: tuple[str, ...] = ()


Verdicts = Mapping[int, CellVerdict]  # by Cell.cell
CheckCells = Callable[[Sequence[Cell], int], Verdicts]  # (cells, ranks); at least one cell


def nothing_checked(cells: Sequence[Cell], ranks: int) -> Verdicts:
    """No engine is asked."""
    return {}


@lru_cache(maxsize=1)
def recorded() -> EngineDescription:
    """Return what the engine of this version says of itself (schema/engine.json)."""
    return msgspec.json.decode((data_folder("schema") / "engine.json").read_bytes(), type=EngineDescription)


def recorded_roles(experiment: str) -> Roles:
    """Return the role of every parameter of an experiment."""
    return {parameter.name: parameter.role for parameter in recorded().experiment(experiment).parameters}


def recorded_defaults(*experiments: str) -> Mapping[str, str]:
    """Return the default of every parameter of these experiments; the first one that has a parameter gives it."""
    return {
        name: value
        for experiment in reversed(experiments)
        for name, value in recorded().experiment(experiment).defaults().items()
    }


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
