# SPDX-License-Identifier: Apache-2.0
"""What a watched command left: the headers of its records, and why records are missing, each in one line.

The layout of a record is in schema/watch.json.

One watch from the folder to watch.json: prepared, started, and how it ended.
"""

from __future__ import annotations

import itertools
import os
import shlex
import socket
import stat
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from slowpath.core.errors import EnvironmentFailure, UsageError
from slowpath.core.files import cannot, dated_folder, inside, require_utf8
from slowpath.core.version import __version__
from slowpath.mpi.libraries import abi_of_soname, library_named
from slowpath.mpi.own_settings import recorded_variables
from slowpath.run.engine.build import Tell
from slowpath.run.engine.cache import dynamic
from slowpath.run.machine import place_here
from slowpath.watch.folder import RANKS_FOLDER, WatchInfo, WatchLauncher, read_watch, record_files, write_watch
from slowpath.watch.place import started_in
from slowpath.watch.start.environment import (
    CommandEnd,
    WatchedCommand,
    is_launcher,
    launcher_in,
    program_name,
    programs_in,
    remember,
    require_program,
    run_to_end,
    watched,
)
from slowpath.watch.start.library import find_library

MAGIC = b"SPWATCH1"
_STATE = struct.Struct("<IiiiI")  # state, pid, world_rank, world_size, interface: from byte 28 on
_STATE_AT, _HOST_AT, _HEADER_BYTES = 28, 136, 256
RUNNING, FINALIZED, NO_FINALIZE, THINNING, NO_ROOM = 1, 2, 3, 4, 5


@dataclass(frozen=True)
class RecordHeader:
    """Of one record. rank and size: of MPI_COMM_WORLD, -1: not known.  state: one of the constants above."""

    path: Path
    state: int
    rank: int
    size: int


def headers(folder: Path) -> list[RecordHeader]:
    """Of each record that has a whole header."""
    records = []
    for path in record_files(folder):
        try:
            with path.open("rb") as file:
                content = file.read(_HEADER_BYTES)
        except OSError:
            continue
        if len(content) == _HEADER_BYTES and content.startswith(MAGIC):
            state, _, rank, size, _ = _STATE.unpack_from(content, _STATE_AT)
            records.append(RecordHeader(path, state, rank, size))
    return records


def starts_that_failed(folder: Path) -> int:
    """Processes that called MPI_Init and left no record."""
    ranks = inside(folder, RANKS_FOLDER)
    return sum(path.is_file() and not path.is_symlink() for path in ranks.glob("*.begun"))


def missing_ranks(headers: list[RecordHeader]) -> str | None:
    """One line where there are fewer records than ranks; None: all are there, or their number is not known."""
    size = max((header.size for header in headers), default=-1)
    there = {header.rank for header in headers if header.size == size and header.rank >= 0}
    missing = (rank for rank in range(size) if rank not in there) if there else iter(())
    absent = list(itertools.islice(missing, 6))
    if not absent:
        return None
    shown = ", ".join(map(str, absent[:5])) + (", ..." if len(absent) > 5 else "")
    return (
        f"{len(there)} of {size} ranks left a record; missing: {shown}: their node does not see this folder "
        "(choose one that all nodes see with -o), or the launcher does not pass LD_PRELOAD to it"
    )


_FULL = "{}: the disk is full; free space or choose another folder with -o, and watch again"


def without_room(headers: list[RecordHeader]) -> str | None:
    """One line where the disk was full; None: it was not."""
    count = sum(header.state == NO_ROOM for header in headers)
    if not count:
        return None
    return _FULL.format(f"{count} of {len(headers)} records")


_INTERPRETER, _ELF_HEADER_BYTES = 3, 64  # p_type PT_INTERP; of an ELF file of 64 bits
_CAPABILITIES = "security.capability"  # capabilities(7): ld.so drops LD_PRELOAD of such programs, as of setuid ones
_MACHINES = {62: "x86-64", 183: "aarch64", 243: "RISC-V", 21: "ppc64", 3: "x86", 40: "arm"}
# What may call MPI without naming it: interpreters open it at run time.
_INTERPRETERS = ("python", "julia", "perl", "ruby", "java", "Rscript", "R")


