# SPDX-License-Identifier: Apache-2.0
"""slowpath count"""

from __future__ import annotations

from pathlib import Path

import click

from slowpath.cli.options import EFFECT


@click.command(
    "count",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="Example: slowpath count --call MPI_Put --skip 20 -- mpiexec -n 2 ./app",
)
@click.option("--call", "function", required=True, metavar="NAME", help="Function to count.")
@click.option("--calls", type=click.IntRange(min=1), default=64, show_default=True, help="Calls in each process.")
@click.option("--skip", type=click.IntRange(min=0), default=0, show_default=True, help="Calls before these.")
@click.option(
    "--most",
    type=click.IntRange(min=1),
    default=4_000_000,
    show_default=True,
    help="Most instructions of a call.",
)
@click.option(
    "--compare",
    type=click.Path(path_type=Path),
    metavar="OLD",
    help="What --json printed earlier.",
)
@click.option(
    "--threshold",
    type=EFFECT,
    default="1%",
    show_default=True,
    help="Rise that --compare allows.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.argument("command_words", nargs=-1, required=True, metavar="-- COMMAND...", type=click.UNPROCESSED)
def count_command(
    function: str,
    calls: int,
    skip: int,
    most: int,
    compare: Path | None,
    threshold: float,
    as_json: bool,
    command_words: tuple[str, ...],
) -> int:
    """Count the instructions of each call of a function in any program.

    It needs no privileges, and stands before the launcher or after it. Exit codes: 0 counted, 2 wrong usage, 4 not
    counted. With --compare: 0 not more instructions, 1 more, 3 undecided.
    """
    import os

    from slowpath.studies.counting.report import (
        EXIT_CODES,
        as_text,
        compare_counts,
        comparison_text,
        read_earlier,
    )
    from slowpath.studies.counting.report import as_json as json_of
    from slowpath.studies.counting.trace import Wish, count_calls, exit_code

    earlier = read_earlier(compare, function) if compare else None
    wish = Wish(function, calls, skip, most)
    ended, counts = count_calls(wish, command_words, os.environ, output_to_stderr=as_json)
    compared = None if earlier is None else compare_counts(earlier, counts, function, threshold)
    if as_json:
        click.echo(json_of(counts, function, ended, compared))
    elif counts:
        click.echo(as_text(counts) + (f"\n{comparison_text(compared)}" if compared else ""), nl=False)
    code = exit_code(counts, function, ended)
    return EXIT_CODES[compared.outcome] if compared else code
