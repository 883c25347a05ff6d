# SPDX-License-Identifier: Apache-2.0
"""The library's control variables (MPI-4.1 section 15.3) as results.json has them, for rules that name one. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Lengths as text, in the way of several libraries: "64K", "64KB", "64KiB".
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}

Value = bool | int | float | str | Sequence[int] | Sequence[float] | None


@dataclass(frozen=True)
class ControlVariable:
    """One setting. value: None where it could not be read, with the reason."""

    name: str
    value: Value
    type: str
    description: str
    reason: str | None = None

    @property
    def number(self) -> float | None:
        """Its value as a number, a length with a suffix in bytes; None: it is neither."""
        if isinstance(self.value, (int, float)) and not isinstance(self.value, bool):
            return float(self.value)
        return _length(self.value) if isinstance(self.value, str) else None


def control_variables(
    results: Mapping[str, Any], mpi: str | None = None, environment: str | None = None
) -> list[ControlVariable]:
    """All control variables that witnessed launches saw; empty where there was no such launch.

    Args: mpi: short name as cells have it; None: the only MPI of the run that has any, or the first.
          environment: the witnessed one whose values are asked for; None: the first.
    """
    every = [one for one in results["run"].get("mpis") or () if one.get("control_variables")]
    entry: Mapping[str, Any] = next((one for one in every if mpi in (None, one.get("mpi"))), {})
    found = []
    for row in entry.get("control_variables", ()):
        value = (row.get("by_environment") or {}).get(environment, row["value"])
        found.append(ControlVariable(row["name"], value, row["type"], row["description"], row.get("reason")))
    return found


def control_variable(
    results: Mapping[str, Any], name: str, mpi: str | None = None, environment: str | None = None
) -> ControlVariable | None:
    """The control variable of this name; None: no witnessed launch saw one."""
    return next((one for one in control_variables(results, mpi, environment) if one.name == name), None)


def variables_equal_to(
    results: Mapping[str, Any], value: float, low: float, high: float, mpi: str | None = None
) -> list[ControlVariable]:
    """Control variables that could have set a limit found at `value`, nearest first: those within [low, high].

    0 and below set no length (they stand for "off" or "choose yourself") and are never named.
    """
    near = [(one, number) for one in control_variables(results, mpi) if (number := one.number) is not None]
    fitting = [(one, number) for one, number in near if low <= number <= high and number > 0]
    return [one for one, _ in sorted(fitting, key=lambda pair: (abs(pair[1] - value), pair[0].name))]


def _length(text: str) -> float | None:
    digits = text.strip().upper().removesuffix("B").removesuffix("I")
    unit = digits[-1:] if digits[-1:] in ("K", "M", "G", "T") else ""
    digits = digits.removesuffix(unit)
    return float(int(digits) * _UNITS[unit]) if digits.isdecimal() else None
