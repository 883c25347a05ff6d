# SPDX-License-Identifier: Apache-2.0
"""slowpath describe"""

from __future__ import annotations

import os
import textwrap
from typing import TYPE_CHECKING

import click

from slowpath.cli.telling import teller

if TYPE_CHECKING:
    from slowpath.core.engine_description import DescribedExperiment, Parameter


@click.command("describe", epilog="Example: slowpath describe p2p")
@click.argument("experiment", required=False)
@click.option("--mpi", help="Whose engine to ask: one MPI, named as for slowpath run.")
@click.option("--json", "as_json", is_flag=True, help="Print the engine's own description.")
def command(experiment: str | None, mpi: str | None, as_json: bool) -> int:
    """Show the parameters and metrics of an experiment.

    Without EXPERIMENT: all of them. These are the names that a campaign's [cells.parameters] may use.
    """
    import msgspec

    from slowpath.core.engine_description import decode
    from slowpath.mpi.find import find_mpi
    from slowpath.run.engine.build import engine_for
    from slowpath.run.engine.describe import describe

    found = find_mpi(mpi)
    raw = describe(engine_for(found, tell=teller()), found.environ(os.environ))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(raw), indent=2).decode())
        return 0
    description = decode(raw)
    chosen = [description.experiment(experiment)] if experiment else description.experiments
    click.echo("\n\n".join(_text(described) for described in chosen))
    return 0


def _text(experiment: DescribedExperiment) -> str:
    lines = [f"{experiment.name}: {experiment.summary} (at least {experiment.min_ranks} ranks)", "", "Parameters:"]
    for parameter in experiment.parameters:
        lines += _entry(parameter.name, f"{_type(parameter)}, default {parameter.default}", parameter.meaning)
    lines += ["", "Metrics:"]
    for metric in experiment.metrics:
        lines += _entry(metric.name, f"{metric.unit}, pattern {metric.pattern or 'any'}", metric.meaning)
    return "\n".join(lines)


def _type(parameter: Parameter) -> str:
    words = " | ".join(parameter.choices) if parameter.choices else parameter.type
    return f"{words}, one or SENDER:RECEIVER" if parameter.sided else words


def _entry(name: str, facts: str, meaning: str) -> list[str]:
    indent = " " * 4
    return [
        f"  {name}",
        *textwrap.wrap(facts, 96, initial_indent=indent, subsequent_indent=indent),
        *textwrap.wrap(meaning, 96, initial_indent=indent, subsequent_indent=indent),
    ]
