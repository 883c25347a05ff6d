# SPDX-License-Identifier: Apache-2.0
"""The run folder: made, written without half-written files, and read with one clear line for whatever is
wrong.
"""

from __future__ import annotations

import contextlib
import os
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from slowpath.errors import EnvironmentFailure, RecordError

RUN_SCHEMA = 1
DEFAULT_PARENT = Path("slowpath-runs")


class RunInfo(msgspec.Struct, frozen=True):
    """run.json: who, when, where, with what. Times are ISO 8601 with the offset from UTC."""

    schema: int
    id: str
    campaign: str
    title: str
    campaign_sha256: str
    slowpath: str  # version
    started: str | None = None  # None: an imported run, whose logs do not say
    finished: str | None = None
    wall_s: float | None = None
    status: str = "running"  # running | complete | interrupted | partial
    engine: str | None = None  # version; None for an imported run
    seed: int | None = None
    ranks: int | None = None
    imported: bool = False
    command: list[str] = []  # how to run it again
    mpi: dict[str, Any] = {}
    machine: dict[str, Any] = {}
    notes: list[str] = []


class FailedCell(msgspec.Struct, frozen=True):
    """A cell that gave no usable samples in one launch."""

    cell: int
    status: str  # skipped | failed | hung | crashed
    reason: str


class LaunchInfo(msgspec.Struct, frozen=True):
    """launch.json: one start of the MPI job, written when it is over."""

    launch: int
    round: int
    environment: str
    placement: str
    argv: list[str] = []
    variables: dict[str, str] = {}
    started: str | None = None
    finished: str | None = None
    wall_s: float | None = None
    return_code: int | None = None
    ended: str = "ok"  # ok | failed | crashed | hung | interrupted | not started
    reason: str | None = None
    failed_cells: list[FailedCell] = []
    continues: int | None = None  # the launch whose remaining cells this one measures


def create_run_folder(campaign: str, out: Path | None = None, now: datetime | None = None) -> Path:
    """A new run folder that holds nothing but an empty `launches`: `out`, or
    slowpath-runs/CAMPAIGN-YYYYMMDD-HHMMSS.

    Raises: EnvironmentFailure if it can't be made, or is not empty.
    """
    if out is not None:
        return _claim(out)
    stamp = (now or datetime.now()).strftime("%Y%m%d-%H%M%S")
    for attempt in range(1, 100):
        path = DEFAULT_PARENT / (f"{campaign}-{stamp}" + (f"-{attempt}" if attempt > 1 else ""))
        if not path.exists():
            return _claim(path)
    raise EnvironmentFailure(f"{DEFAULT_PARENT}: 99 runs began in this second; wait a second and try again")


def _claim(path: Path) -> Path:
    """Of two runs that want one folder at the same time, the one whose mkdir of `launches` succeeds gets
    it.
    """
    taken = f"{path}: is not empty; a run needs its own folder: name a new one, or continue with: slowpath resume"
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise EnvironmentFailure(taken)
        (path / "launches").mkdir()
    except FileExistsError as error:
        reason = f"{path}: is a file, not a folder; name another one" if path.is_file() else taken
        raise EnvironmentFailure(reason) from error
    except OSError as error:
        raise _cannot("make the run folder", path, error) from error
    return path


def _cannot(action: str, path: Path, error: OSError) -> EnvironmentFailure:
    return EnvironmentFailure(
        f"cannot {action} {path}: {error.strerror or error}; free or name another place with --out"
    )


def launch_folder(run: Path, launch: int) -> Path:
    """Where launch number `launch` keeps its files."""
    return run / "launches" / f"{launch:06d}"


def write_atomically(path: Path, content: bytes | str) -> None:
    """Writes beside `path` and renames, so that a reader never sees half a file; an existing file is
    replaced.

    Raises: EnvironmentFailure if the disk is full, read-only or gone; `path` is then as it was before.
    """
    data = content.encode() if isinstance(content, str) else content
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise _cannot("write", path, error) from error


def read_bytes(path: Path) -> bytes:
    """Content of a file of a run folder.  Raises: RecordError if it is missing or can't be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise RecordError(f"{path}: is missing; is {path.parent} a run folder?") from error
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror or error}") from error


def write_run(run: Path, info: RunInfo) -> None:
    """Writes run.json.  Raises: EnvironmentFailure."""
    write_atomically(run / "run.json", _json(info))


def write_launch(run: Path, info: LaunchInfo) -> None:
    """Writes launch.json of a launch that is over, into its folder.  Raises: EnvironmentFailure."""
    write_atomically(launch_folder(run, info.launch) / "launch.json", _json(info))


def _json(info: RunInfo | LaunchInfo) -> bytes:
    return msgspec.json.format(msgspec.json.encode(info), indent=1) + b"\n"


def read_run(run: Path) -> RunInfo:
    """run.json of a run folder.  Raises: RecordError if it is missing, damaged or from a newer version."""
    if not run.is_dir():
        raise RecordError(f"{run}: {'is not a folder' if run.exists() else 'does not exist'}; name a run folder")
    path = run / "run.json"
    content = read_bytes(path)
    schema = _decoded(content, _Versioned, path).schema
    if schema > RUN_SCHEMA:
        raise RecordError(f"{path}: was written by a newer slowpath (schema {schema}); update slowpath to read it")
    return _decoded(content, RunInfo, path)


def read_launches(run: Path) -> list[LaunchInfo]:
    """launch.json of every launch that is over, by number; a launch folder without one was cut short and is
    left out.

    Raises: RecordError if one is damaged, or the run has no `launches`.
    """
    parent = run / "launches"
    if not parent.is_dir():
        raise RecordError(f"{parent}: is missing; is {run} a run folder?")
    paths = [folder / "launch.json" for folder in sorted(parent.iterdir()) if folder.name.isdigit()]
    infos = [_decoded(read_bytes(path), LaunchInfo, path) for path in paths if path.exists()]
    return sorted(infos, key=lambda info: info.launch)


class _Versioned(msgspec.Struct):
    schema: int


Decoded = TypeVar("Decoded")


def _decoded(content: bytes, kind: type[Decoded], path: Path) -> Decoded:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RecordError(f"{path}: is damaged: {error}; measure again, or restore the file from a copy") from error
