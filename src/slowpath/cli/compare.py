# SPDX-License-Identifier: Apache-2.0
"""slowpath compare"""

from __future__ import annotations

from pathlib import Path

import click

from slowpath.cli.options import (
    format_option,
    full_option,
    json_option,
    metric_option,
    minimum_effect_option,
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
@full_option()
@json_option()
@click.option(
    "--html", type=click.Path(path_type=Path), help="Write a page with both runs in each picture to this file, too."
)
def command(
    a: Path,
    b: Path,
    minimum_effect: float,
    metrics: tuple[str, ...],
    phase: str,
    format: str,
    full: bool,
    as_json: bool,
    html: Path | None,
) -> int:
    """Compare two runs cell by cell.

    A and B are run folders or results.json files: two dates, two libraries, two machines. B is judged against A. The
    runs were not interleaved, and all differences between them are listed first. Exit codes: 0 whatever the result, 2
    wrong usage, 4 a file refused or nothing measured. To fail a job on a slowdown: slowpath gate.

    Runs of cannon are compared by the whole multiplication, its computation and its communication, for all styles.
    """
    import msgspec

    from slowpath.compare.comparison import compare
    from slowpath.compare.read import read_source

    baseline, run = read_source(a), read_source(b)
    found = compare(baseline, run, minimum_effect, metrics, phases_of(phase), by_parts=True)
    if html is not None:
        from slowpath.compare.views import render_comparison_html
        from slowpath.core.files import write_atomically

        write_atomically(html, render_comparison_html(found, baseline.results, run.results))
        click.echo(f"page: {html}", err=True)
    if as_json or format == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=1).decode())
    elif format == "csv":
        from slowpath.compare.views import render_csv

        for doubt in found.doubts:
            click.echo(f"not alike: {doubt.kind}: {doubt.reason}", err=True)
        click.echo(render_csv(found).rstrip("\n"))
    else:
        from slowpath.compare.views import render_comparison, render_comparison_brief

        click.echo((render_comparison if full else render_comparison_brief)(found).rstrip("\n"))
    return 0
