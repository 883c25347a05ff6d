# SPDX-License-Identifier: Apache-2.0
"""What a watched command gets: variables, and what its launcher needs to hand them to ranks on other nodes.

Launchers hand the caller's environment on to ranks of their own node, whatever they are. To other nodes Hydra hands all
of it (mpiexec's -genvall is its default), Slurm's srun too (--export=ALL is), Open MPI's mpirun only what -x names.

The user's command: whether this user watched it, and how it runs.

It runs as the shell would run it: its streams, its terminal and its open files are its own. Signals that ask this
process to stop, or that jobs send to programs, go on to the command. Ctrl-C reaches it by itself, as all of the
terminal's foreground; only one that was sent to this process alone (si_code says so) is handed on.

A folder may come from anybody, and must not decide what `slowpath prove` runs. A list of hashes lies next to the
engines, in a folder that nobody else may write; watch.json is only believed where its command, its working folder and
its stdin are on it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import resource
import shutil
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from slowpath.core.errors import EnvironmentFailure, UsageError
from slowpath.core.files import append_at_once, make_place, require_place, why_not_trusted
from slowpath.mpi.launchers import identify
from slowpath.mpi.probe import Child, output_of
from slowpath.run.engine.cache import VARIABLE as CACHE
from slowpath.run.engine.cache import dynamic, engines_folder
from slowpath.run.process import start_users
from slowpath.watch.folder import RANKS_FOLDER, WatchInfo, WatchLauncher

PRELOAD = "LD_PRELOAD"
VARIABLE = "SLOWPATH_WATCH"  # folder of the records; without it the library does nothing
SANITIZER = "ASAN_OPTIONS"  # the last of several values of an option counts
_ANY_ORDER = "verify_asan_link_order=0"
# AddressSanitizer as a shared library (GCC, clang -shared-libasan) starts no program in which it is not the first
# library. It works behind the one that watches, whose malloc goes on to the sanitizer's. Linked into the program, as
# clang does by default, it does not ask.
_SANITIZERS = ("libasan.", "libclang_rt.asan")
# Programs that start another one, which their arguments name.
_STARTERS = ("env", "time", "nice", "timeout", "numactl", "taskset", "stdbuf", "setarch", "bash", "sh", "chrt")
LAUNCHERS = ("mpiexec", "mpirun", "mpiexec.hydra", "prterun", "orterun", "srun", "aprun", "flux", "jsrun")
_OPEN_MPI = ("prterun", "orterun", "orterun-spectrum")
_HYDRA = ("hydra", "hydra-intel")
_HYDRA_HOLDS_BACK = ("-genvnone", "-envnone", "-genvlist", "-envlist")
_EXPORT = "--export"
_SLURM_EXPORT = "SLURM_EXPORT_ENV"


@dataclass(frozen=True)
class WatchedCommand:
    """argv: to start.  variables: on top of the user's environment.  notes: what was changed in the user's line."""

    argv: tuple[str, ...]
    variables: Mapping[str, str]
    notes: tuple[str, ...] = ()


def watched(
    command: Sequence[str],
    launcher: str,
    library: Path,
    folder: Path,
    environ: Mapping[str, str],
) -> WatchedCommand:
    """The user's command with the library preloaded, behind what the user preloads.

    Args: launcher: name in mpi.launchers of the command's first word; empty: it is none, or not known.
          folder: of the watch.  environ: the user's.
    """
    mine = {VARIABLE: str(folder.absolute() / RANKS_FOLDER)}
    if any(needs_sanitizer_option(path) for path in programs_in(command, environ)):
        mine[SANITIZER] = ":".join(filter(None, [environ.get(SANITIZER, ""), _ANY_ORDER]))
    return handed_on(command, launcher, mine, environ, str(library))


def handed_on(
    command: Sequence[str], launcher: str, variables: Mapping[str, str], environ: Mapping[str, str], library: str = ""
) -> WatchedCommand:
    """The user's command with variables set, on other nodes as well.  Args: library: to preload; empty: none."""
    changed, notes = list(command), []
    names = [*variables]
    everything = dict(variables)
    if library:
        everything[PRELOAD] = _behind(environ.get(PRELOAD, ""), library)
        names.insert(0, PRELOAD)
        end = _end_of_options(command, environ)
        for at in range(1, end):
            if (mended := _preloading(changed, at, library)) is not None:
                changed[at] = mended
                notes.append(_changed(mended))
    if launcher in _OPEN_MPI:
        unsaid = [name for name in names if not any(word == name or word.startswith(f"{name}=") for word in changed)]
        changed[1:1] = [word for name in unsaid for word in ("-x", name)]
    elif launcher in _HYDRA and any(word in _HYDRA_HOLDS_BACK for word in command):
        changed[1:1] = [word for name in names for word in ("-genv", name, everything[name])]
        notes.append(_changed("-genv"))
    elif launcher == "srun":
        notes += _exported(changed, names, everything, environ)
    return WatchedCommand(tuple(changed), everything, tuple(notes))


