# SPDX-License-Identifier: Apache-2.0
"""Starting a program so that a function's calls in it, and in what it starts, are counted."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from slowpath.core.errors import EnvironmentFailure, UsageError
from slowpath.core.resources import data_folder
from slowpath.core.signals import Action, handled, held_back
from slowpath.run.choose import launcher_in
from slowpath.run.engine.cache import Engine, source_hash
from slowpath.run.engine.describe import answer_of
from slowpath.run.engine.usable import usable_engines
from slowpath.run.libraries import one_library
from slowpath.run.starting import start_users
from slowpath.studies.counting.model import ProcessCount
from slowpath.studies.counting.read import Name, Place

# Whether counting came to something.

DONE = 0


def exit_code(counts: Sequence[ProcessCount], function: str, ended: int) -> int:
    """DONE, where something was counted or nothing was called.

    ended: the program's exit code, negative for a signal.
    Raises: EnvironmentFailure: the program failed, no process had the function, or no call could be counted.
    """
    if ended != 0:
        how = f"was ended by {_signal(-ended)}" if ended < 0 else f"ended with exit code {ended}"
        raise EnvironmentFailure(f"the program {how}; counts up to then are shown")
    if not counts:
        raise EnvironmentFailure(
            f"no process started here loads a library with a function {function}. Is the name right (Fortran "
            "programs call mpi_put_, C programs MPI_Put)? Is the program linked statically and stripped? Does the "
            "launcher start it elsewhere or without LD_PRELOAD? Then try: LAUNCHER slowpath count ... -- PROGRAM"
        )
    hopeless = [count for count in counts if not count.counted and (count.troubles or count.calls)]
    if hopeless and not any(count.counted for count in counts):
        raise EnvironmentFailure(f"no call of {function} could be counted, for the reasons above")
    return DONE


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


@dataclass(frozen=True)
class Wish:
    """What to count: `calls` calls of `function` in each process, after `skip` that are let through."""

    function: str
    calls: int
    skip: int
    method: str
    most: int | None = None


def prepare_folder(folder: Path) -> Path:
    """Made if need be, absolute. Raises UsageError if it holds counts, EnvironmentFailure if it can't be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.glob("*.jsonl")):
            raise UsageError(f"--out {folder}: already contains counts; choose another folder")
    except OSError as error:
        raise EnvironmentFailure(f"--out {folder}: it can't be made or read: {error.strerror or error}") from error
    return folder.absolute()


def command_line(wish: Wish, command: Sequence[str], folder: Path, tools: Tools) -> list[str]:
    """Return what to start. `folder` must be absolute."""
    if wish.method != "ptrace":
        return list(command)
    most = [] if wish.most is None else ["--most", str(wish.most)]
    options = ["--call", wish.function, "--calls", str(wish.calls), "--skip", str(wish.skip), *most]
    return [str(tools.path(TRACER)), *options, "--folder", str(folder), "--", *command]


def variables(wish: Wish, folder: Path, tools: Tools, environ: Mapping[str, str]) -> dict[str, str]:
    """Return what to set, so that every process that is started loads the library; launchers hand it on."""
    if wish.method != "trap":
        return {}
    made = {
        "LD_PRELOAD": ":".join(filter(None, [str(tools.path(LIBRARY)), environ.get("LD_PRELOAD", "")])),
        "SLOWPATH_COUNT_CALL": wish.function,
        "SLOWPATH_COUNT_FOLDER": str(folder),
        "SLOWPATH_COUNT_CALLS": str(wish.calls),
        "SLOWPATH_COUNT_SKIP": str(wish.skip),
    }
    return made if wish.most is None else {**made, "SLOWPATH_COUNT_MOST": str(wish.most)}


def run(command: Sequence[str], environ: Mapping[str, str], output_to_stderr: bool) -> int:
    """Run to the end; its exit code, negative for a signal. Streams and all open files are handed on, as PMI needs.

    Raises: UsageError: there is no such program.  EnvironmentFailure: the system refuses to start it.  ExitUnseen.
    """
    if shutil.which(command[0], path=environ.get("PATH")) is None:
        raise UsageError(f"{command[0]}: no such program; after -- write the command as you would start it")
    try:
        with contextlib.ExitStack() as undone:
            with held_back() as mask:
                child = start_users(command, environ, mask, sys.stderr.fileno() if output_to_stderr else None)
                undone.enter_context(handled(_while_it_runs(child.pid)))
            return child.wait()
    except OSError as error:
        raise EnvironmentFailure(f"{command[0]} can't be started: {error.strerror or error}") from error


def _while_it_runs(child: int) -> dict[signal.Signals, Action]:
    """Ctrl-C reaches the program by itself, the others are handed on: what it has done until then is shown."""
    handed = [handled for handled in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(handled) is not signal.SIG_IGN]
    return {signal.SIGINT: signal.SIG_IGN, **dict.fromkeys(handed, lambda number, _: os.kill(child, number))}


VARIABLE = "SLOWPATH_COUNT_TOOLS"
LIBRARY = "libslowpath-count.so"
TRACER = "slowpath-count-ptrace"
NAMER = "slowpath-count-names"
LIMIT_S = 300.0


@dataclass(frozen=True)
class Tools:
    """Folder that holds the tools which were built; which there are depends on the processor."""

    folder: Path

    def path(self, name: str) -> Path:
        """Return the path of the tool.  Raises: EnvironmentFailure: it was not built."""
        path = self.folder / name
        if not path.is_file():
            other = "ptrace" if name == LIBRARY else "trap"
            raise EnvironmentFailure(f"{path} is not built for this processor; use --method {other}")
        return path

    def name_all(self, places: Sequence[Place]) -> dict[Place, Name]:
        """The library and function at each place. Raises EnvironmentFailure if the tool fails."""
        wanted = [place for place in places if "\n" not in place[0]]
        text = "".join(f"{offset} {path}\n" for path, offset in wanted)
        done = answer_of([str(self.path(NAMER))], os.environ, LIMIT_S, text.encode())
        lines = done.stdout.splitlines()
        if done.return_code != 0 or len(lines) != len(wanted):
            raise EnvironmentFailure(f"{NAMER} failed: {done.stderr.decode(errors='replace').strip() or 'no message'}")
        named = [msgspec.json.decode(line, type=dict[str, str]) for line in lines]
        return {place: (name["library"], name["function"]) for place, name in zip(wanted, named, strict=True)}


def find_tools(command: Sequence[str], environ: Mapping[str, str], tell: Callable[[str], None]) -> Tools:
    """The tools beside any engine of this version, else beside one that is built now for the launcher in `command`.

    SLOWPATH_COUNT_TOOLS names their folder where they were built by other means.
    Raises: EnvironmentFailure: there are none, and no MPI to build an engine for.
    """
    if environ.get(VARIABLE):
        return Tools(Path(environ[VARIABLE]).absolute())
    source = source_hash(data_folder("engine"))

    def has_tools(engine: Engine) -> bool:
        return engine.note.source == source and (engine.program.parent / NAMER).is_file()

    for engine in usable_engines(environ, has_tools):
        return Tools(engine.program.parent)
    return Tools(one_library(launcher_in(command), environ, tell).engine.program.parent)
