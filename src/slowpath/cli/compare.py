# SPDX-License-Identifier: Apache-2.0
"""slowpath compare"""

from __future__ import annotations

from pathlib import Path

import click

from slowpath.cli.options import (
    format_option,
    json_option,
    metric_option,
    minimum_effect_option,
    openmetrics_option,
    phase_option,
    phases_of,
)


@click.command("compare", epilog="Example: slowpath compare slowpath-runs/before slowpath-runs/after")
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@minimum_effect_option("3%", "Smallest difference that counts.")
@metric_option()
@phase_option("all")
@format_option("text", "json", "csv")
@json_option()
@openmetrics_option()
def command(
    a: Path,
    b: Path,
    minimum_effect: float,
    metrics: tuple[str, ...],
    phase: str,
    format: str,
    as_json: bool,
    openmetrics: Path | None,
) -> int:
    """Compare two runs cell by cell.

    A and B are run folders or results.json files: two dates, two libraries, two machines. B is judged against A. The
    runs were not interleaved, and all that differs between them is listed first.
    """
    import msgspec

    from slowpath.compare.comparison import compare
    from slowpath.compare.read import read_source

    new = read_source(b)
    found = compare(read_source(a), new, minimum_effect, metrics, phases_of(phase))
    if openmetrics is not None:
        from slowpath.compare.export import openmetrics as exported

        exported.write(openmetrics, exported.render_comparison(found, new))
    if as_json or format == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=1))
    elif format == "csv":
        from slowpath.compare.table import render_csv

        click.echo(render_csv(found).rstrip("\n"))
    else:
        from slowpath.compare.text import render_comparison

        click.echo(render_comparison(found).rstrip("\n"))
    return 0
