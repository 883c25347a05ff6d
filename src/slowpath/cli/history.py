# SPDX-License-Identifier: Apache-2.0
"""slowpath history"""

from __future__ import annotations

from pathlib import Path

import click

from slowpath.cli.compare import EFFECT


@click.command("history", epilog="Example: slowpath history results-archive --by label --format svg > history.svg")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--minimum-effect", type=EFFECT, default="3%", show_default=True, help="Smallest change of level that counts."
)
@click.option(
    "--metric", "metrics", multiple=True, metavar="NAME", help="May be repeated; or all.  [default: each cell's first]"
)
@click.option(
    "--phase",
    type=click.Choice(["first", "steady", "all"]),
    default="steady",
    show_default=True,
    help="First or later messages.",
)
@click.option(
    "--by",
    type=click.Choice(["key", "label"]),
    default="key",
    show_default=True,
    help="key: a series ends where the library's version or a default changes. label: it goes on.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "svg"]),
    default="text",
    show_default=True,
    help="What to print on stdout.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
def command(
    folder: Path, minimum_effect: float, metrics: tuple[str, ...], phase: str, by: str, form: str, as_json: bool
) -> int:
    """Show how the cells of many runs changed over time.

    FOLDER holds run folders or results files (.json), at any depth; they are only read. Runs of unlike machines never
    share a series. A change of level is told from 7 runs on, and is a candidate while only the last run shows it.
    """
    import msgspec

    from slowpath.compare.comparison import PHASES
    from slowpath.compare.files import read_all
    from slowpath.compare.history import history

    sources, left_out = read_all(folder)
    phases = PHASES if phase == "all" else (phase,)
    found = history(str(folder), sources, left_out, minimum_effect, metrics, phases, by)
    if as_json or form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=1))
    elif form == "svg":
        from slowpath.compare.history_svg import render_svg

        click.echo(render_svg(found).rstrip("\n"))
    else:
        from slowpath.compare.history_text import render_history

        click.echo(render_history(found).rstrip("\n"))
    return 0
