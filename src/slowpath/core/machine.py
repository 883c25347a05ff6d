# SPDX-License-Identifier: Apache-2.0
"""What run.json and results.json state of a machine and of an MPI, as far as anybody reads it. Pure.

Both may hold more: a later slowpath or a site may add facts, which reports list as they are.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from slowpath.core.limits import DEEPEST, LARGEST, LARGEST_NUMBER, LONGEST_TEXT, MOST_VALUES, Name, Number, Text
from slowpath.core.place import PlaceFacts

# Values whose shape the record leaves open: facts of a machine, of an MPI, of an engine. Held to the limits.

Shape = TypeVar("Shape")


def require_small(value: Any) -> None:
    """Check the size of a value from a record.

    Raises: ValueError: it is nested too deeply, has too many values, or one that no program of ours writes.
    """
    left = MOST_VALUES
    level = [value]
    for _ in range(DEEPEST):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below += [*item.keys(), *item.values()]
            elif isinstance(item, list | tuple):
                below += item
            else:
                _require_plain(item)
        left -= len(below)
        if left < 0:
            raise ValueError(f"Expected at most {MOST_VALUES} values")
        if not below:
            return
        level = below
    raise ValueError(f"Expected at most {DEEPEST} lists and objects within each other")


def _require_plain(value: Any) -> None:
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        raise ValueError(f"Expected text of at most {LONGEST_TEXT} characters, got {len(value)}")
    if isinstance(value, int) and abs(value) > LARGEST:
        raise ValueError(f"Expected a whole number of at most {LARGEST}")
    if isinstance(value, float) and not (math.isfinite(value) and abs(value) <= LARGEST_NUMBER):
        raise ValueError(f"Expected a number of at most {LARGEST_NUMBER:g}")


def require_shape(values: Any, shape: type[Shape]) -> Shape:
    """Return what is known of `values`, typed; more may be in it, within the limits.

    Raises: ValueError: a fact is of another kind than `shape` has it.
    """
    require_small(values)
    try:
        return msgspec.convert(values, shape)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error


_Count = Annotated[int, Meta(ge=0, le=LARGEST)]


class EngineFacts(msgspec.Struct, frozen=True):
    """Facts by which an engine is found again."""

    key: Name | None = None
    compiler: Text | None = None
    path: Text | None = None


class OtherProcess(msgspec.Struct, frozen=True):
    """A process that is none of Slowpath's. cores: that it kept busy."""

    name: Name
    pid: _Count
    cores: Number


class Others(msgspec.Struct, frozen=True):
    """What other processes took of the processors on which ranks may run, over some seconds without any launch.

    processors: how many there are.  cores: of them that others kept busy, the kernel and other virtual machines
    included.  processes: those that took most, the busiest first.
    """

    seconds: Number
    processors: _Count
    cores: Number
    processes: list[OtherProcess] = []


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
    others: Others | None = None
    place: PlaceFacts | None = None
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
    """Check the facts of a machine that are read.  Raises: ValueError: a fact is of another type."""
    _require("machine", machine, MachineFacts)


def require_mpi(mpi: dict[str, Any]) -> None:
    """Check the facts of an MPI that are read.  Raises: ValueError: as `require_machine`."""
    _require("mpi", mpi, MpiFacts)


def require_engine(engine: dict[str, Any]) -> None:
    """Check the facts of an engine that are read.  Raises: ValueError: as `require_machine`."""
    _require("engine", engine, EngineFacts)


def _require(name: str, values: dict[str, Any], shape: type[msgspec.Struct]) -> None:
    try:
        require_shape(values, shape)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
