# SPDX-License-Identifier: Apache-2.0
"""The library's control variables (MPI-4.1 section 15.3) and UCX's protocols, as results.json has them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slowpath.core.run_results import LibraryVariable, MpiResult, RunResult


@dataclass(frozen=True)
class ControlVariable:
    """A setting of the library (MPI_T) with a length in bytes. about: first line of its description."""

    name: str
    value: float
    about: str


# Lengths as text, in the way of several libraries: "64K", "64KB", "64KiB".
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}

Value = bool | int | float | str | Sequence[int | float] | None


@dataclass(frozen=True)
class Setting:
    """A control variable in one environment. number: its value as one, a length in bytes; None: it is neither."""

    name: str
    number: float | None
    description: str


def library(run: RunResult, mpi: str | None) -> MpiResult | None:
    """What is known of the library under which something was seen; None: not which one it was."""
    every = run.mpis or [run.mpi]
    return next((one for one in every if one.mpi == mpi), every[0] if len(every) == 1 else None)


def control_variables(run: RunResult, mpi: str | None = None, environment: str | None = None) -> list[Setting]:
    """All that witnessed launches saw; empty where there was no such launch.

    Args: mpi: short name as cells have it; None: the first MPI of the run that has any.
          environment: the witnessed one whose values are asked for; None: the first.
    """
    having = (one for one in run.mpis if one.control_variables and mpi in (None, one.mpi))
    return _settings(next(having, None), environment)


def variables_near(
    run: RunResult, mpi: str | None, environment: str | None, low: float, high: float
) -> list[ControlVariable] | None:
    """Those of a library whose value in this environment lies in [low, high].  None: none were recorded.

    0 and below set no length: they stand for "off" or "choose yourself".
    """
    entry = library(run, mpi)
    if entry is None or not entry.control_variables:
        return None
    found = []
    for setting in _settings(entry, environment):
        if setting.number is not None and setting.number > 0 and low <= setting.number <= high:
            lines = setting.description.strip().splitlines()
            found.append(ControlVariable(setting.name, setting.number, f" ({lines[0]})" if lines else ""))
    return found


def _settings(entry: MpiResult | None, environment: str | None) -> list[Setting]:
    rows = (entry.control_variables or []) if entry else []
    return [Setting(row.name, number_of(_value(row, environment)), row.description) for row in rows]


def _value(row: LibraryVariable, environment: str | None) -> Value:
    found: Value = (row.by_environment or {}).get(environment or "", row.value)
    return found


def protocol_limits(run: RunResult, mpi: str | None, environment: str | None, low: float, high: float) -> list[str]:
    """Rows of UCX's own table of protocols that begin in (low, high], in words; [] where there is no such table."""
    entry = library(run, mpi)
    return [
        f"UCX, {row.scope}, {row.operation}: from {row.first_bytes:.0f} bytes on {row.how}"
        for row in (entry.protocols or () if entry else ())
        if row.environment == environment and low < row.first_bytes <= high
    ]


def number_of(value: Value) -> float | None:
    """A number, or one with a suffix as libraries write lengths ("64K"); None: neither."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    return float(value) if not isinstance(value, str) else _length(value)


def _length(text: str) -> float | None:
    digits = text.strip().upper().removesuffix("B").removesuffix("I")
    unit = digits[-1:] if digits[-1:] in ("K", "M", "G", "T") else ""
    digits = digits.removesuffix(unit)
    return float(int(digits) * _UNITS[unit]) if digits.isdecimal() else None
