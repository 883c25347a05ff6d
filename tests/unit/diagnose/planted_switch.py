# SPDX-License-Identifier: Apache-2.0
"""The state of a diagnosis that looks for a protocol switch of MPICH, and what a campaign asks."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

from slowpath.core.campaign import campaign_toml
from slowpath.core.results import Finding
from slowpath.diagnose.state import LibraryFacts, MeasuredStep, Proposal, State

CELL = "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE"
CMA = "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD"


def state(findings: Sequence[Finding], measured: Sequence[MeasuredStep], **environ: str) -> State:
    """Under MPICH. environ: the user's variables."""
    return State(findings, measured, LibraryFacts("mpich", "5.0.2"), environ)


def parameters(proposal: Proposal) -> dict[str, Any]:
    """Of the first group of cells of its campaign."""
    document: dict[str, Any] = tomllib.loads(campaign_toml(proposal.campaign))["cells"][0]["parameters"]
    return document


def asked(proposal: Proposal) -> list[float]:
    """The lengths of messages that its campaign measures."""
    lengths = parameters(proposal)["message_bytes"]
    return [float(value) for value in ([lengths] if isinstance(lengths, str) else lengths)]
