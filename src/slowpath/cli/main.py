# SPDX-License-Identifier: Apache-2.0
"""The command `slowpath`: the list of its commands, and how errors become messages and exit codes."""

from __future__ import annotations

import difflib
import errno
import importlib
import os
import sys
import traceback
from collections.abc import Sequence

import click

from slowpath.cli.streams import EXIT_NO_READER, EXIT_REFUSED, cleaned_streams, guarded
from slowpath.core.errors import EnvironmentFailure, SlowpathError, UsageError
from slowpath.core.guard import line
from slowpath.core.signals import exit_codes_kept, stop_signals
from slowpath.core.version import __version__

# Under the headings of --help. A command's module is imported only when it is called, so that --help stays fast.
GROUPS: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...] = (
    (
        "Start",
        (
            ("run", "slowpath.cli.run", "Measure a campaign on this machine and report what is slow."),
            ("diagnose", "slowpath.cli.diagnose", "Find slow paths, explain them, and prove what helps."),
            (
                "watch",
                "slowpath.cli.watch",
                "Run an MPI program and show what it loses to communication, and where.",
            ),
            ("doctor", "slowpath.cli.doctor", "Show what this machine has and what can be measured on it."),
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
            ("compare", "slowpath.cli.compare", "Compare two runs cell by cell."),
            ("gate", "slowpath.cli.gate", "Pass or fail a run against a baseline."),
            ("nodes", "slowpath.cli.nodes", "Find the slow node or link of an allocation."),
            (
                "reference",
                "slowpath.cli.reference",
                "Compare a run with earlier good runs on the same kind of machine.",
            ),
        ),
    ),
    (
        "Files and set-up",
        (
            ("report", "slowpath.cli.report", "Rebuild the report of a run, a diagnosis or a watch."),
            ("table", "slowpath.cli.table", "Print a run's numbers as tables in the format of the OSU benchmarks."),
            ("trace", "slowpath.cli.trace", "Write a timeline of all ranks for ui.perfetto.dev."),
            ("explain", "slowpath.cli.explain", "Explain a slow path on one screen, or list all slow paths."),
            ("import", "slowpath.cli.import_", "Make a run folder from logs of reproducers or benchmarks."),
            (
                "mpi",
                "slowpath.cli.mpi",
                "List the MPIs found here, build their engines, and install an MPI that supports GPU memory.",
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
                command: click.Command = importlib.import_module(module).command
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

    Results go to stdout, progress to stderr. An environment variable can set each option: SLOWPATH_RUN_ROUNDS sets
    --rounds of run. Exit codes: 0 done, 1 a message arrived with wrong bytes, 2 wrong usage, 4 the
    machine or a file refused, or nothing was measured, 130 interrupted, 141 the reader of stdout went away.
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
        _tell("the reader of a pipe went away; what was written there is not whole")
        return EXIT_NO_READER
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _REFUSALS:
            _tell(f"{error.filename or 'the system refused'}: {error.strerror}; make room or name another place")
            return EXIT_REFUSED
        traceback.print_exc()
        _tell(f"this is a defect of slowpath {__version__}, please report it with the lines above")
        return EXIT_DEFECT


def _require_utf8(argv: Sequence[str]) -> None:
    """Refuse words that are not UTF-8, because the record is.  Raises: UsageError."""
    for word in argv:
        shown = word.encode(errors="backslashreplace").decode()
        if shown != word:
            raise UsageError(f"'{shown}': is not UTF-8, which records are written in; rename it")


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
        raise EnvironmentFailure("the working folder was deleted or is unreadable; cd to another one") from error


def _tell(message: str) -> None:
    click.echo(f"slowpath: error: {line(message)}", err=True)
