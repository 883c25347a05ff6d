# SPDX-License-Identifier: Apache-2.0
"""slowpath reproducer"""

from __future__ import annotations

import click

# Name -> whose program it is. The second name of a program is what its authors called it between nodes.
REPRODUCERS = {
    "gpudirect_p2p_overalloc": "gpudirect_p2p_overalloc",
    "intranode_pinned_host_comm": "intranode_pinned_host_comm",
    "internode_pinned_host_comm": "intranode_pinned_host_comm",
}


@click.command(
    "reproducer", epilog="Example: slowpath reproducer gpudirect_p2p_overalloc > gpudirect_p2p_overalloc.cpp"
)
@click.argument("name")
def command(name: str) -> int:
    """Print a reproducer as a short C++ program, to attach to a ticket.

    NAME is gpudirect_p2p_overalloc, intranode_pinned_host_comm, or internode_pinned_host_comm, which is the second
    program by its name for two nodes. It needs nothing of Slowpath: at most 250 lines of plain MPI and CUDA or HIP
    calls, which take the same arguments and print the same lines as the commands beside the engine. Its first lines
    are the commands that compile it.
    """
    click.echo(program(name), nl=False)
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
    file = data_folder("engine") / "reproducers" / "printed" / f"{REPRODUCERS[name]}.cpp"
    return file.read_text(encoding="utf-8").replace(REPRODUCERS[name], name)
