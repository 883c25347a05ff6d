# SPDX-License-Identifier: Apache-2.0
"""slowpath import"""

from __future__ import annotations

from pathlib import Path

import click

from slowpath.cli.options import full_option


@click.command("import", epilog="Example: slowpath import overalloc-0.txt overalloc-64KiB.txt --out field")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Run folder.  [default: slowpath-runs/NAME-DATE]")
@click.option(
    "--condition",
    "conditions",
    multiple=True,
    metavar="LOG:NAME=VALUE",
    help="Launch conditions that a log does not state: nodes, transport or bind. LOG may contain * and ?; several "
    "values with commas between them; repeatable. docs/how-to/import-logs.md has the values.",
)
@click.option(
    "--unit",
    type=click.Choice(["ns", "us", "ms", "s"]),
    help="Unit of the times in tables whose heading doesn't state it.",
)
@full_option()
@click.option("--json", "as_json", is_flag=True, help="Print results.json instead of text.")
def command(
    files: tuple[Path, ...],
    out: Path | None,
    conditions: tuple[str, ...],
    unit: str | None,
    full: bool,
    as_json: bool,
) -> int:
    """Make a run folder from logs of reproducers or benchmarks.

    FILES are what gpudirect_p2p_overalloc and intranode_pinned_host_comm print, or tables of the OSU benchmarks.
    Each file is one launch; the folder is reported like any other run. Tables hold means alone: the report states what
    they lack and draws no conclusions from them.

    A log that two programs wrote into, or one program twice, is refused; so is a unit that isn't known. A last line
    without a line end is left out unless it is provably complete.

    The conditions that you state are kept. A comparison of two logs names every condition in which they differ.
    """
    from slowpath.cli.finish import exit_code_of, show
    from slowpath.record.imports.choose import import_files
    from slowpath.report.write import rebuild

    run = import_files(list(files), out, conditions, unit)
    results = rebuild(run)
    show(run, results, "json" if as_json else "text", full)
    return exit_code_of(results)
