# SPDX-License-Identifier: Apache-2.0
"""slowpath reproducer"""

from __future__ import annotations

import click


@click.command(
    "reproducer", epilog="Example: slowpath reproducer gpudirect_p2p_overalloc > gpudirect_p2p_overalloc.cpp"
)
@click.argument("name")
def command(name: str) -> int:
    """Print a reproducer as a single C++ file, to attach to a ticket.

    NAME is gpudirect_p2p_overalloc, intranode_pinned_host_comm, or internode_pinned_host_comm, which is the second
    program by its name for two nodes. The file is made of the sources that the engine is built from; its first lines
    are the command that compiles it.
    """
    from slowpath.run.engine.single_file import single_file

    click.echo(single_file(name), nl=False)
    return 0
