# SPDX-License-Identifier: Apache-2.0
"""slowpath tune"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slowpath.cli.options import DURATION, RANKS, cell_timeout_option, dry_run_option, quiet_option, teller
from slowpath.core.errors import exclude

if TYPE_CHECKING:
    from slowpath.diagnose.tune.cells import TuneRequest
    from slowpath.diagnose.tune.session import Session
    from slowpath.mpi.mpi import Mpi
    from slowpath.run.engine.build import Tell


@click.command("tune", epilog="Example: slowpath tune --ranks 2,4 --collectives bcast,allreduce --bytes 8,64KiB,1MiB")
@click.option("--ranks", type=RANKS, help="MPI ranks, one or several: 2,4.  [default: 2]")
@click.option("--collectives", help="Collectives, with commas.  [default: all twelve]")
@click.option("--bytes", "lengths", help="Message lengths, as 8,1KiB..1MiB*16.  [default: five from 8 B to 1 MiB]")
@click.option("--for", "watch", type=click.Path(path_type=Path), help="Measure only what this watched program uses.")
@click.option("--mpi", help="Path of mpiexec, a prefix, mpich, openmpi, ...  [default: the one in PATH]")
@click.option("--out", type=click.Path(path_type=Path), help="Folder.  [default: slowpath-runs/tune-DATE]")
@click.option("--resume", "resumed", type=click.Path(path_type=Path), help="Continue this folder.")
@click.option(
    "--rounds",
    type=click.IntRange(5),
    default=8,
    show_default=True,
    help="Launches of each proof.",
)
@click.option("--budget", type=DURATION, help="Time limit (90s, 5m, 1h).")
@cell_timeout_option()
@dry_run_option()
@quiet_option()
def tune_command(
    ranks: tuple[int, ...] | None,
    collectives: str | None,
    lengths: str | None,
    watch: Path | None,
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

    Each gain is proven in separate launches; without one, the library's choice stays.
    """
    from slowpath.diagnose.tune.cells import Shares, load, save
    from slowpath.diagnose.tune.promise_table import crowded, lines
    from slowpath.diagnose.tune.session import Session, found_preload
    from slowpath.mpi.find import find_mpi
    from slowpath.record.folder import create_run_folder

    tell = teller(quiet)
    request = load(resumed) if resumed is not None else None
    chosen = find_mpi(request.mpi if request else mpi)
    if request is None:
        if watch is None:
            request = _request(chosen, mpi, ranks, collectives, lengths, rounds)
        else:
            request = _for_program(watch, chosen, mpi, rounds, tell, others=(ranks, collectives, lengths))
    cores, busy_before = len(os.sched_getaffinity(0)), os.getloadavg()[0]  # before an engine is compiled
    words = ["slowpath", *sys.argv[1:]]
    if dry_run:
        return _dry(Session(Path(), request, chosen, os.environ, tell, quiet, words, cores), tell)
    folder = (resumed or create_run_folder("tune", out)).absolute()
    if resumed is None:
        save(folder, request)
    tell(f"folder: {folder}")
    session = Session(folder, request, chosen, os.environ, tell, quiet, words, cores, cell_timeout, Shares(budget))
    if busy := crowded(busy_before, cores, max(request.ranks)):
        tell(busy)
    for line in session.costs():
        tell(line)
    tuned = replace(session, preload=found_preload(session.first())).tuned()
    shown = [*lines(request, tuned), *([busy] if busy else [])]
    (folder / "tuned.txt").write_text("\n".join(shown) + "\n", encoding="utf-8")
    for line in shown:
        click.echo(line)
    return 0


def _request(
    chosen: Mpi,
    mpi: str | None,
    ranks: tuple[int, ...] | None,
    collectives: str | None,
    lengths: str | None,
    rounds: int,
) -> TuneRequest:
    """Return the request that the options make.  Raises: UsageError."""
    from slowpath.core.units import expand_values
    from slowpath.diagnose.tune.cells import DEFAULT_BYTES, DEFAULT_COLLECTIVES, TuneRequest, require_known

    names = collectives.replace(" ", "").split(",") if collectives else DEFAULT_COLLECTIVES
    sizes = expand_values(lengths) if lengths else DEFAULT_BYTES
    made = TuneRequest(
        library=chosen.name,
        identity=f"{chosen.name}-{chosen.version or 'unknown'}",
        mpi=mpi,
        collectives=tuple(dict.fromkeys(names)),
        ranks=tuple(sorted(set(ranks or (2,)))),
        bytes=tuple(sorted(set(sizes))),
        rounds=rounds,
    )
    require_known(made)
    return made


def _for_program(
    watch: Path, chosen: Mpi, mpi: str | None, rounds: int, tell: Tell, others: tuple[object, ...]
) -> TuneRequest:
    """Return what the program of a watch uses.  Raises: RecordError.  UsageError: nothing that can be tuned."""
    from slowpath.core.errors import UsageError
    from slowpath.core.units import format_time
    from slowpath.diagnose.tune.cells import TuneRequest, most_of
    from slowpath.watch.messages import collective_uses
    from slowpath.watch.results import read_watch_results

    if any(option is not None for option in others):
        raise exclude("--for", "--collectives, --bytes and --ranks")
    results = read_watch_results(watch)
    uses, left = collective_uses(results, chosen.name)
    for call, seconds in left.items():
        tell(f"{call}: {format_time(seconds)} of a rank, not tunable under {chosen.name}")
    kept = most_of(uses)
    if not kept:
        raise UsageError(f"--for {watch}: no collective can be tuned; watch it again")
    if len(kept) < len(uses):
        tell(f"tunes the {len(kept)} longest of {len(uses)} kinds of calls")
    return TuneRequest(
        library=chosen.name,
        identity=f"{chosen.name}-{chosen.version or 'unknown'}",
        mpi=mpi,
        collectives=tuple(dict.fromkeys(use.collective for use in kept)),
        ranks=tuple(dict.fromkeys(use.ranks for use in kept)),
        bytes=tuple(sorted({use.bytes for use in kept})),
        rounds=rounds,
        program=results.program.program,
        uses=kept,
    )


def _dry(session: Session, tell: Tell) -> int:
    from slowpath.core.campaign import campaign_toml

    for line in session.costs(dry=True):
        tell(line)
    click.echo(campaign_toml(session.first_campaign()).rstrip("\n"))
    return 0
