# SPDX-License-Identifier: Apache-2.0
"""The run folder: made, written without half-written files, and read with one clear line for whatever is
wrong.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from slowpath.core.errors import EnvironmentFailure, RecordError, UsageError, unreadable
from slowpath.core.files import (
    RESTORE,
    cannot,
    dated_folder,
    decoded,
    inside,
    json_bytes,
    missing,
    read_bytes,
    read_versioned,
    require_utf8,
    write_atomically,
)
from slowpath.core.machine import MachineFacts, MpiFacts, require_facts
from slowpath.core.plan import CellNumber, Count, Ranks
from slowpath.core.result import FILE_BYTES, LONGEST_ID, MOST_LAUNCHES, LongText, Name, Whole

RUN_SCHEMA = 1
DEFAULT_PARENT = Path("slowpath-runs")
# Marks a launch folder that does not count: cut off before its end was recorded, or damaged since.
SUPERSEDED = "superseded"
MOST_MACHINES = 200  # that a run is resumed on
Ended = Annotated[str, Meta(pattern="^(ok|failed|crashed|hung|interrupted|not started)$")]
CellEnded = Annotated[str, Meta(pattern="^(skipped|failed|hung|crashed)$")]
Seconds = Annotated[float, Meta(ge=0, le=1e12)]
_LAUNCH = re.compile(r"[0-9]{6}|[1-9][0-9]{6,9}")  # as launch_folder has it


class RunInfo(msgspec.Struct, frozen=True):
    """run.json: who, when, where, with what. Times are ISO 8601 with the offset from UTC."""

    schema: Whole
    id: Annotated[str, Meta(max_length=LONGEST_ID)]
    campaign: Name
    title: Name
    slowpath: Name  # version
    started: Name | None = None  # None: an imported run, whose logs do not say
    finished: Name | None = None
    wall_s: Seconds | None = None
    status: Literal["running", "complete", "interrupted", "partial"] = "running"
    engine: Name | None = None  # version; None for an imported run
    seed: Whole | None = None
    ranks: Ranks | None = None
    imported: bool = False
    command: list[LongText] = []  # how to run it again
    mpi: dict[str, Any] = {}  # the first of them
    mpis: list[dict[str, Any]] = []  # each MPI of the run, with its short_name and engine; []: an old run, with one
    machine: dict[str, Any] = {}
    notes: list[LongText] = []
    # Further ones, on which it was resumed; LaunchInfo.machine counts from 1.
    machines: Annotated[list[dict[str, Any]], Meta(max_length=MOST_MACHINES)] = []

    def __post_init__(self) -> None:
        for machine in (self.machine, *self.machines):
            require_facts("machine", machine, MachineFacts)
        for mpi in (self.mpi, *self.mpis):
            require_facts("mpi", mpi, MpiFacts)

    @property
    def measured_on(self) -> list[dict[str, Any]]:
        """Every machine that launches may name, its own first; `engines`: key of the engine by the MPI's name."""
        stated = self.mpis or [{**self.mpi, "engine": self.machine.get("engine")}]
        engines = {str(engine.get("short_name")): engine_key_of(engine) for engine in stated}
        return [{**self.machine, "engines": {name: key for name, key in engines.items() if key}}, *self.machines]


def engine_key_of(mpi: dict[str, Any]) -> str | None:
    """Key of the engine in what run.json states of an MPI; None: it states none."""
    engine = mpi.get("engine")
    key = engine.get("key") if isinstance(engine, dict) else None
    return key if isinstance(key, str) else None


class FailedCell(msgspec.Struct, frozen=True):
    """A cell that gave no usable samples in one launch."""

    cell: CellNumber
    status: CellEnded
    reason: LongText


class LaunchInfo(msgspec.Struct, frozen=True):
    """launch.json: one start of the MPI job, written when it is over."""

    launch: CellNumber
    round: Count
    environment: Name
    placement: Name
    argv: list[LongText] = []
    variables: dict[Name, LongText] = {}
    started: Name | None = None
    finished: Name | None = None
    wall_s: Seconds | None = None
    return_code: Whole | None = None
    ended: Ended = "ok"
    reason: LongText | None = None
    failed_cells: list[FailedCell] = []
    continues: CellNumber | None = None  # the launch whose remaining cells this one measures
    mpi: Name | None = None  # short name of its MPI; None: from before there could be several
    machine: Count = 0  # on which it ran: 0: run.json's machine; 1, 2, ...: one of its further machines