@dataclass(frozen=True)
class ElfProgram:
    """An ELF program. kind: bits.  has_interpreter: ld.so starts it, and preloads for it."""

    bits: Literal[32, 64]
    machine: int
    has_interpreter: bool


def program_header(path: Path) -> ElfProgram | None:
    """None: no ELF file that can be read, as a script.  Source: System V ABI, chapters 4 and 5."""
    try:
        with path.open("rb") as file:
            head = file.read(_ELF_HEADER_BYTES)
            if len(head) < _ELF_HEADER_BYTES or head[:4] != b"\x7fELF" or head[5] != 1:
                return None
            machine = struct.unpack_from("<H", head, 18)[0]
            if head[4] != 2:
                return ElfProgram(32, machine, True)
            offset, size, count = struct.unpack_from("<Q14xHH", head, 32)
            file.seek(offset)
            table = file.read(size * count)
    except OSError:
        return None
    kinds = [struct.unpack_from("<I", table, at)[0] for at in range(0, len(table) - 3, size)] if size else []
    return ElfProgram(64, machine, _INTERPRETER in kinds)


def why_no_record(
    programs: Sequence[Path],
    library: Path,
    room: str | None = None,
    failed: int = 0,
    exit_code: int | None = None,
    launcher: WatchLauncher | None = None,
) -> str:
    """One line by what is known: notes of the library, then the programs, then how the command ended.

    Args: programs: of the command, without launchers.  room: why the folder takes nothing; None: it does.
          failed: as records.starts_that_failed.  exit_code: of the command; None: not known, or a signal.
          launcher: of the command; None: not known.
    """
    if room is not None:
        return room
    if failed:
        why = _misfit(programs, launcher) or "see the program's own messages"
        return f"MPI_Init failed in {failed} process{'es' * (failed > 1)}; {why}"
    wanted = program_header(library)
    elf = [(path, header) for path in programs if (header := program_header(path)) is not None]
    for path, program in elf:
        if reason := _refuses(path, program, wanted):
            return reason
    named = [path for path, _ in elf]
    if named and not any(_may_call_mpi(path) for path in named):
        return f"{named[-1]} is not linked with an MPI library; watch the command that starts the ranks"
    if exit_code:
        who = named[-1].name if named else "the command"
        return f"{who} ended with exit code {exit_code} before MPI_Init; see its own messages"
    return (
        f"{named[-1] if named else 'the command'} called no MPI_Init, or its launcher passes no LD_PRELOAD to "
        f"ranks: put "
        "what slowpath watch --print-environment prints into the job script, then run: slowpath watch --from FOLDER"
    )


def _misfit(programs: Sequence[Path], launcher: WatchLauncher | None) -> str | None:
    """That the launcher is another library's, as far as the programs name theirs; None: it is not, or not known."""
    if launcher is None or launcher.library is None:
        return None
    for path in programs:
        elf = dynamic(path)
        for name in elf.needed if elf is not None else ():
            abi = abi_of_soname(name)
            if abi is not None and abi.startswith("openmpi") != (launcher.library == "openmpi"):
                library = library_named(launcher.library)
                title = library.title if library is not None else launcher.library
                return (
                    f"this {Path(launcher.path).name} ({launcher.path}, {title}) does not belong to the library "
                    f"that {path.name} needs ({name}); use that library's launcher"
                )
    return None


def _refuses(path: Path, program: ElfProgram, library: ElfProgram | None) -> str | None:
    if library is not None and (program.bits, program.machine) != (library.bits, library.machine):
        there, here = _named(program), _named(library)
        return f"{path} is a program for {there}, but the watch library, for {here}, can't be preloaded into it"
    if not program.has_interpreter:
        return f"{path} is linked statically, so nothing can be preloaded; link it without -static"
    try:
        mode = path.stat().st_mode
        special = "setuid or setgid" if mode & (stat.S_ISUID | stat.S_ISGID) else ""
        special = special or ("a program with capabilities" if _CAPABILITIES in os.listxattr(path) else "")
    except OSError:
        return None
    if special:
        return f"{path} is {special}, so ld.so ignores LD_PRELOAD; watch a copy made with cp"
    return None


