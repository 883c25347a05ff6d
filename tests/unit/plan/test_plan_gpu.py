# SPDX-License-Identifier: Apache-2.0
"""Campaigns that put libraries into states of GPU support: what is measured, what excludes what, what is skipped."""

from __future__ import annotations

from typing import Any

import pytest

from slowpath.core.plan import Plan
from slowpath.mpi.settings import resolver
from slowpath.plan.campaign import load
from slowpath.plan.expand import MpiInUse, expand

CRAY, MPICH = ("craympich", "8.1.29"), ("mpich", "5.0.2")


def planned(name: str, description: dict[str, Any], library: tuple[str, str], gpus: bool) -> Plan:
    mpi = MpiInUse(library[0], " ".join(library), resolver(*library, gpus=gpus))
    return expand(load(name), description, [mpi], seed=1)


@pytest.mark.parametrize("library", [CRAY, MPICH])
def test_gpu_support_is_measured_where_there_is_a_driver(description: dict[str, Any], library: tuple[str, str]) -> None:
    plan = planned("gpu-support", description, library, gpus=True)
    assert [cell.skip for cell in plan.cells if cell.skip] == []
    variables = {one.name: one.variables for one in plan.environments}
    assert variables["default"] == {}
    off, on = variables["GPU support off"], variables["GPU support on"]
    assert (off.keys(), set(off.values()), set(on.values())) == (on.keys(), {"0"}, {"1"})
    assert all("device" not in cell.parameters.get("memory", "host") for cell in plan.cells)
    grids = {cell.parameters["communicator"] for cell in plan.cells if cell.experiment == "coll"}
    assert grids == {"halves", "strided"}  # rows and columns


def test_pinned_host_has_a_law_of_its_own_and_its_states(description: dict[str, Any]) -> None:
    plan = planned("pinned-host", description, CRAY, gpus=True)
    memory = [cell for cell in plan.cells if cell.group == "memory"]
    lengths = {int(cell.parameters["message_bytes"]) for cell in memory}
    assert (min(lengths), max(lengths), len(lengths)) == (8 * 1024, 128 * 1024**2, 8)
    assert {cell.environment for cell in memory} == {
        "default", "CMA", "XPMEM", "no single copy", "network path", "GPU support off"
    }  # fmt: skip
    variables = {one.name: one.variables for one in plan.environments}
    # GPU support excludes XPMEM, and without GPU support no message comes from a GPU's memory.
    assert variables["XPMEM"] == {"MPICH_SMP_SINGLE_COPY_MODE": "XPMEM", "MPICH_GPU_SUPPORT_ENABLED": "0"}
    without = {name for name, value in variables.items() if value.get("MPICH_GPU_SUPPORT_ENABLED") == "0"}
    assert without == {"XPMEM", "GPU support off"}
    assert not [cell for cell in plan.cells if cell.environment in without and cell.parameters["memory"] == "device"]
    across = {cell.environment for cell in plan.cells if cell.placement == "two nodes"}
    assert across == {"default", "network path"}
