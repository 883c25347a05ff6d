# SPDX-License-Identifier: Apache-2.0
"""slowpath doctor"""

from __future__ import annotations

import click


@click.command("doctor", epilog="Example: slowpath doctor --json > machine.json")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.option(
    "--gpu/--no-gpu",
    default=None,
    help="Test GPU memory with every MPI here, building engines (a minute each), or with none.  "
    "[default: with a GPU, the MPIs whose engine is built, a few seconds each]",
)
def command(as_json: bool, gpu: bool | None) -> int:
    """Show what this machine has and what can be measured on it.

    Changes nothing. Starts two ranks, where the engine is built, to ask the library what carries messages between them,
    and on a machine with a GPU to test whether it supports GPU memory. Exit code 0 even if something is missing.
    """
    import os

    from slowpath.core.guard import KnownSecrets
    from slowpath.doctor.check import abilities
    from slowpath.doctor.gpu import Proof
    from slowpath.doctor.registry import as_json as json_of
    from slowpath.doctor.registry import as_text, run_checks

    by_option: dict[bool | None, Proof] = {None: "built", True: "all", False: "none"}
    checks = run_checks(by_option[gpu], lambda line: click.echo(line, err=True))
    render = json_of if as_json else as_text
    click.echo(KnownSecrets(os.environ).text(render(checks, abilities(checks))).rstrip("\n"))
    return 0
