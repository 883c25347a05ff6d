# SPDX-License-Identifier: Apache-2.0
"""slowpath history"""

from __future__ import annotations

from pathlib import Path

import click

from slowpath.cli.options import (
    format_option,
    json_option,
    metric_option,
    minimum_effect_option,
    phase_option,
    phases_of,
)


@click.command("history", epilog="Example: slowpath history results-archive --by label --format svg > history.svg")
@click.argument("folder", type=click.Path(path_type=Path))
@minimum_effect_option("3%", "Smallest change of level that counts.")
@metric_option()
@phase_option("steady")
@click.option(
    "--by",
    type=click.Choice(["key", "label"]),
    default="key",
    show_default=True,
    help="key: a series ends where the library's version or a default changes. label: it goes on.",
)
@format_option("text", "json", "svg")
@json_option()
def command(
    folder: Path, minimum_effect: float, metrics: tuple[str, ...], phase: str, by: str, format: str, as_json: bool
) -> int:
    """Show how the cells of many runs changed over time.

    FOLDER holds run folders or results files (.json), at any depth; they are only read. Runs of unlike machines never
    share a series. A change of level takes 7 runs or more, and is a candidate while only the last one shows it.

    Exit codes: 0 even if runs were left out, which are named with their reasons; 2 wrong usage; 4 no run can be used.
    """
    import msgspec

    from slowpath.compare.history import history
    from slowpath.compare.read import read_all

    sources, left_out = read_all(folder)
    found = history(str(folder), sources, left_out, minimum_effect, metrics, phases_of(phase), by)
    if as_json or format == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=1))
    elif format == "svg":
        from slowpath.compare.history_views import render_svg

        click.echo(render_svg(found).rstrip("\n"))
    else:
        from slowpath.compare.history_views import render_history

        click.echo(render_history(found).rstrip("\n"))
    return 0
