# SPDX-License-Identifier: Apache-2.0
"""What run.json and results.json state of a machine and of an MPI, as far as anybody reads it. Pure.

Both may hold more: a later slowpath or a site may add facts, which reports list as they are.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from slowpath.core.limits import LARGEST, Name, Number, Text
from slowpath.core.open_values import require_shape

_Count = Annotated[int, Meta(ge=0, le=LARGEST)]


class EngineFacts(msgspec.Struct, frozen=True):
    """Facts by which an engine is found again."""

    key: Name | None = None
    compiler: Text | None = None
    path: Text | None = None


class MachineFacts(msgspec.Struct, frozen=True):
    """Facts by which runs are compared and places are judged. None: not known."""

    host: Name | None = None
    processor: Name | None = None
    processors: _Count | None = None
    processors_allowed: Text | None = None
    processor_groups: dict[Name, list[Text]] | None = None
    memory_bytes: _Count | None = None
    gpus: list[Name] | None = None  # model of each
    distribution: Name | None = None
    kernel: Name | None = None
    huge_pages: Name | None = None
    governor: Name | None = None
    load: list[Number] | None = None
    variables: dict[Name, Text] | None = None
    engine: EngineFacts | None = None


class MpiFacts(msgspec.Struct, frozen=True):
    """Facts by which an MPI is found again, and that results.json takes over."""

    short_name: Name | None = None
    name: Name | None = None
    version: Name | None = None
    transport: Name | None = None
    vendor: Text | None = None
    mpiexec: Text | None = None
    launcher: Name | None = None
    abi: Name | None = None
    standard_abi: bool | None = None
    prefix: Text | None = None
    source: Text | None = None
    env: dict[Name, Text] | None = None
    engine: EngineFacts | None = None


def require_machine(machine: dict[str, Any]) -> None:
    """Raises: ValueError: a fact that is read is of another kind."""
    _require("machine", machine, MachineFacts)


def require_mpi(mpi: dict[str, Any]) -> None:
    """Raises: ValueError: as `require_machine`."""
    _require("mpi", mpi, MpiFacts)


def require_engine(engine: dict[str, Any]) -> None:
    """Raises: ValueError: as `require_machine`."""
    _require("engine", engine, EngineFacts)


def _require(name: str, values: dict[str, Any], shape: type[msgspec.Struct]) -> None:
    try:
        require_shape(values, shape)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
