# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share, and groups of options that a command gets as one argument."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from slowpath.cli.values import DURATION, EFFECT

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

        found: Callback = with_group
        for option in reversed(options):
            found = option(found)
        return found

    return decorate


def metric_option() -> Decorator:
    """Return the option --metric, which may be repeated."""
    words = "May be repeated; or all.  [default: each cell's first]"
    return click.option("--metric", "metrics", multiple=True, metavar="NAME", help=words)


def phase_option(default: str) -> Decorator:
    """Return the option --phase: first, steady or all."""
    choice = click.Choice(["first", "steady", "all"])
    return click.option("--phase", type=choice, default=default, show_default=True, help="First or later messages.")


def minimum_effect_option(default: str, words: str) -> Decorator:
    """Return the option --minimum-effect, a ratio."""
    return click.option("--minimum-effect", type=EFFECT, default=default, show_default=True, help=words)


def format_option(*names: str) -> Decorator:
    """Return the option --format with the first name as default."""
    words = "What to print on stdout."
    return click.option("--format", "format", type=click.Choice(names), default=names[0], show_default=True, help=words)


def full_option() -> Decorator:
    """Return the option --full, of commands that print a verdict."""
    return click.option("--full", is_flag=True, help="Print everything, not only the verdict of at most 12 lines.")


def json_option() -> Decorator:
    """Return the option --json, which is short for --format json."""
    return click.option("--json", "as_json", is_flag=True, help="The same as --format json.")


def dry_run_option() -> Decorator:
    """Return the option --dry-run, of commands that start a program or an MPI job."""
    return click.option("--dry-run", is_flag=True, help="Print what would be run and what it costs; run nothing.")


def quiet_option() -> Decorator:
    """Return the option --quiet, of commands that show their progress."""
    return click.option("-q", "--quiet", is_flag=True, help="No progress; failures are still reported.")


def cell_timeout_option() -> Decorator:
    """Return the option --cell-timeout, in seconds."""
    words = "Ends a launch without progress."
    return click.option("--cell-timeout", type=DURATION, default="60s", show_default=True, help=words)


def phases_of(phase: str) -> tuple[str, ...]:
    """Return the phases that --phase names."""
    from slowpath.compare.comparison import PHASES

    return PHASES if phase == "all" else (phase,)
