# SPDX-License-Identifier: Apache-2.0
"""The folder of a watched program: its files by name, and watch.json, which `slowpath watch` writes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from slowpath.core.files import decoded, inside, json_bytes, read_bytes, require_schema, write_atomically
from slowpath.core.machine import PlaceFacts
from slowpath.core.result import LongText, Name, NotNegative, Whole

WATCH_FILE = "watch.json"
RANKS_FOLDER = "ranks"
RECORD_SUFFIX = ".watch"
SCHEMA: Final = 1
MOST_WORDS = 100_000  # of a command line
_ADVICE = "name a folder that slowpath watch wrote"


class WatchLauncher(msgspec.Struct, frozen=True, kw_only=True):
    """The launcher in a watched command.

    path     where it lay when the command was started.  name: in mpi.launchers
    library  name of the MPI library that it came with, and its version; None: it is a batch system's, or not known
    """

    path: LongText
    name: Name
    library: Name | None = None
    version: Name | None = None


class WatchInfo(msgspec.Struct, frozen=True, kw_only=True):
    """watch.json: the run as it was started, and how it ended.

    command       as it was given; empty: started by hand (slowpath watch --print-environment)
    started       ISO 8601, UTC.  wall_s: from start to end; None: it still runs, or was started by hand
    exit_code     None: a signal ended it, or it was not ended yet.  interrupted: the user asked it to stop
    working_folder  in which it was started.  host: where.  stdin: the file that it read; None: no file
    variables     of the user's that steer MPI, as they may be recorded; variables_not_recorded: name -> why not
    library       path of the preloaded library.  notes: what its start made clear, a line each
    until         CLOCK_REALTIME in seconds when it was asked to stop, else when it ended; None: as wall_s
    place         where it was started; None: it was started by hand
    launcher      the one that the command names; None: none
    ran_s         processor time of the command and of all that it started on its host; None: not known
    """

    schema: Whole = SCHEMA
    slowpath: Name
    command: Annotated[tuple[LongText, ...], Meta(max_length=MOST_WORDS)]
    started: Name
    working_folder: LongText
    host: Name
    library: LongText
    stdin: LongText | None = None
    variables: dict[str, LongText] = {}
    variables_not_recorded: dict[str, LongText] = {}
    wall_s: NotNegative | None = None
    ran_s: NotNegative | None = None
    exit_code: Whole | None = None
    signal: Whole | None = None
    interrupted: bool = False
    until: NotNegative | None = None
    notes: tuple[LongText, ...] = ()
    launcher: WatchLauncher | None = None
    place: PlaceFacts | None = None


def is_watch(folder: Path) -> bool:
    """Whether `slowpath watch` made this folder."""
    return (folder / WATCH_FILE).is_file()


def read_watch(folder: Path) -> WatchInfo:
    """Raises: RecordError: it is missing, damaged, or from a newer version."""
    path = folder / WATCH_FILE
    content = read_bytes(path, within=folder)
    require_schema(content, path, SCHEMA, _ADVICE)
    return decoded(content, WatchInfo, path, _ADVICE)


def write_watch(folder: Path, info: WatchInfo) -> None:
    """Raises: EnvironmentFailure: the disk refuses."""
    write_atomically(folder / WATCH_FILE, json_bytes(info))


def record_files(folder: Path) -> list[Path]:
    """Records of ranks, by name; those that lead out of the folder are left out."""
    ranks = inside(folder, RANKS_FOLDER)
    paths = sorted(path for path in ranks.glob(f"*{RECORD_SUFFIX}")) if ranks.is_dir() else []
    return [path for path in paths if path.is_file() and not path.is_symlink()]
