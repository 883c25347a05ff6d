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
@click.option("--call", "function", required=True, metavar="NAME", help="Function whose calls are counted.")
@click.option(
    "--calls", type=click.IntRange(min=1), default=64, show_default=True, help="Calls counted in each process."
)
@click.option(
    "--skip", type=click.IntRange(min=0), default=0, show_default=True, help="Calls to skip first, as a warm-up."
)
@click.option(
    "--most",
    type=click.IntRange(min=1),
    default=4_000_000,
    show_default=True,
    help="Give up on a call with more instructions.",
)
@click.option(
    "--compare",
    type=click.Path(path_type=Path),
    metavar="OLD",
    help="Judge against an earlier count: the JSON that --json printed.",
)
@click.option(
    "--threshold",
    type=EFFECT,
    default="1%",
    show_default=True,
    help="With --compare: by how much the instructions per call may rise.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout; the program's stdout goes to stderr.")
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

    Put it before the launcher or after it: slowpath count ... -- mpiexec -n 2 ./app shows every process, mpiexec -n 2
    slowpath count ... -- ./app lets each process show itself. It steps through each call, instruction by instruction,
    which is exact, needs no privileges or hardware counters, and slows only the calls that are counted.

    With --compare, each process is judged by its calls' median and mean: docs/how-to/count.md has a recipe that
    finds the commit of a library which made a call more expensive.

    Exit codes: 0 counted, or the function was never called; 2 wrong usage; 4 no process had the function, none of
    its calls could be counted, or the program failed. With --compare: 0 not more instructions than before, 1 more,
    3 undecided.
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