def _behind(there: str, library: str) -> str:
    return f"{there}:{library}" if there else library


def _preloading(command: Sequence[str], at: int, library: str) -> str | None:
    """The word at `at` with the library added, where it is the user's own LD_PRELOAD; None: it is not."""
    word, before = command[at], command[at - 1]
    if word.startswith(f"{PRELOAD}=") and before in ("-x", "--x", "-env", "-genv"):
        return _behind(word, library)
    if before == PRELOAD and at > 1 and command[at - 2] in ("-genv", "-env"):
        return _behind(word, library)
    return None


def _exported(
    command: list[str], names: Sequence[str], variables: dict[str, str], environ: Mapping[str, str]
) -> list[str]:
    """Names added to the user's --export, or to SLURM_EXPORT_ENV; changes `command` and `variables`."""
    for at, word in enumerate(command[1:], 1):
        if word == _EXPORT and at + 1 < len(command):
            at, word = at + 1, f"{_EXPORT}={command[at + 1]}"
            prefix = ""
        elif word.startswith(f"{_EXPORT}="):
            prefix = f"{_EXPORT}="
        else:
            continue
        given = word.removeprefix(f"{_EXPORT}=")
        if given.split(",")[0].upper() == "ALL":
            return []
        command[at] = prefix + _longer(given, names)
        return [_changed(f"{_EXPORT}={_longer(given, names)}")]
    given = environ.get(_SLURM_EXPORT, "ALL")
    if given.split(",")[0].upper() == "ALL":
        return []
    variables[_SLURM_EXPORT] = _longer(given, names)
    return [_changed(f"{_SLURM_EXPORT}={variables[_SLURM_EXPORT]}")]


def _changed(added: str) -> str:
    return f"the command is started with {added}, so that ranks get {PRELOAD}"


def _longer(given: str, names: Sequence[str]) -> str:
    """srun(1): NONE and NIL stand alone; a list without ALL hands on what it names, and Slurm's own."""
    before = [] if given.upper() in ("NONE", "NIL") else [given]
    return ",".join([*before, *(name for name in names if name not in given.split(","))])


def _end_of_options(command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Index of the first word that is a program: what follows are its own arguments, not the launcher's."""
    for at, word in enumerate(command[1:], 1):
        if not word.startswith("-") and shutil.which(word, path=environ.get("PATH")) is not None:
            return at
    return len(command)


def needs_sanitizer_option(program: Path) -> bool:
    """Whether a program names a shared AddressSanitizer among its libraries; one without it ignores the option."""
    elf = dynamic(program)
    return elf is not None and any(name.startswith(_SANITIZERS) for name in elf.needed)


def programs_in(command: Sequence[str], environ: Mapping[str, str]) -> list[Path]:
    """Programs that the words of a command name, launchers left out, in order."""
    programs = []
    for word in command:
        path = None if word.startswith("-") else shutil.which(word, path=environ.get("PATH"))
        if path is not None and os.path.basename(word).split(".")[0] not in LAUNCHERS:
            programs.append(Path(path))
    return programs


def program_name(command: Sequence[str], environ: Mapping[str, str]) -> str:
    """File name of the program that a command is about, as far as its words tell."""
    names = [path.name for path in programs_in(command, environ)]
    return next((name for name in names if name not in _STARTERS), names[-1] if names else "watch")


_ANYONES = ("mpiexec", "mpirun")  # each library has one of these names


def is_launcher(word: str) -> bool:
    """Whether the word names a launcher, with or without a suffix (mpiexec.hydra)."""
    return os.path.basename(word).split(".")[0] in LAUNCHERS


def launcher_of(command: Sequence[str], environ: Mapping[str, str]) -> str:
    """Name in mpi.launchers; empty: the command begins with something else, as a script or the program alone."""
    launcher = launcher_in(command[:1], environ)
    return launcher.name if launcher is not None else ""


def launcher_in(command: Sequence[str], environ: Mapping[str, str]) -> WatchLauncher | None:
    """The command's launcher, asked for its version where its name is anyone's; behind env and the like as well.

    None: its words name none before another program.
    """
    for word in command:
        name, path = os.path.basename(word), shutil.which(word, path=environ.get("PATH"))
        if is_launcher(word):
            return _launcher(word, name, path or word, environ)
        if path is not None and name not in _STARTERS:
            return None
    return None


def _launcher(word: str, name: str, path: str, environ: Mapping[str, str]) -> WatchLauncher:
    if name.split(".")[0] not in _ANYONES:
        return WatchLauncher(path=path, name=name, library="openmpi" if name in _OPEN_MPI else None)
    launcher = identify(output_of([word, "--version"], environ) or "", name)
    library = None if launcher.name == "unknown" else launcher.name
    return WatchLauncher(path=path, name=launcher.launcher, library=library, version=launcher.version)


FILE = "commands"
_FOLDER = "watch"


def remember(info: WatchInfo, environ: Mapping[str, str]) -> None:
    """Put a command on the list; where that can't be written, nothing is: proving it then takes --trust."""
    path = _path(environ)
    with contextlib.suppress(OSError, EnvironmentFailure):
        require_place(path.parent, "commands", CACHE, environ)
        make_place(path.parent)
        if not is_known(info, environ):
            append_at_once(path, _hash(info) + "\n")


def is_known(info: WatchInfo, environ: Mapping[str, str]) -> bool:
    """Whether this user watched exactly this command there, and nobody else could have put it on the list."""
    path = _path(environ)
    try:
        require_place(path.parent, "commands", CACHE, environ)
        if why_not_trusted(path.stat(), environ) is not None:
            return False
        return _hash(info) in path.read_text(encoding="ascii").split()
    except (OSError, UnicodeError, EnvironmentFailure):
        return False


def _path(environ: Mapping[str, str]) -> Path:
    return engines_folder(environ).parent / _FOLDER / FILE


def _hash(info: WatchInfo) -> str:
    return hashlib.sha256(msgspec.json.encode([info.command, info.working_folder, info.stdin])).hexdigest()


NOT_FOUND, NOT_STARTED = 127, 126  # as the shell has them (POSIX, Shell Command Language, 2.8.2)
BY_SIGNAL = 128
HANDED_ON = (
    *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT),
    *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT, signal.SIGWINCH),
)
_ASKS_TO_STOP = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
WAKE_S = 1.0  # it looks so often, whatever became of SIGCHLD
_FROM_THE_KERNEL = 0x80  # SI_KERNEL of sigaction(2): the terminal's


