# SPDX-License-Identifier: Apache-2.0
"""The part of results.json that comparing needs, from a file or a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from slowpath.core.errors import RecordError

RESULTS_SCHEMA = 1  # of slowpath.analyse.build, which is not imported here: reading results needs no analysis


class Estimate(msgspec.Struct, frozen=True):
    """One metric and phase over launches, in the metric's unit. launch_values: shape (launches,)."""

    value: float
    launches: int
    launch_values: list[float]
    interval: list[float] | None = None
    interval_kind: str = "no kind was recorded"


class Metric(msgspec.Struct, frozen=True):
    """phases: first, steady."""

    unit: str
    better: Literal["lower", "higher"]
    phases: dict[str, Estimate]


class Cell(msgspec.Struct, frozen=True):
    """A cell of results.json (docs/reference/results.md)."""

    cell: int
    key: str
    label: str
    group: str
    experiment: str
    parameters: dict[str, str]
    environment: str
    placement: str
    status: str
    reason: str | None
    metrics: dict[str, Metric]
    mpi: str | None = None
    copy: int = 1
    wrong_bytes: int | None = None


class Environment(msgspec.Struct, frozen=True):
    """Variables of an environment under one MPI; mpi None: under every one."""

    name: str
    mpi: str | None = None
    variables: dict[str, str] = {}


class Placement(msgspec.Struct, frozen=True):
    """observed: one entry a rank."""

    name: str
    bind: str | None = None
    spread: str | None = None
    nodes: int | None = None
    ranks_per_node: int | None = None
    hosts: list[str] | None = None
    observed: list[dict[str, Any]] = []


class Run(msgspec.Struct, frozen=True):
    """The section `run` of results.json."""

    id: str
    campaign: str
    status: str
    slowpath: str
    started: str | None = None
    wall_s: float | None = None
    engine: str | None = None
    imported: bool = False
    mpi: dict[str, Any] = {}
    mpis: list[dict[str, Any]] = []
    machine: dict[str, Any] = {}
    environments: list[Environment] = []
    placements: list[Placement] = []
    quantum_ns: float | None = None

    def mpi_of(self, name: str | None) -> dict[str, Any]:
        """What the run says of the MPI that cells call `name`."""
        return next((one for one in self.mpis if one.get("mpi") == name), self.mpi)

    def environment_of(self, cell: Cell) -> Environment | None:
        """What the cell's environment means under its MPI; None where the run doesn't say."""
        found = (e for e in self.environments if e.name == cell.environment and e.mpi in (None, cell.mpi))
        return next(found, None)

    def placement_of(self, cell: Cell) -> Placement | None:
        """The cell's placement; None where the run doesn't say."""
        return next((p for p in self.placements if p.name == cell.placement), None)


class Results(msgspec.Struct, frozen=True):
    """What comparing reads of results.json."""

    run: Run
    cells: list[Cell]


class Source(msgspec.Struct, frozen=True):
    """Results and where they are from. folder: the run folder; None: a results.json that stands alone."""

    path: Path
    results: Results
    folder: Path | None = None

    @property
    def run(self) -> Run:
        """The section `run`."""
        return self.results.run


def read_source(path: Path) -> Source:
    """Results of a run folder, or of a results.json wherever it stands.

    A run folder whose results.json is missing or older than the end of its run is analysed anew; nothing is written.
    Raises: RecordError: nothing there, damaged, no results, or of another schema.
    """
    if path.is_file():
        whole = (path.parent / "run.json").is_file() and path.name == "results.json"
        return Source(path, decode(_content(path), path), path.parent if whole else None)
    if not path.exists():
        raise RecordError(f"{path}: does not exist; name a run folder or a results.json")
    ready, run = path / "results.json", path / "run.json"
    folder = path if run.is_file() else None
    if ready.is_file() and (folder is None or ready.stat().st_mtime >= run.stat().st_mtime):
        return Source(path, decode(_content(ready), ready), folder)
    return Source(path, _analysed(path), folder)


def decode(content: bytes, path: Path) -> Results:
    """Results from the bytes of a results.json; `path` names it in errors.  Raises: RecordError."""
    try:
        schema = msgspec.json.decode(content, type=_Versioned).schema
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(f"{path}: is not a results.json: {error}; name a run folder or its results.json") from error
    if schema < RESULTS_SCHEMA:
        raise RecordError(
            f"{path}: has results of the old schema {schema}, this slowpath reads {RESULTS_SCHEMA}; "
            "build them anew from the run folder: slowpath report RUN"
        )
    if schema > RESULTS_SCHEMA:
        raise RecordError(f"{path}: was written by a newer slowpath (schema {schema}); update slowpath to read it")
    try:
        return msgspec.json.decode(content, type=Results)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(
            f"{path}: is damaged: {error}; build it anew from the run folder: slowpath report RUN"
        ) from error


class _Versioned(msgspec.Struct):
    schema: int


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror or error}; check its permissions") from error


def _analysed(folder: Path) -> Results:
    from slowpath.analyse.build import build_results  # numpy and scipy: only where there are no results yet

    return msgspec.convert(build_results(folder), type=Results)
