# SPDX-License-Identifier: Apache-2.0
"""Campaigns written in a line or two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from slowpath.core.plan import Plan
from slowpath.plan.campaign import Campaign, decode
from slowpath.plan.expand import MpiInUse, expand

HEAD = '[campaign]\nname = "try"\ntitle = "A try"\n'


def resolve(setting: str) -> tuple[dict[str, str], str | None]:
    """A library that has one of the two settings."""
    if setting == "network_path":
        return {}, "this library has no such switch"
    return {"SINGLE_COPY": "0"}, None


@pytest.fixture
def campaign_of() -> Callable[[str], Campaign]:
    """Campaign of a text, to which [campaign] is added."""
    return lambda text: decode((HEAD + text).encode(), "try.toml")


@pytest.fixture
def plan_of(description: dict[str, Any], campaign_of: Callable[[str], Campaign]) -> Callable[..., Plan]:
    """Plan of a text; seed 1 and one MPI with the identity `mpi` unless told."""

    def build(text: str, seed: int = 1, mpi: str = "mpi", mpis: Sequence[MpiInUse] | None = None, **more: Any) -> Plan:
        in_use = [MpiInUse("mpich", mpi, resolve)] if mpis is None else mpis
        return expand(campaign_of(text), description, in_use, seed, **more)

    return build
