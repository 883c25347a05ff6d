# SPDX-License-Identifier: Apache-2.0
"""slowpath explain"""

from __future__ import annotations

import click

# Name -> whose program it is. The second name of a program is what its authors called it between nodes.
REPRODUCERS = {
    "gpudirect_p2p_overalloc": "gpudirect_p2p_overalloc",
    "intranode_pinned_host_comm": "intranode_pinned_host_comm",
    "internode_pinned_host_comm": "intranode_pinned_host_comm",
}


@click.command("explain", epilog="Example: slowpath explain SP001")
@click.argument("code", required=False)
@click.option(
    "--reproducer",
    metavar="NAME",
    help="Print a reproducer as a short C++ program, to attach to a ticket: gpudirect_p2p_overalloc, "
    "intranode_pinned_host_comm, or internode_pinned_host_comm.",
)
def command(code: str | None, reproducer: str | None) -> int:
    """Explain a slow path on one screen, or list all slow paths.

    Shows what it is, what to do, and how Slowpath finds and proves it.

    A printed reproducer needs nothing of Slowpath, and `slowpath import` reads what it prints. Its first lines are the
    commands that compile it.
    """
    from slowpath.findings.page import table, text_page
    from slowpath.slowpaths.registry import SLOW_PATHS, find

    if reproducer is not None:
        click.echo(program(reproducer), nl=False)
        return 0
    click.echo(text_page(find(code)) if code else table(SLOW_PATHS))
    return 0


def program(name: str) -> str:
    """C++ source of a reproducer, written by hand.

    Args: name: of REPRODUCERS.
    Raises: UsageError: there is no reproducer of that name.
    """
    from slowpath.core.errors import UsageError
    from slowpath.core.resources import data_folder

    if name not in REPRODUCERS:
        raise UsageError(f"no reproducer '{name}'; there are {', '.join(REPRODUCERS)}")
    file = data_folder("engine") / "reproducers" / f"{REPRODUCERS[name]}.cpp"
    return file.read_text(encoding="utf-8").replace(REPRODUCERS[name], name)
