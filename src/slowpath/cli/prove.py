# SPDX-License-Identifier: Apache-2.0
"""slowpath prove"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slowpath.cli.options import DURATION, EFFECT, dry_run_option, full_option, grouped, quiet_option, teller
from slowpath.core.errors import exclude

if TYPE_CHECKING:
    from slowpath.watch.folder import WatchInfo
    from slowpath.watch.proof import Proof
    from slowpath.watch.prove.candidates import Candidate, ProgramMpi
    from slowpath.watch.results import WatchResults

EXIT_PROVEN, EXIT_NOT, EXIT_UNDECIDED = 0, 1, 3
_DECIDED_AGAINST = ("no effect", "slower", "ignored", "failed", "output differs")


@dataclass(frozen=True)
class RemedyOptions:
    """Options that choose what to try."""

    remedy: tuple[str, ...]
    settings: tuple[str, ...]
    unset: tuple[str, ...]


@dataclass(frozen=True)
class RerunOptions:
    """Options of the reruns: which difference counts, and how long the reruns may take."""

    budget: float
    minimum_effect: float
    output: tuple[str, ...]
    ignore: tuple[str, ...]
    limit: float | None
    fresh: bool
    trust: bool


@click.command("prove", epilog="Example: slowpath prove slowpath-watches/lmp-20260131-120000 --remedy huge-pages")
@click.argument("watch", type=click.Path(path_type=Path, file_okay=False))
@grouped(
    "chosen",
    RemedyOptions,
    click.option(
        "--remedy",
        multiple=True,
        metavar="NAME",
        help="Only this remedy; repeatable.",
    ),
    click.option("--try", "settings", multiple=True, metavar="NAME=VALUE", help="Your own settings, together."),
    click.option("--unset", multiple=True, metavar="NAME", help="Variable to unset."),
)
@grouped(
    "how",
    RerunOptions,
    click.option("--budget", type=DURATION, default="10m", show_default=True, help="Time limit of all reruns."),
    click.option(
        "--minimum-effect", type=EFFECT, default="1%", show_default=True, help="Smallest difference that counts."
    ),
    click.option("--output", multiple=True, metavar="FILE", help="File (or stdout) to compare."),
    click.option("--ignore", multiple=True, metavar="REGEX", help="Lines that may differ."),
    click.option("--limit", type=DURATION, help="Time limit of each run."),
    click.option("--fresh", is_flag=True, help="Start over."),
    click.option("--trust", is_flag=True, help="Allow the commands that the folder names."),
)
@dry_run_option()
@full_option()
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@quiet_option()
def prove_command(
    watch: Path, chosen: RemedyOptions, how: RerunOptions, dry_run: bool, full: bool, as_json: bool, quiet: bool
) -> int:
    """Rerun a watched program to prove which remedies help.

    Reruns come in random order: unchanged, with a variable that nothing reads (the control), with the remedy. Repeat
    the command to continue. Exit codes: 0 proven, 1 none helps, 2 wrong usage, 3 undecided, 4 refused.
    """
    import msgspec

    from slowpath.watch.folder import read_watch
    from slowpath.watch.proof import proof_lines
    from slowpath.watch.prove.rerun import Compared, Started, limit_of
    from slowpath.watch.prove.session import ProofRequest, changed_since, mpi_of, prove_all, results_of

    tell = teller(quiet)
    info, results = read_watch(watch), results_of(watch)
    _require_command(watch, info, how.trust)
    compared = Compared(how.output or (("stdout",) if how.ignore else ()), how.ignore)
    compared.patterns()
    given = Path(info.stdin) if info.stdin is not None else None
    started = Started(Path(info.working_folder), given, compared, how.limit or limit_of(info.wall_s))
    mpi = mpi_of(info, results, os.environ)
    candidates = _candidates(chosen, watch, info, results, mpi, tell)
    if changed := changed_since(info, os.environ):
        tell(f"note: changed since the watch: {', '.join(changed)}")
    if dry_run:
        for candidate in candidates:
            click.echo(f"{candidate.key}: {candidate.text}")
            for row in _shell_lines(candidate):
                click.echo(f"  {row}")
        return 0
    asked = ProofRequest(watch, info, mpi, started, how.budget, how.minimum_effect, how.fresh)
    proofs = prove_all(asked, candidates, tell)
    _show_in_watch(watch, tell)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(proofs)).decode())
    else:
        for proof in proofs:
            for row in proof_lines(proof)[: None if full or len(proofs) == 1 else 1]:
                click.echo(row)
    return _exit_code(proofs)


def _require_command(watch: Path, info: WatchInfo, trust: bool) -> None:
    """Check that the watched command can be run again and may be.

    Raises: UsageError: the ranks were started by hand.  EnvironmentFailure: this user did not watch the command.
    """
    import shlex

    from slowpath.core.errors import EnvironmentFailure, UsageError
    from slowpath.watch.start.environment import is_known

    if not info.command:
        raise UsageError(f"{watch}: no command; watch again: slowpath watch -- COMMAND")
    if not trust and not is_known(info, os.environ):
        raise EnvironmentFailure(
            f"{watch}: names a command that you did not watch: {shlex.join(info.command)} in {info.working_folder}; "
            "look at it, then add --trust"
        )


def _candidates(
    asked: RemedyOptions,
    watch: Path,
    info: WatchInfo,
    results: WatchResults | None,
    mpi: ProgramMpi,
    tell: Callable[[str], None],
) -> list[Candidate]:
    """Return the remedies to try.  Raises: UsageError: none is asked for, or none can be tried here."""
    from slowpath.core.errors import UsageError
    from slowpath.watch.prove.candidates import by_name, of_user, ready
    from slowpath.watch.prove.session import findings_of
    from slowpath.watch.start.library import library_folders

    own = asked.settings or asked.unset
    if own and asked.remedy:
        raise exclude("--remedy", "--try or --unset")
    if own:
        return [of_user(asked.settings, asked.unset, info.command, mpi, os.environ)]
    wanted = by_name(asked.remedy, findings_of(results))
    identity = f"{mpi.name} {mpi.version}" if mpi.name else None
    folders = library_folders(os.environ, identity) if any(candidate.preload for candidate in wanted) else []
    chosen = ready(wanted, info.command, mpi, os.environ, folders)
    for key, reason in chosen.left_out:
        tell(f"left out: {key}: {reason}")
    if not chosen.candidates:
        raise UsageError("no remedy can be tried here (reasons above); name your own with --try NAME=VALUE")
    return list(chosen.candidates)


def _show_in_watch(watch: Path, tell: Callable[[str], None]) -> None:
    """Add the proofs to the watch's results and report, if the watch was analysed."""
    from slowpath.cli.options import verdict_lines
    from slowpath.core.errors import SlowpathError

    try:
        verdict_lines(watch)
    except SlowpathError as error:
        tell(str(error))


def _shell_lines(candidate: Candidate) -> list[str]:
    import shlex

    lines = [f"unset {name}" for name in candidate.unset]
    exports = (f"export {name}={shlex.quote(value)}" for name, value in candidate.variables.items())
    return [*lines, *exports, shlex.join(candidate.argv)]


def _exit_code(proofs: list[Proof]) -> int:
    if any(proof.verdict == "proven" for proof in proofs):
        return EXIT_PROVEN
    return EXIT_NOT if all(proof.verdict in _DECIDED_AGAINST for proof in proofs) else EXIT_UNDECIDED
