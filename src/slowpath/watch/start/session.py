# SPDX-License-Identifier: Apache-2.0
"""One watch from the folder to watch.json: prepared, started, and how it ended."""

from __future__ import annotations

import os
import shlex
import socket
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from slowpath.core.errors import EnvironmentFailure, UsageError
from slowpath.core.files import cannot, require_utf8
from slowpath.core.version import __version__
from slowpath.mpi.recorded_variables import recorded_variables
from slowpath.run.engine.meter import Tell
from slowpath.run.place import place_here
from slowpath.watch.folder import RANKS_FOLDER, WatchInfo, WatchLauncher, read_watch, write_watch
from slowpath.watch.place import started_in
from slowpath.watch.start.command import CommandEnd, remember, require_program, run_to_end
from slowpath.watch.start.environment import (
    WatchedCommand,
    is_launcher,
    launcher_in,
    program_name,
    programs_in,
    watched,
)
from slowpath.watch.start.library import find_library
from slowpath.watch.start.records import (
    headers,
    missing_ranks,
    starts_that_failed,
    truncated,
    why_no_record,
    without_room,
)

DEFAULT_PARENT = Path("slowpath-watches")


@dataclass(frozen=True)
class PreparedWatch:
    """What will be started. folder: of the watch, not made yet.  launcher: that the command names."""

    command: tuple[str, ...]
    library: Path
    folder: Path
    watched: WatchedCommand
    launcher: WatchLauncher | None = None


def prepare(
    command: Sequence[str],
    out: Path | None,
    environ: Mapping[str, str],
    tell: Tell,
    library: Path | None = None,
    now: datetime | None = None,
) -> PreparedWatch:
    """The command with the library preloaded; nothing is made or started but, where there is none, the library.

    Raises: SlowpathError: the command can't be started, or there is no library.
    """
    if command:
        require_program(command, environ)
    found = find_library(environ, tell, library)
    folder = (out if out is not None else _default_folder(command, environ, now)).absolute()
    require_utf8(folder)
    launcher = launcher_in(command, environ)
    first = launcher.name if launcher is not None and is_launcher(command[0]) else ""
    ready = watched(command, first, found, folder, environ)
    return PreparedWatch(tuple(command), found, folder, ready, launcher)


def make_folder(prepared: PreparedWatch, environ: Mapping[str, str]) -> WatchInfo:
    """The folder with its first watch.json.

    Raises: UsageError: it is not empty.  EnvironmentFailure: the disk refuses.
    """
    folder, taken = prepared.folder, f"{prepared.folder}: is not empty; choose a new folder for the watch"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(taken)
        (folder / RANKS_FOLDER).mkdir()
    except FileExistsError as error:
        raise UsageError(f"{folder}: is a file, not a folder; name another one") from error
    except OSError as error:
        raise cannot("make the folder", folder, error) from error
    kept, hidden = recorded_variables(environ)
    info = WatchInfo(
        slowpath=__version__,
        command=prepared.command,
        started=datetime.now(UTC).isoformat(timespec="milliseconds"),
        working_folder=os.getcwd(),
        host=socket.gethostname(),
        library=str(prepared.library),
        stdin=_stdin_file(),
        variables=kept,
        variables_not_recorded=hidden,
        notes=prepared.watched.notes,
        launcher=prepared.launcher,
        place=place_here(),
    )
    write_watch(folder, info)
    remember(info, environ)
    return info


def run_watched(
    prepared: PreparedWatch,
    info: WatchInfo,
    environ: Mapping[str, str],
    hang_after_s: float | None = None,
    hangs: Callable[[], bool] | None = None,
) -> CommandEnd:
    """Start the command and wait for its end; that is added to watch.json.

    Args:   hang_after_s: it is stopped when nothing moved for so long, which `hangs` says; None: never.
    Raises: NotFound, NotStarted.  EnvironmentFailure: the end can't be recorded; the command's own is lost then.
    """
    ended = run_to_end(prepared.watched.argv, {**environ, **prepared.watched.variables}, hangs)
    changed = msgspec.structs.replace(
        info,
        wall_s=ended.wall_s,
        exit_code=ended.code,
        signal=ended.signal,
        interrupted=ended.interrupted,
        until=ended.until,
        hang_after_s=hang_after_s,
        hung=ended.hung,
    )
    try:
        write_watch(prepared.folder, changed)
    except EnvironmentFailure as error:
        raise Unrecorded(str(error), ended) from error
    return ended


class Unrecorded(EnvironmentFailure):
    """The command ended, and that could not be written down."""

    def __init__(self, message: str, ended: CommandEnd) -> None:
        super().__init__(message)
        self.ended = ended


def troubles(folder: Path, environ: Mapping[str, str]) -> tuple[bool, list[str]]:
    """Whether any rank left a record, and lines on what is missing.  Raises: RecordError."""
    info, found = read_watch(folder), headers(folder)
    short = truncated(folder)
    if not found and short:
        return False, [f"no rank left a record: {short}"]
    if not found:
        programs = programs_in(info.command, environ)
        failed = starts_that_failed(folder)
        reason = why_no_record(programs, Path(info.library), _room(folder), failed, info.exit_code, info.launcher)
        return False, [_with_place(f"no rank left a record: {reason}", info, failed[0])]
    return True, [line for line in (short or missing_ranks(found), without_room(found)) if line]


def _with_place(line: str, info: WatchInfo, processes: int) -> str:
    """The line behind what is wrong with where it was started; the library is the launcher's."""
    library = info.launcher.library if info.launcher is not None else None
    wrong = started_in(info, processes, library)
    return " ".join([*(f"{one.sentence} {one.action}" for one in wrong), line])


def _stdin_file() -> str | None:
    """The regular file that stdin is, from its beginning; None: it is a terminal, a pipe, or nothing."""
    try:
        if stat.S_ISREG(os.fstat(0).st_mode) and os.lseek(0, 0, os.SEEK_CUR) == 0:
            return os.readlink("/proc/self/fd/0")
    except OSError:
        pass
    return None


def _room(folder: Path) -> str | None:
    """Why nothing could be written there; None: it could."""
    free = os.statvfs(folder)
    if free.f_bavail * free.f_frsize < 64 * 1024 or (free.f_files and not free.f_favail):
        return f"the disk of {folder} is full; free space or choose another folder with -o, and watch again"
    return None


def _default_folder(command: Sequence[str], environ: Mapping[str, str], now: datetime | None) -> Path:
    """slowpath-watches/PROGRAM-YYYYMMDD-HHMMSS, with a number behind it where that is taken."""
    called = program_name(command, environ)
    name = "".join(character if character.isalnum() or character in "._-" else "_" for character in called)
    stem = f"{name}-{(now or datetime.now()).strftime('%Y%m%d-%H%M%S')}"
    numbered = (DEFAULT_PARENT / (stem if n == 1 else f"{stem}-{n}") for n in range(1, 100))
    return next((path for path in numbered if not path.exists()), DEFAULT_PARENT / stem)


def shown(prepared: PreparedWatch) -> list[str]:
    """The command line and the variables, as lines for a shell."""
    lines = [f"export {name}={shlex.quote(value)}" for name, value in prepared.watched.variables.items()]
    return [*lines, shlex.join(prepared.watched.argv)] if prepared.watched.argv else lines
