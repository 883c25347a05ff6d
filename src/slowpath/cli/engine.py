# SPDX-License-Identifier: Apache-2.0
"""slowpath engine"""

from __future__ import annotations

import os
from pathlib import Path

import click

from slowpath.cli.telling import teller

EPILOG = "Example: srun -n 2 $(slowpath engine path) p2p --message-bytes 8"


@click.group("engine", epilog=EPILOG)
def command() -> None:
    """Build, list and find the compiled engines.

    The engine is the program that MPI starts. It is compiled once for each MPI and kept in the cache
    (SLOWPATH_CACHE_DIR, else the user's cache folder).
    """


@command.command("list")
def list_() -> int:
    """List the engines in the cache."""
    from slowpath.run.engine.cache import engines_folder, list_engines
    from slowpath.run.engine.usable import trusted_folder, why_not_usable

    trusted_folder(os.environ)
    engines = list_engines()
    if not engines:
        click.echo(f"no engine in {engines_folder()}; to build one: slowpath engine build", err=True)
    for engine in engines:
        note = engine.note
        click.echo(f"{engine.program}\n  {note.mpi}, {note.abi} ABI, {note.compiler}, built {note.built}")
        if reason := why_not_usable(engine.program.parent, os.environ):
            click.echo(f"  not used: {reason}")
    return 0


@command.command("build", epilog="Example: slowpath engine build --mpi openmpi")
@click.option("--mpi", help="Path of mpiexec, a prefix, mpich, craympich, ..., embedded, cuda.  [default: PATH]")
@click.option("--force", is_flag=True, help="Build even if the cache has it.")
@click.option("--abi", is_flag=True, help="Build for the MPI-5 ABI: one engine for every library that has it.")
def build(mpi: str | None, force: bool, abi: bool) -> int:
    """Compile the engine for an MPI unless the cache has it, and print its path.

    An engine built with --abi runs under every library with libmpi_abi.so.1. SLOWPATH_ENGINE=abi uses it.
    """
    from slowpath.mpi.find import find_mpi
    from slowpath.run.engine.build import engine_for, engine_of_standard

    found = find_mpi(mpi)
    if abi:
        engine = engine_of_standard(found, tell=teller(), rebuild=force)
    else:
        engine = engine_for(found, tell=teller(), rebuild=force)
    click.echo(engine.program)
    return 0


@command.command("check", epilog="Example: slowpath engine check ./slowpath-engine --mpi intelmpi")
@click.argument("engine", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--mpi", help="Path of mpiexec, a prefix, mpich, craympich, ..., embedded, cuda.  [default: PATH]")
def check(engine: Path, mpi: str | None) -> int:
    """Check whether ENGINE can run under an MPI, and report why not.

    Exit codes: 0 it can, 4 it can't.
    """
    from slowpath.mpi.find import find_mpi
    from slowpath.run.engine.pairing import interface_of, require_pair

    found = find_mpi(mpi)
    require_pair(engine, found, found.environ(os.environ))
    click.echo(f"{engine} ({interface_of(engine)} ABI) can run under {found.identity} ({found.mpiexec})")
    return 0


@command.command("path", epilog="Example: srun -n 2 $(slowpath engine path) p2p --message-bytes 8")
@click.option("--mpi", help="Path of mpiexec, a prefix, mpich, craympich, ..., embedded, cuda.  [default: PATH]")
def path(mpi: str | None) -> int:
    """Print the path of the engine for an MPI, building it if necessary."""
    from slowpath.mpi.find import find_mpi
    from slowpath.run.engine.build import engine_for

    engine = engine_for(find_mpi(mpi), tell=teller())
    click.echo(engine.program)
    return 0
