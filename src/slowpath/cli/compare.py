# SPDX-License-Identifier: Apache-2.0
"""slowpath compare"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    FloatParameter = click.ParamType[float]
else:
    FloatParameter = click.ParamType  # generic only from click 8.2 on

FORMATS = ("text", "json", "csv")


class Effect(FloatParameter):
    """5% or 0.05, as a ratio."""

    name = "percent"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Between 0 and 1, both excluded."""
        if isinstance(value, float):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*(%?)", str(value).strip())
        ratio = float(found[1]) / (100 if found[2] else 1) if found else 0.0
        if not 0.0 < ratio < 1.0:
            self.fail(f"'{value}' is not a share above 0 and below 1; write for example 5% or 0.05", param, ctx)
        return ratio


EFFECT = Effect()


@click.command("compare", epilog="Example: slowpath compare slowpath-runs/before slowpath-runs/after")
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option("--minimum-effect", type=EFFECT, default="3%", show_default=True, help="Smallest difference that counts.")
@click.option(
    "--metric", "metrics", multiple=True, metavar="NAME", help="May be repeated; or all.  [default: each cell's first]"
)
@click.option(
    "--phase",
    type=click.Choice(["first", "steady", "all"]),
    default="all",
    show_default=True,
    help="First or later messages.",
)
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="What to print on stdout."
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
def command(
    a: Path, b: Path, minimum_effect: float, metrics: tuple[str, ...], phase: str, form: str, as_json: bool
) -> int:
    """Compare two runs cell by cell.

    A and B are run folders or results.json files: two dates, two libraries, two machines. B is judged against A. The
    runs were not interleaved, and all that differs between them is listed first.
    """
    import msgspec

    from slowpath.compare.comparison import PHASES, compare
    from slowpath.compare.read import read_source

    found = compare(read_source(a), read_source(b), minimum_effect, metrics, PHASES if phase == "all" else (phase,))
    if as_json or form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=1))
    elif form == "csv":
        from slowpath.compare.table import render_csv

        click.echo(render_csv(found).rstrip("\n"))
    else:
        from slowpath.compare.text import render_comparison

        click.echo(render_comparison(found).rstrip("\n"))
    return 0
