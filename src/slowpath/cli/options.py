# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share, and groups of options that a command gets as one argument."""

from __future__ import annotations

import dataclasses
import functools
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from slowpath.core.errors import is_not
from slowpath.core.guard import drawn_on, text
from slowpath.core.guard import line as one_line

if TYPE_CHECKING:
    from slowpath.core.results import Results

    FloatParameter = click.ParamType[float]
    CountsParameter = click.ParamType[tuple[int, ...]]
else:
    FloatParameter = CountsParameter = click.ParamType


UNITS_S = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


class DurationType(FloatParameter):
    """A time such as 90, 90s, 10m or 1h, in seconds."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the time in seconds, above zero."""
        if isinstance(value, int | float):
            return float(value)
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|min|h)?", str(value).strip())
        if match is None or float(match[1]) == 0:
            self.fail(str(is_not(value, "a time", "90s, 10m or 1h")), param, ctx)
        return float(match[1]) * UNITS_S[match[2] or ""]


DURATION = DurationType()


class EffectType(FloatParameter):
    """A share such as 5% or 0.05, as a ratio."""

    name = "percent"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the share, above 0 and below 1."""
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*(%?)", str(value).strip())
        ratio = float(match[1]) / (100 if match[2] else 1) if match else 0.0
        if not 0.0 < ratio < 1.0:
            self.fail(str(is_not(value, "a share below 1", "5% or 0.05")), param, ctx)
        return ratio


EFFECT = EffectType()


class RankCountsType(CountsParameter):
    """Numbers of ranks, such as 4 or 1,2,4."""

    name = "ranks"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Return the numbers of ranks, each at least 1 and none twice."""
        if isinstance(value, tuple):
            return value
        words = [word.strip() for word in str(value).split(",")]
        if not all(re.fullmatch(r"[1-9][0-9]{0,6}", word) for word in words) or len(set(words)) < len(words):
            self.fail(str(is_not(value, "a number of ranks", "4, or several: 1,2,4")), param, ctx)
        return tuple(int(word) for word in words)


RANKS = RankCountsType()


Callback = Callable[..., int]
Decorator = Callable[[Callback], Callback]
T = TypeVar("T")


def grouped(name: str, kind: type[Any], *options: Decorator) -> Decorator:
    """Return a decorator that passes several options to the command as one argument.

    Args: name: name of the argument.  kind: a dataclass whose fields have the options' names.
    """

    def decorate(callback: Callback) -> Callback:
        @functools.wraps(callback)
        def with_group(*arguments: Any, **given: Any) -> int:
            fields = {field.name: given.pop(field.name) for field in dataclasses.fields(kind)}
            return callback(*arguments, **given, **{name: kind(**fields)})

        command: Callback = with_group
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def metric_option() -> Decorator:
    """Return the option --metric, which may be repeated."""
    words = "Repeatable; or all.  [default: each cell's first]"
    return click.option("--metric", "metrics", multiple=True, metavar="NAME", help=words)


def phase_option(default: str) -> Decorator:
    """Return the option --phase: first, steady or all."""
    choice = click.Choice(["first", "steady", "all"])
    return click.option("--phase", type=choice, default=default, show_default=True, help="First or later messages.")


def minimum_effect_option(default: str) -> Decorator:
    """Return the option --minimum-effect, a ratio."""
    words = "Smallest difference that counts."
    return click.option("--minimum-effect", type=EFFECT, default=default, show_default=True, help=words)


def format_option(*names: str) -> Decorator:
    """Return the option --format with the first name as default."""
    words = "What to print."
    return click.option("--format", "format", type=click.Choice(names), default=names[0], show_default=True, help=words)


def full_option() -> Decorator:
    """Return the option --full, of commands that print a verdict."""
    return click.option("--full", is_flag=True, help="Print everything.")


