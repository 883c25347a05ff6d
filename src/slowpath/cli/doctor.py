# SPDX-License-Identifier: Apache-2.0
"""slowpath doctor"""

from __future__ import annotations

import click


@click.command("doctor", epilog="Example: slowpath doctor --json > machine.json")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def command(as_json: bool) -> int:
    """Show what this machine has, and what can be measured on it.

    Changes nothing and measures no MPI. Exit code 0 even if something is missing: that is an answer.
    """
    from slowpath.doctor.possible import abilities
    from slowpath.doctor.registry import run_checks
    from slowpath.doctor.show import as_json as json_of
    from slowpath.doctor.show import as_text

    checks = run_checks()
    render = json_of if as_json else as_text
    click.echo(render(checks, abilities(checks)).rstrip("\n"))
    return 0
