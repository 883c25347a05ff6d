# SPDX-License-Identifier: Apache-2.0
"""slowpath watch"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slowpath.cli.options import teller

if TYPE_CHECKING:
    from slowpath.watch.start.session import PreparedWatch


@click.command(
    "watch",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="Example: slowpath watch -- mpiexec -n 4 ./app input",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="New folder.  [default: slowpath-watches/PROGRAM-DATE]",
)
@click.option(
    "--verdict",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File of the verdict.  [default: stderr]",
)
@click.option("--from", "concluded", type=click.Path(path_type=Path), metavar="FOLDER", help="Report of a folder.")
@click.option("--print-environment", is_flag=True, help="Print the variables to set by hand.")
@click.option("--dry-run", is_flag=True, help="Print the plan and its cost; run nothing.")
@click.option(
    "--library",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="libslowpath-watch.so to preload.",
)
@click.option("--full", is_flag=True, help="Print everything.")
@click.option("--live", is_flag=True, help="Print where the time goes while it runs.")
@click.option(
    "--measure/--no-measure",
    default=True,
    help="Afterwards measure messages like the program's, for at most 20 s.  [default: measure]",
)
@click.option("-q", "--quiet", is_flag=True, help="Print only the verdict.")
@click.argument("command_words", nargs=-1, metavar="-- COMMAND...", type=click.UNPROCESSED)
def watch_command(
    out: Path | None,
    verdict: Path | None,
    concluded: Path | None,
    print_environment: bool,
    dry_run: bool,
    library: Path | None,
    full: bool,
    live: bool,
    measure: bool,
    quiet: bool,
    command_words: tuple[str, ...],
) -> int:
    """Run an MPI program and show what it loses to communication, and where.

    The program runs unchanged under any launcher. The verdict goes to stderr, the report into the folder. Without
    Python on the nodes, use --print-environment and --from. Exit codes: the program's own, 2 wrong usage, 4 no record,
    126 and 127 not started.
    """
    # To look for garbage among what is imported takes a tenth of the verdict's time, and there is next to none.
    gc.disable()
    from slowpath.watch.start.session import make_folder, prepare, shown

    _require_one(command_words, concluded, print_environment)
    tell = teller(quiet)
    if concluded is not None:
        _conclude(concluded, verdict, full, measure, quiet)
        return 0
    prepared = prepare(command_words, out, os.environ, tell, library)
    if dry_run or print_environment:
        if print_environment and not dry_run:
            make_folder(prepared, os.environ)
            tell(f"afterwards: slowpath watch --from {prepared.folder}")
        for line in shown(prepared):
            click.echo(line)
        return 0
    return _run(prepared, verdict, tell, full, live, measure, quiet)


def _run(
    prepared: PreparedWatch,
    verdict: Path | None,
    tell: Callable[[str], None],
    full: bool,
    live: bool,
    measure: bool,
    quiet: bool,
) -> int:
    """Run the program and return its exit code, or that of a failure of Slowpath if the program succeeded."""
    from slowpath.core.errors import SlowpathError
    from slowpath.watch.start.session import Unrecorded, make_folder, run_watched

    info = make_folder(prepared, os.environ)
    for line in (*info.notes, f"watched: {prepared.folder}"):
        tell(line)
    try:
        with _lively(prepared.folder, live):
            ended = run_watched(prepared, info, os.environ)
    except Unrecorded as lost:
        click.echo(f"slowpath: error: {lost}", err=True)
        return lost.ended.shell_code or lost.exit_code
    try:
        _conclude(prepared.folder, verdict, full, measure and ended.shell_code == 0, quiet)
    except SlowpathError as error:
        if ended.shell_code == 0:
            raise
        click.echo(f"slowpath: {error}", err=True)
    return ended.shell_code


@contextmanager
def _lively(folder: Path, is_live: bool) -> Iterator[None]:
    """Print what the program does while it runs, if that is asked for."""
    if not is_live:
        yield
        return
    from slowpath.watch.live import Live

    thread = Live(folder, lambda line: click.echo(line, err=True))
    thread.start()
    try:
        yield
    finally:
        thread.stop()


def _conclude(folder: Path, verdict: Path | None, full: bool, measure: bool, quiet: bool) -> None:
    """Make the verdict and report of a folder.  Raises: EnvironmentFailure: no rank left a record.  RecordError."""
    from slowpath.cli.options import verdict_lines
    from slowpath.core.errors import EnvironmentFailure
    from slowpath.core.files import write_atomically
    from slowpath.watch.prices import WORTH
    from slowpath.watch.results import read_watch_results
    from slowpath.watch.start.session import troubles

    has_record, lines = troubles(folder, os.environ)
    if not has_record:
        raise EnvironmentFailure(lines[0])
    every = verdict_lines(folder, full)
    if measure and (read_watch_results(folder).not_measured or 0.0) >= WORTH:
        from slowpath.watch.replay import measured_briefly, outcome

        gc.enable()
        answer = measured_briefly(folder, os.environ, teller(quiet), quiet)
        if isinstance(answer, str):
            every.append(f"not measured: {answer}")
        else:
            every = [*verdict_lines(folder, full), outcome(answer, read_watch_results(folder))]
    text = "\n".join([*every, *lines])
    if verdict is None:
        click.echo(text, err=True)
    else:
        write_atomically(verdict, text + "\n")


def _require_one(words: tuple[str, ...], concluded: Path | None, print_environment: bool) -> None:
    """Require exactly one of a command, --from and --print-environment.  Raises: UsageError."""
    if (bool(words) or print_environment) == (concluded is not None):
        raise click.UsageError("give a command (slowpath watch -- mpiexec -n 4 ./app), or --from FOLDER")