def _named(program: ElfProgram) -> str:
    return f"{_MACHINES.get(program.machine, f'machine {program.machine}')} ({program.bits} bits)"


def _may_call_mpi(path: Path) -> bool:
    """Whether it links MPI, or libraries that may, or opens them at run time."""
    if path.name.startswith(_INTERPRETERS):
        return True
    elf = dynamic(path)
    if elf is None:
        return True
    own = ("libc.", "libm.", "libpthread.", "libdl.", "librt.", "libgcc_s.", "libstdc++.", "ld-linux", "libgomp.")
    others = [name for name in elf.needed if not name.startswith(own)]
    return bool(others) or "libdl.so.2" in elf.needed


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
    preload = find_library(environ, tell, library)
    folder = (out if out is not None else _default_folder(command, environ, now)).absolute()
    require_utf8(folder)
    launcher = launcher_in(command, environ)
    first = launcher.name if launcher is not None and is_launcher(command[0]) else ""
    ready = watched(command, first, preload, folder, environ)
    return PreparedWatch(tuple(command), preload, folder, ready, launcher)


def make_folder(prepared: PreparedWatch, environ: Mapping[str, str]) -> WatchInfo:
    """The folder with its first watch.json.

    Raises: UsageError: it is not empty.  EnvironmentFailure: the disk refuses.
    """
    folder, taken = prepared.folder, f"{prepared.folder}: is not an empty folder; choose a new one for the watch"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(taken)
        (folder / RANKS_FOLDER).mkdir()
    except FileExistsError as error:
        raise UsageError(taken) from error
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


def run_watched(prepared: PreparedWatch, info: WatchInfo, environ: Mapping[str, str]) -> CommandEnd:
    """Start the command and wait for its end; that is added to watch.json.

    Raises: NotFound, NotStarted.  EnvironmentFailure: the end can't be recorded; the command's own is lost then.
    """
    ended = run_to_end(prepared.watched.argv, {**environ, **prepared.watched.variables})
    changed = msgspec.structs.replace(
        info,
        wall_s=ended.wall_s,
        ran_s=ended.ran_s,
        exit_code=ended.code,
        signal=ended.signal,
        interrupted=ended.interrupted,
        until=ended.until,
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
    info, records = read_watch(folder), headers(folder)
    if not records:
        programs = programs_in(info.command, environ)
        failed = starts_that_failed(folder)
        reason = why_no_record(programs, Path(info.library), _room(folder), failed, info.exit_code, info.launcher)
        return False, [_with_place(f"no rank left a record: {reason}", info, failed)]
    return True, [line for line in (missing_ranks(records), without_room(records)) if line]


def _with_place(line: str, info: WatchInfo, processes: int) -> str:
    """The line behind what is wrong with where it was started; the library is the launcher's."""
    library = info.launcher.library if info.launcher is not None else None
    wrong = started_in(info, processes, library)
    return " ".join([*(f"{fault.sentence} {fault.action}" for fault in wrong), line])


def _stdin_file() -> str | None:
    """The regular file that stdin is, from its beginning; None: it is a terminal, a pipe, or nothing."""
    try:
        if stat.S_ISREG(os.fstat(0).st_mode) and os.lseek(0, 0, os.SEEK_CUR) == 0:
            return os.readlink("/proc/self/fd/0")
    except OSError:
        pass
    return None


def _room(folder: Path) -> str | None:
    free = os.statvfs(folder)
    if free.f_bavail * free.f_frsize < 64 * 1024 or (free.f_files and not free.f_favail):
        return _FULL.format(folder)
    return None


def _default_folder(command: Sequence[str], environ: Mapping[str, str], now: datetime | None) -> Path:
    called = program_name(command, environ)
    name = "".join(character if character.isalnum() or character in "._-" else "_" for character in called)
    return dated_folder(DEFAULT_PARENT, name, now)


def shown(prepared: PreparedWatch) -> list[str]:
    """The command line and the variables, as lines for a shell."""
    lines = [f"export {name}={shlex.quote(value)}" for name, value in prepared.watched.variables.items()]
    return [*lines, shlex.join(prepared.watched.argv)] if prepared.watched.argv else lines
