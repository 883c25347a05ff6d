# SPDX-License-Identifier: Apache-2.0
"""Remedies that several slow paths of this family share. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from slowpath.findings.remedy import Control, Parameters, Remedy, set_to


def _predefined(parameters: Parameters) -> Mapping[str, str] | None:
    """Of puts alone: p2p has no datatype of this name."""
    return set_to("datatype", "predefined")(parameters) if "window" in parameters else None


PREDEFINED_DATATYPE = Remedy(
    "predefined datatype",
    "Put contiguous runs with a predefined datatype.",
    ("datatype",),
    Control("MPI_Put_c of the same bytes with a predefined datatype has no blocks either", without="large_count"),
    (),
    ("docs/results/put.md",),
    parameter="datatype",
    change=_predefined,
    code="MPI_Put(data, count, MPI_DOUBLE, target, place, count, MPI_DOUBLE, window);",
    phrase="predefined datatypes",
)