def create_run_folder(campaign: str, out: Path | None = None, now: datetime | None = None) -> Path:
    """A new run folder that holds nothing but an empty `launches`: `out`, or
    slowpath-runs/CAMPAIGN-YYYYMMDD-HHMMSS.

    Raises: EnvironmentFailure if it can't be made, or is not empty.
    """
    return _claim(out or dated_folder(DEFAULT_PARENT, campaign, now))


TAKEN = "is taken; name a new folder, or continue with: slowpath run --resume"


def require_free(path: Path) -> None:
    """Refuse a folder that holds anything, and a file in its place.

    Raises: EnvironmentFailure.
    """
    require_utf8(path.absolute())
    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise EnvironmentFailure(f"{path}: {TAKEN}")


def _claim(path: Path) -> Path:
    """Claim the folder: of two runs that want it at the same time, the one whose mkdir of `launches` succeeds gets
    it.
    """
    require_free(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        (path / "launches").mkdir()
    except FileExistsError as error:
        raise EnvironmentFailure(f"{path}: {TAKEN}") from error
    except OSError as error:
        raise cannot("make the run folder", path, error) from error
    return path


def launch_folder(run: Path, launch: int) -> Path:
    """Return where launch number `launch` keeps its files."""
    return run / "launches" / f"{launch:06d}"


def settle(folder: Path) -> None:
    """Bring the record of a launch to the disk, before launch.json says that it counts.

    Else a power cut could leave launch.json and take the samples that it stands for (fsync(2) of a file does not
    reach its entry in the folder, so that is settled, too). An engine that came to its end has synced both files.
    """
    for path in (folder / "events.jsonl", folder / "samples.blk", folder):
        _sync(path)


def _sync(path: Path) -> None:
    """Best effort: some file systems refuse fsync of a folder, and a disk that fails is met by the next write."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_run(run: Path, info: RunInfo) -> None:
    """Writes run.json.  Raises: EnvironmentFailure."""
    write_atomically(run / "run.json", _json(info))


def write_launch(run: Path, info: LaunchInfo) -> None:
    """Writes launch.json of a launch that is over, into its folder.  Raises: EnvironmentFailure."""
    write_atomically(launch_folder(run, info.launch) / "launch.json", _json(info))


def _json(info: RunInfo | LaunchInfo) -> bytes:
    try:
        return json_bytes(info)
    except UnicodeEncodeError as error:  # of run.json, before the first launch
        shown = str(error.object)[:200].encode(errors="backslashreplace").decode()
        raise UsageError(f"{shown}: is not UTF-8; rename it") from error


def read_run(run: Path) -> RunInfo:
    """run.json of a run folder.  Raises: RecordError if it is missing, damaged or of another version."""
    path = run / "run.json"
    if not path.exists():
        raise unreadable(run, "no run.json", "name a run folder")
    return read_versioned(path, RunInfo, RUN_SCHEMA)


def read_launches(run: Path) -> list[LaunchInfo]:
    """launch.json of every launch that is over, by number; a launch folder without one was cut short and is
    left out, as is one that is marked as superseded.

    Raises: RecordError if one is damaged, or the run has no `launches`.
    """
    infos = [read_launch_info(folder) for folder in launch_folders(run) if not (folder / SUPERSEDED).exists()]
    return sorted((info for info in infos if info is not None), key=lambda info: info.launch)


def launch_folders(run: Path) -> list[Path]:
    """The folders of all launches, by name; what is called otherwise is none.

    Raises: RecordError: the run has no `launches`, or too many, or one leads out of the run.
    """
    parent = inside(run, "launches")
    if not parent.is_dir():
        raise missing(parent)
    try:
        with os.scandir(parent) as entries:
            names = list(
                itertools.islice((entry.name for entry in entries if _LAUNCH.fullmatch(entry.name)), MOST_LAUNCHES + 1)
            )
    except OSError as error:
        raise unreadable(parent, error) from error
    if len(names) > MOST_LAUNCHES:
        raise unreadable(parent, f"it holds over {MOST_LAUNCHES} launches", RESTORE)
    return [inside(run, Path("launches") / name) for name in sorted(names)]


def read_launch_info(folder: Path) -> LaunchInfo | None:
    """launch.json of one launch; None: it was cut short.  Raises: RecordError if it is damaged."""
    path = folder / "launch.json"
    if not path.exists():
        return None
    try:
        info = decoded(read_bytes(path, FILE_BYTES["launch.json"], within=folder), LaunchInfo, path)
        if folder.name != launch_folder(folder, info.launch).name:
            raise unreadable(path, f"it is of launch {info.launch}", RESTORE)
    except RecordError as error:
        raise RecordError(f"{error}; or set it aside with: slowpath run --resume") from error
    return info
