# SPDX-License-Identifier: Apache-2.0
"""Why no rank left a record: one line that says what is in the way, and what to do."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from slowpath.run.engine.elf import dynamic
from slowpath.watch.start.environment import needs_sanitizer_option

_INTERPRETER, _HEADER_BYTES = 3, 64  # p_type PT_INTERP; of an ELF file of 64 bits
_CAPABILITIES = "security.capability"  # capabilities(7): ld.so drops LD_PRELOAD of such programs, as of setuid ones
_MACHINES = {62: "x86-64", 183: "aarch64", 243: "RISC-V", 21: "ppc64", 3: "x86", 40: "arm"}
# What may call MPI without naming it: interpreters open it at run time.
_INTERPRETERS = ("python", "julia", "perl", "ruby", "java", "Rscript", "R")


@dataclass(frozen=True)
class Program:
    """An ELF program. kind: bits.  has_interpreter: ld.so starts it, and preloads for it."""

    bits: Literal[32, 64]
    machine: int
    has_interpreter: bool


def program_header(path: Path) -> Program | None:
    """None: no ELF file that can be read, as a script.  Source: System V ABI, chapters 4 and 5."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEADER_BYTES)
            if len(head) < _HEADER_BYTES or head[:4] != b"\x7fELF" or head[5] != 1:
                return None
            machine = struct.unpack_from("<H", head, 18)[0]
            if head[4] != 2:
                return Program(32, machine, True)
            offset, size, count = struct.unpack_from("<Q14xHH", head, 32)
            file.seek(offset)
            table = file.read(size * count)
    except OSError:
        return None
    kinds = [struct.unpack_from("<I", table, at)[0] for at in range(0, len(table) - 3, size)] if size else []
    return Program(64, machine, _INTERPRETER in kinds)


def why_no_record(
    programs: Sequence[Path],
    library: Path,
    room: str | None = None,
    failed: tuple[int, int] = (0, 0),
    exit_code: int | None = None,
) -> str:
    """One line by what is known: notes of the library, then the programs, then how the command ended.

    Args: programs: of the command, without launchers.  room: why the folder takes nothing; None: it does.
          failed: as records.starts_that_failed.  exit_code: of the command; None: not known, or a signal.
    """
    if room is not None:
        return room
    count, returned = failed
    if count:
        how = f"returned an error in {returned} of" if returned else "did not return in"
        return f"MPI_Init {how} {count} process{'es' * (count > 1)}; the program's own messages tell why"
    wanted = program_header(library)
    elf = [(path, found) for path in programs if (found := program_header(path)) is not None]
    for path, program in elf:
        if reason := _refuses(path, program, wanted):
            return reason
    named = [path for path, _ in elf]
    if named and not any(_may_call_mpi(path) for path in named):
        return (
            f"{named[-1]} is linked with no MPI library, so it never called MPI_Init; watch the command that "
            "starts the ranks"
        )
    if exit_code:
        who = named[-1].name if named else "the command"
        hint = ""
        if not any(needs_sanitizer_option(path) for path in named):  # else the option was set
            hint = "; a program with AddressSanitizer that a script starts needs ASAN_OPTIONS=verify_asan_link_order=0"
        return (
            f"{who} ended with exit code {exit_code}, and no process called MPI_Init with the library preloaded; the "
            f"command's own messages tell why{hint}"
        )
    what = f"{named[-1]} never called MPI_Init" if named else "the command started no program that called MPI_Init"
    return (
        f"{what}, or its launcher hands LD_PRELOAD and SLOWPATH_WATCH not on to ranks: set them in the job script "
        "(slowpath watch --print-environment prints them), then: slowpath watch --from FOLDER"
    )


def _refuses(path: Path, program: Program, library: Program | None) -> str | None:
    if library is not None and (program.bits, program.machine) != (library.bits, library.machine):
        there, here = _named(program), _named(library)
        return f"{path} is a program for {there}, and the library that watches is for {here}: it can't be preloaded"
    if not program.has_interpreter:
        return f"{path} is linked statically, so nothing can be preloaded into it; link it without -static"
    try:
        mode = path.stat().st_mode
        special = "setuid or setgid" if mode & (stat.S_ISUID | stat.S_ISGID) else ""
        special = special or ("a program with capabilities" if _CAPABILITIES in os.listxattr(path) else "")
    except OSError:
        return None
    if special:
        return f"{path} is {special}, for which ld.so ignores LD_PRELOAD; watch a copy without (cp makes one)"
    return None


def _named(program: Program) -> str:
    return f"{_MACHINES.get(program.machine, f'machine {program.machine}')} ({program.bits} bits)"


def _may_call_mpi(path: Path) -> bool:
    """Whether it links MPI, or libraries that may, or opens them at run time."""
    if path.name.startswith(_INTERPRETERS):
        return True
    found = dynamic(path)
    if found is None:
        return True
    own = ("libc.", "libm.", "libpthread.", "libdl.", "librt.", "libgcc_s.", "libstdc++.", "ld-linux", "libgomp.")
    others = [name for name in found.needed if not name.startswith(own)]
    return bool(others) or "libdl.so.2" in found.needed
