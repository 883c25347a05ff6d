# SPDX-License-Identifier: Apache-2.0
"""What a proposal may rest on, and what it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from slowpath.core.cell_check import CheckCells, nothing_checked
from slowpath.diagnose.campaign_text import Campaign
from slowpath.diagnose.records import Step

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Library:
    """The MPI of the diagnosis, as the tables know it."""

    name: str
    version: str | None
    transport: str | None


@dataclass(frozen=True)
class Known:
    """All that a proposal may rest on. results: of the survey; of a step, where a finding came from it, in `others`."""

    findings: Sequence[Json]
    steps: Sequence[Step]
    results: Json
    library: Library
    environ: Mapping[str, str]
    ranks: int
    control_variables: Mapping[str, float] = field(default_factory=dict)
    others: Mapping[str, Json] = field(default_factory=dict)
    check: CheckCells = nothing_checked  # the engine as the judge of cells


@dataclass(frozen=True)
class Proposal:
    """One run to make."""

    kind: str
    about: dict[str, Any]
    campaign: Campaign
    why: str
