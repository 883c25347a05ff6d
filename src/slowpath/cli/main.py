# SPDX-License-Identifier: Apache-2.0
"""The command `slowpath`: the list of its commands, and how errors become messages and exit codes."""

from __future__ import annotations

import contextlib
import difflib
import errno
import importlib
import io
import os
import select
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO, cast

import click

from slowpath.core import guard
from slowpath.core.errors import EnvironmentFailure, SlowpathError, UsageError
from slowpath.core.guard import line
from slowpath.core.signals import exit_codes_kept, stop_signals
from slowpath.core.version import __version__

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


EXIT_NO_READER = 141  # 128 + SIGPIPE, as a shell reports a program that the signal ends
EXIT_REFUSED = 4
# Of commands that failed for another reason: that one is what the user has to know.
_FAILED = (EXIT_REFUSED, 70, 130)
STDERR_PATIENCE_S = 1.0  # for a non-blocking stderr whose reader is slow


class OutputLost(BaseException):
    """stdout can't be written any more. It is no Exception, so that no command handles it."""


class _Raw(io.FileIO):
    """Raw stdout or stderr. Drops all output after the first failure, with which stdout ends the command."""

    failure: OSError | None = None

    def write(self, data: ReadableBuffer, /) -> int:
        """Write as FileIO does, and wait for the reader of a non-blocking descriptor.  Raises: OutputLost."""
        is_stdout, written = self.fileno() == 1, None
        try:
            while self.failure is None and (written := super().write(data)) is None:
                if not select.select((), (self,), (), None if is_stdout else STDERR_PATIENCE_S)[1]:
                    break
        except OSError as error:
            self.failure = error
            if is_stdout:
                raise OutputLost from error
        return memoryview(data).nbytes if written is None else written


def guarded(command: Callable[[], int]) -> int:
    """Run `command` with streams that can fail, and return its exit code, or that of a lost stdout.

    Replaces sys.stdin, sys.stdout and sys.stderr for the rest of the process.
    """
    stdout = _install()
    code = 0
    try:
        code = command()
        sys.stdout.flush()
        os.close(os.dup(stdout.fileno()))  # a network file system reports a full disk at the first close
    except OutputLost:
        pass
    except OSError as error:
        stdout.failure = stdout.failure or error
    if stdout.failure is None or code in _FAILED:
        return code
    if stdout.failure.errno == errno.EPIPE:
        return EXIT_NO_READER
    from slowpath.core.files import cannot

    _tell(str(cannot("write", "stdout", stdout.failure)))
    return EXIT_REFUSED


def _install() -> _Raw:
    """Open closed standard descriptors, and replace the standard streams by ones that never cause a traceback."""
    # In the wrong direction for 0 and 1: whoever reads or writes there gets EBADF, as from a closed one. A file that
    # is opened later must not get their numbers.
    for descriptor, flags in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, flags)
    results = _Raw(1, "w", closefd=False)
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    sys.stdout = _text(results, sys.stdout, line_buffered=results.isatty())
    sys.stderr = _text(_Raw(2, "w", closefd=False), sys.stderr, line_buffered=True)
    return results


def _text(raw: io.FileIO, before: TextIO | None, line_buffered: bool) -> io.TextIOWrapper:
    encoding = (before and before.encoding) or "utf-8"
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, "backslashreplace", line_buffering=line_buffered)


class Cleaned:
    """A text stream that removes control characters. `uncleaned` is for code that draws on the terminal itself."""

    def __init__(self, uncleaned: TextIO) -> None:
        self.uncleaned = uncleaned

    def write(self, words: str) -> int:
        """Write cleaned text, and return the number of characters given."""
        self.uncleaned.write(guard.text(words))
        return len(words)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.uncleaned, name)