def json_option() -> Decorator:
    """Return the option --json."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


def dry_run_option() -> Decorator:
    """Return the option --dry-run, of commands that start a program or an MPI job."""
    return click.option("--dry-run", is_flag=True, help="Print the plan and its cost; run nothing.")


def quiet_option() -> Decorator:
    """Return the option --quiet, of commands that show their progress."""
    return click.option("-q", "--quiet", is_flag=True, help="No progress.")


def cell_timeout_option() -> Decorator:
    """Return the option --cell-timeout, in seconds."""
    words = "Time limit without progress."
    return click.option("--cell-timeout", type=DURATION, default="60s", show_default=True, help=words)


def phases_of(phase: str) -> tuple[str, ...]:
    """Return the phases that --phase names."""
    from slowpath.compare.comparison import PHASES

    return PHASES if phase == "all" else (phase,)


def teller(quiet: bool = False) -> Callable[[str], None]:
    """Return the function that prints lines for the user. With `quiet` it prints nothing."""
    if quiet:
        return lambda _: None
    if sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        return TerminalLines(sys.stderr)
    return lambda line: click.echo(line, err=True)


class TerminalLines:
    """Prints lines that remain, and one line at the end that is overwritten."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = drawn_on(stream)
        self._drawn = 0

    def __call__(self, line: str) -> None:
        """Print a line that remains."""
        self.passing("")
        click.echo(text(line), file=self._stream)

    def passing(self, line: str) -> None:
        """Draw `line` over the one drawn before. An empty line clears it."""
        line = one_line(line)[: max(0, shutil.get_terminal_size().columns - 1)]
        if not line and not self._drawn:
            return
        self._stream.write("\r" + line.ljust(self._drawn) + ("" if line else "\r"))
        self._stream.flush()
        self._drawn = len(line)


WRITTEN = {"html": "report.html", "json": "results.json", "csv": "contrasts.csv", "text": "report.txt"}


def show(run: Path, results: Results, format_name: str, full: bool = False) -> None:
    """Print the results on stdout in one of WRITTEN's formats. The text names the report; else stderr does.

    Args: full: all of the text in place of the verdict.
    """
    if format_name == "text":
        from slowpath.report.terminal import render_brief, render_text

        click.echo((render_text if full else render_brief)(results).rstrip("\n"))
    else:
        click.echo((run / WRITTEN[format_name]).read_text(encoding="utf-8").rstrip("\n"))
        click.echo(f"report: {run / WRITTEN['html']}", err=True)


def exit_code_of(*every: Results) -> int:
    """Return 1 if any message arrived with wrong bytes, else 0: a slow path is a result, not a failure.

    Args:   every: results of a run, or of all steps of a diagnosis.
    Raises: RecordError: none of the results holds a measurement.
    """
    from slowpath.core.errors import RecordError
    from slowpath.core.results import nothing_measured

    if any(cell.wrong_bytes for results in every for cell in results.cells):
        return 1
    reasons = [nothing_measured(results) for results in every]
    if reasons and reasons[0] is not None and None not in reasons:
        raise RecordError(f"{every[0].run.folder}: nothing was measured: {reasons[0]}; see also: slowpath doctor")
    return 0


def verdict_lines(folder: Path, full: bool = False) -> list[str]:
    """Analyse the record, write results.json and the report, and return the verdict's lines.

    Args:   full: all that is known, behind what fits a screen.
    Raises: RecordError: the record can't be read.  EnvironmentFailure: a file can't be written.
    """
    from slowpath.watch.folder import read_watch
    from slowpath.watch.report.write import rebuild
    from slowpath.watch.verdict import full_lines, screen_lines

    info = read_watch(folder)
    results, page = rebuild(folder), str(folder / "report.html")
    lines = screen_lines(results.verdict, page)
    lines += full_lines(results) if full else []
    if info.interrupted:
        lines.append("interrupted: the report covers the time until then")
    elif info.signal is not None or info.exit_code:
        code = f"exit code {info.exit_code}"
        how = code if info.signal is None else f"ended by signal {info.signal}"
        lines.append(f"the program failed ({how}): the report covers the time until then")
    return lines
