# SPDX-License-Identifier: Apache-2.0
"""slowpath tune"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slowpath.cli.telling import teller
from slowpath.cli.values import DURATION, RANKS

if TYPE_CHECKING:
    from slowpath.diagnose.tune.request import TuneRequest
    from slowpath.diagnose.tune.session import Session
    from slowpath.mpi.mpi import Mpi
    from slowpath.run.engine.meter import Tell


@click.command("tune", epilog="Example: slowpath tune --ranks 2,4 --collectives bcast,allreduce --bytes 8,64KiB,1MiB")
@click.option("--ranks", type=RANKS, help="MPI ranks, one or several: 2,4.  [default: 2]")
@click.option("--collectives", help="Collectives, with commas.  [default: all twelve that have alternatives]")
@click.option("--bytes", "lengths", help="Message lengths, as 8,1KiB..1MiB*16.  [default: five from 8 B to 1 MiB]")
@click.option("--mpi", help="Path of mpiexec, a prefix, mpich, openmpi, ...  [default: the one in PATH]")
@click.option("--out", type=click.Path(path_type=Path), help="Folder.  [default: slowpath-runs/tune-DATE]")
@click.option("--resume", "resumed", type=click.Path(path_type=Path), help="Continue the tuning in this folder.")
@click.option(
    "--rounds",
    type=click.IntRange(5),
    default=8,
    show_default=True,
    help="Launches of each proof; half as many to choose.",
)
@click.option("--budget", type=DURATION, help="Time limit of all steps (10m, 1h); reduces the rounds.")
@click.option("--cell-timeout", type=DURATION, default="60s", show_default=True, help="Ends a launch without progress.")
@click.option(
    "--dry-run", is_flag=True, help="Print the first campaign and the cost of all steps without running anything."
)
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def command(
    ranks: tuple[int, ...] | None,
    collectives: str | None,
    lengths: str | None,
    mpi: str | None,
    out: Path | None,
    resumed: Path | None,
    rounds: int,
    budget: float | None,
    cell_timeout: float,
    dry_run: bool,
    quiet: bool,
) -> int:
    """Find the fastest algorithm of each collective and write the files that select it.

    Measures each collective at each length with every algorithm that the library can select, and built from other
    calls. Proves the best in separate launches, and verifies the files as a whole in further launches: after a barrier,
    back to back, and with late ranks. Promises the least of the three; where that is no gain, the library's choice
    stays. Writes MPICH's JSON, Open MPI's rules or Intel MPI's variables, and tuning.json for libslowpath-coll.so, and
    prints the lines to copy.
    """
    from slowpath.core.files import write_atomically
    from slowpath.diagnose.tune.promise import FILE as PROMISES
    from slowpath.diagnose.tune.promise import promises, promises_text
    from slowpath.diagnose.tune.request import load, save
    from slowpath.diagnose.tune.session import Session, found_preload
    from slowpath.diagnose.tune.shares import Shares
    from slowpath.diagnose.tune.text import lines
    from slowpath.mpi.find import find_mpi
    from slowpath.run.measure import new_folder

    tell = teller(quiet)
    request = load(resumed) if resumed is not None else None
    found = find_mpi(request.mpi if request else mpi)
    if request is None:
        request = _request(found, mpi, ranks, collectives, lengths, rounds)
    cores = len(os.sched_getaffinity(0))
    words = ["slowpath", *sys.argv[1:]]
    if dry_run:
        return _dry(Session(Path(), request, found, os.environ, tell, quiet, words, cores), tell)
    folder = (resumed or new_folder("tune", out)).absolute()
    if resumed is None:
        save(folder, request)
    tell(f"folder: {folder}")
    session = Session(folder, request, found, os.environ, tell, quiet, words, cores, cell_timeout, Shares(budget))
    for line in session.costs():
        tell(line)
    tuned = replace(session, preload=found_preload(session.first())).tuned()
    write_atomically(folder / PROMISES, promises_text(request.identity, promises(tuned.factors)))
    shown = lines(request, tuned)
    (folder / "tuned.txt").write_text("\n".join(shown) + "\n", encoding="utf-8")
    for line in shown:
        click.echo(line)
    return 0


def _request(
    found: Mpi,
    mpi: str | None,
    ranks: tuple[int, ...] | None,
    collectives: str | None,
    lengths: str | None,
    rounds: int,
) -> TuneRequest:
    """Return the request that the options make.  Raises: UsageError."""
    from slowpath.core.units import expand_values
    from slowpath.diagnose.tune import request as requests

    names = collectives.replace(" ", "").split(",") if collectives else requests.DEFAULT_COLLECTIVES
    sizes = expand_values(lengths) if lengths else requests.DEFAULT_BYTES
    made = requests.TuneRequest(
        library=found.name,
        identity=f"{found.name}-{found.version or 'unknown'}",
        mpi=mpi,
        collectives=tuple(dict.fromkeys(names)),
        ranks=tuple(sorted(set(ranks or (2,)))),
        bytes=tuple(sorted(set(sizes))),
        rounds=rounds,
    )
    requests.require_known(made)
    return made


def _dry(session: Session, tell: Tell) -> int:
    from slowpath.core.campaign_file import campaign_toml

    for line in session.costs(dry=True):
        tell(line)
    click.echo(campaign_toml(session.first_campaign()).rstrip("\n"))
    return 0