@contextlib.contextmanager
def cleaned_streams() -> Iterator[None]:
    """Make sys.stdout and sys.stderr `Cleaned` while the context is active."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, Cleaned(stream)) if stream is not None else stream for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


# Under the headings of --help. A command's module is imported only when it is called, so that --help stays fast.
GROUPS: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...] = (
    (
        "Start",
        (
            ("run", "slowpath.cli.run", "Measure a campaign on this machine and report what is slow."),
            ("diagnose", "slowpath.cli.diagnose", "Find slow paths, explain them, and prove what helps."),
            ("watch", "slowpath.cli.watch", "Run an MPI program and show what it loses to communication, and where."),
            ("doctor", "slowpath.cli.machine", "Show what this machine has and what can be measured on it."),
        ),
    ),
    (
        "Studies",
        (("count", "slowpath.cli.count", "Count the instructions of each call of a function in any program."),),
    ),
    (
        "Make it faster",
        (
            ("prove", "slowpath.cli.prove", "Rerun a watched program to prove which remedies help."),
            (
                "replay",
                "slowpath.cli.replay",
                "Measure messages like those of a watched program, to price its slow paths.",
            ),
            (
                "tune",
                "slowpath.cli.tune",
                "Find the fastest algorithm of each collective and write the files that select it.",
            ),
        ),
    ),
    (
        "Compare and gate",
        (
            ("compare", "slowpath.cli.baselines", "Compare two runs or two watches: B is judged against A."),
            (
                "gate",
                "slowpath.cli.baselines",
                "Pass or fail a run, or three watches of a program, against a baseline.",
            ),
            ("nodes", "slowpath.cli.nodes", "Find the slow node or link of an allocation."),
            ("reference", "slowpath.cli.baselines", "Keep your own healthy runs as references for diagnoses."),
        ),
    ),
    (
        "Files and set-up",
        (
            ("report", "slowpath.cli.files", "Rebuild the report of a run, a diagnosis or a watch."),
            ("table", "slowpath.cli.files", "Print a run's numbers as tables in the format of the OSU benchmarks."),
            ("trace", "slowpath.cli.files", "Write a timeline of all ranks of a run or watch for ui.perfetto.dev."),
            ("explain", "slowpath.cli.machine", "Explain a slow path on one screen, or list all slow paths."),
            ("import", "slowpath.cli.files", "Make a run folder from logs of reproducers or benchmarks."),
            (
                "mpi",
                "slowpath.cli.machine",
                "List MPIs, build their engines, and install an MPI.",
            ),
        ),
    ),
)
COMMANDS: tuple[tuple[str, str, str], ...] = tuple(command for _, commands in GROUPS for command in commands)
# Under "Studies", above its commands: campaigns that are studies of their own.
STUDIES: tuple[tuple[str, str], ...] = (
    ("run overalloc", "Is the first message slow when GPU memory is a little too long?"),
    ("run pinned-host", "Is a message from pinned host memory slow inside a node?"),
    ("run cannon", "Which communication style multiplies matrices fastest?"),
    ("run put-overhead", "What does MPI_Put cost in time and instructions?"),
)
EXIT_INTERRUPTED = 130
_NEEDS_NO_FOLDER = {"-h", "--help", "-V", "--version"}
EXIT_DEFECT = 70  # EX_SOFTWARE of sysexits.h
# Errors of disks, limits and file servers, in any place. Any other OSError is a defect of Slowpath.
_REFUSALS = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EFBIG, errno.ESTALE, errno.EACCES, errno.EPERM),
    *(errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN),
)


class LazyGroup(click.Group):
    """A command group that imports each command's module when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order of COMMANDS."""
        return [name for name, _, _ in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of this name, or None if there is none."""
        for name, module, _ in COMMANDS:
            if name == cmd_name:
                command: click.Command = getattr(importlib.import_module(module), f"{name}_command")
                return command
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve the command as click does, and suggest the nearest name for a misspelt one."""
        names = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in names:
            near = difflib.get_close_matches(args[0], names, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"choose from: {', '.join(names)}"
            ctx.fail(f"no such command '{args[0]}'; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any of them."""
        for heading, commands in GROUPS:
            studies = STUDIES if heading == "Studies" else ()
            with formatter.section(heading):
                formatter.write_dl([*studies, *((name, summary) for name, _, summary in commands)])


@click.group(
    cls=LazyGroup,
    context_settings={
        "auto_envvar_prefix": "SLOWPATH",
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
    },
    epilog="Start with: slowpath run",
)
@click.version_option(__version__, "-V", "--version", prog_name="slowpath")
def slowpath() -> None:
    """Find, explain and prove slow paths in MPI communication.

    Results go to stdout, progress to stderr. Exit codes: 0 done, 1 wrong bytes, 2 wrong usage, 4 refused, 130
    interrupted.
    """


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and exit; `cli.start` is what the process begins with."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        with exit_codes_kept(), stop_signals():
            code = guarded(lambda: exit_code(words))
    except KeyboardInterrupt:  # before the first line of the command, or after its last
        code = EXIT_INTERRUPTED
    sys.exit(code)


def exit_code(argv: list[str]) -> int:
    """Run the command line and return its exit code. A user's error prints one line, a defect prints a traceback."""
    with cleaned_streams():
        return _exit_code(argv)


def _exit_code(argv: list[str]) -> int:
    try:
        _require_utf8(argv)
        _require_working_folder(argv)
        result = slowpath.main(args=argv, prog_name="slowpath", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.ClickException as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # click 8.2; before, click exits with 0 by itself
            error.show()
            return error.exit_code
        _tell(error.format_message())
        if isinstance(error, click.UsageError) and error.ctx is not None:
            click.echo(f"Try: {error.ctx.command_path} --help", err=True)
        return error.exit_code
    except SlowpathError as error:
        _tell(str(error))
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        _tell("interrupted")
        return EXIT_INTERRUPTED
    except SystemExit:  # click's answer to a broken pipe, which can only be a file that the user named
        _tell("the reader of the output went away")
        return EXIT_NO_READER
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _REFUSALS:
            _tell(f"{error.filename or 'the system refused'}: {error.strerror}; free space, or name another place")
            return EXIT_REFUSED
        traceback.print_exc()
        _tell(f"a defect of slowpath {__version__}: please report the lines above")
        return EXIT_DEFECT


def _require_utf8(argv: Sequence[str]) -> None:
    """Refuse words that are not UTF-8, because the record is.  Raises: UsageError."""
    for word in argv:
        shown = word.encode(errors="backslashreplace").decode()
        if shown != word:
            raise UsageError(f"{shown}: is not UTF-8; rename it")


def _require_working_folder(argv: Sequence[str]) -> None:
    """Refuse to start in a working folder that is gone: most commands write there or record it.

    Raises: EnvironmentFailure: the working folder was deleted or can't be reached.
    """
    own = argv[: argv.index("--")] if "--" in argv else argv
    if not argv or not _NEEDS_NO_FOLDER.isdisjoint(own):
        return
    try:
        os.getcwd()
    except OSError as error:
        raise EnvironmentFailure("the working folder is gone; cd to another one") from error


def _tell(message: str) -> None:
    click.echo(f"slowpath: error: {line(message)}", err=True)
