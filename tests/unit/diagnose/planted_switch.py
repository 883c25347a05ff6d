# SPDX-License-Identifier: Apache-2.0
"""A protocol switch at LIMIT: times below and above it, and the state of a diagnosis that looks for it."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

import numpy as np
from made_results import cell, law, results
from msgspec.structs import replace

from slowpath.core.campaign import campaign_toml
from slowpath.core.results import Finding, LawResult, LimitBracket, Results
from slowpath.diagnose.state import LibraryFacts, MeasuredStep, Proposal, State
from slowpath.diagnose.steps.order import proposals

CELL = "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE"
CMA = "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD"
LIMIT = 50020
SLOW_S, FAST_S = 27e-6, 8e-6


def state(findings: Sequence[Finding], measured: Sequence[MeasuredStep], **environ: str) -> State:
    """Under MPICH. environ: the user's variables."""
    return State(findings, measured, LibraryFacts("mpich", "5.0.2"), environ)


def proposed(of: State) -> Proposal:
    """What would be done next."""
    return next(proposals(of))


def parameters(proposal: Proposal) -> dict[str, Any]:
    """Of the first group of cells of its campaign."""
    found: dict[str, Any] = tomllib.loads(campaign_toml(proposal.campaign))["cells"][0]["parameters"]
    return found


def asked(proposal: Proposal) -> list[float]:
    """The lengths of messages that its campaign measures."""
    lengths = parameters(proposal)["message_bytes"]
    return [float(value) for value in ([lengths] if isinstance(lengths, str) else lengths)]


def times(lengths: Sequence[float], limit: float, seed: int = 1, plain: dict[str, str] | None = None) -> Results:
    """Results of lengths at which messages up to `limit` take the slow protocol."""
    generator = np.random.default_rng(seed)
    cells = []
    for number, length in enumerate(lengths):
        mean_s = SLOW_S if length <= limit else FAST_S
        launches_s = mean_s * (1 + 0.02 * generator.standard_normal(6))
        cells.append(cell(number, {**(plain or {}), "message_bytes": str(int(length))}, launches_s.tolist()))
    return results(cells)


def law_of(*limits: LimitBracket) -> LawResult:
    """Segments with these limits."""
    return replace(law(), brackets=list(limits))