class NotFound(UsageError):
    """There is no such program."""

    exit_code = NOT_FOUND


class NotStarted(EnvironmentFailure):
    """The system refuses to start it."""

    exit_code = NOT_STARTED


@dataclass(frozen=True)
class CommandEnd:
    """How a command ended. code: its exit code; None: a signal ended it.  interrupted: it was asked to stop.

    until: CLOCK_REALTIME in seconds when it was first asked to stop, else when it ended.  ran_s: processor time of the
    command and of all that it started here and waited for.
    """

    code: int | None
    signal: int | None
    wall_s: float
    interrupted: bool
    until: float
    ran_s: float = 0.0

    @property
    def shell_code(self) -> int:
        """As a shell reports it."""
        return self.code if self.code is not None else BY_SIGNAL + (self.signal or 0)


_NO_PROGRAM = "{}: no such program, or its interpreter is missing; write the command after --"


def require_program(command: Sequence[str], environ: Mapping[str, str]) -> None:
    """Raises: NotFound, NotStarted: the command can't be started."""
    if shutil.which(command[0], path=environ.get("PATH")) is None:
        if os.path.isfile(command[0]):
            raise NotStarted(f"{command[0]}: is not an executable program; write the command after --")
        raise NotFound(_NO_PROGRAM.format(command[0]))


def run_to_end(command: Sequence[str], environ: Mapping[str, str]) -> CommandEnd:
    """Start `command` in this process group and wait for its end; only from the main thread.

    Raises: NotFound, NotStarted.  ExitUnseen: it ended, and nobody can say how.
    """
    waited = {*HANDED_ON, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    try:
        begun, ran_s = time.monotonic(), _children_s()
        child = _start(command, environ, before)
        interrupted, until = False, None
        while True:
            if (code := child.poll()) is not None:
                wall_s = time.monotonic() - begun
                break
            heard = signal.sigtimedwait(waited, WAKE_S)
            if heard is None or heard.si_signo == signal.SIGCHLD:
                continue
            number = signal.Signals(heard.si_signo)
            if number in _ASKS_TO_STOP:
                interrupted, until = True, until or time.time()
            if heard.si_code != _FROM_THE_KERNEL:
                os.kill(child.pid, number)
    finally:
        while signal.sigtimedwait(set(HANDED_ON), 0) is not None:  # or it would end us while we conclude
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return CommandEnd(
        code if code >= 0 else None,
        -code if code < 0 else None,
        wall_s,
        interrupted,
        until or time.time(),
        max(_children_s() - ran_s, 0.0),
    )


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _start(command: Sequence[str], environ: Mapping[str, str], mask: set[signal.Signals] | set[int]) -> Child:
    try:
        return start_users(command, environ, mask)
    except OSError as error:
        if error.errno == errno.ENOENT:
            raise NotFound(_NO_PROGRAM.format(command[0])) from error
        raise NotStarted(f"{command[0]} can't be started: {error.strerror or error}") from error
