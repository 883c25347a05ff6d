# SPDX-License-Identifier: Apache-2.0
"""Control variables of a library (MPI_T) as results.json has them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


@dataclass(frozen=True)
class Variable:
    """about: the first line of its description in brackets, or nothing."""

    name: str
    value: float
    about: str


def _entry(run: Mapping[str, Any], mpi: str | None) -> Mapping[str, Any]:
    every: Sequence[Mapping[str, Any]] = run.get("mpis") or [run.get("mpi") or {}]
    return next((one for one in every if one.get("mpi") == mpi), every[0] if len(every) == 1 else {})


def variables_near(
    run: Mapping[str, Any], mpi: str | None, environment: str | None, low: float, high: float
) -> list[Variable] | None:
    """Control variables of a library whose value in this environment lies in [low, high].  None: none were recorded."""
    told: Sequence[Mapping[str, Any]] = _entry(run, mpi).get("control_variables") or ()
    if not told:
        return None
    found = []
    for row in told:
        value = _number((row.get("by_environment") or {}).get(environment, row.get("value")))
        if value is not None and value > 0 and low <= value <= high:
            description = str(row.get("description") or "").strip().splitlines()
            found.append(Variable(str(row["name"]), value, f" ({description[0]})" if description else ""))
    return found


def protocol_limits(
    run: Mapping[str, Any], mpi: str | None, environment: str | None, low: float, high: float
) -> list[str]:
    """Rows of UCX's own table of protocols that begin in (low, high], in words; [] where there is no such table."""
    rows: Sequence[Mapping[str, Any]] = _entry(run, mpi).get("protocols") or ()
    return [
        f"UCX, {row['scope']}, {row['operation']}: from {row['first_bytes']} bytes on {row['how']}"
        for row in rows
        if row.get("environment") in (None, environment) and low < row["first_bytes"] <= high
    ]


def _number(value: Any) -> float | None:
    """A number, or one with a suffix as libraries write lengths ("64K"); None: neither."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return float(value)
    text = str(value).strip().upper().removesuffix("B")
    scale = _UNITS.get(text[-1:], 1)
    digits = text[:-1] if scale > 1 else text
    return float(digits) * scale if digits.isdecimal() else None
