# SPDX-License-Identifier: Apache-2.0
"""The MPI that a watched program ran with, found here: prices under another one would be of another program.

A replay: the campaign of a program's own messages, each costly kind as it is and without its fault, interleaved;
and its measured run in the folder of the watch.
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from slowpath.core.campaign import Campaign, CellsTable, ContrastTable, EnvironmentTable, Values
from slowpath.core.errors import EnvironmentFailure, Interrupted, SlowpathError, UsageError
from slowpath.core.units import listed, seconds
from slowpath.diagnose.sides import LaunchPlace, named_places
from slowpath.findings.slow_path import DEFAULTS, FIRST_METRICS, ProgramPrice
from slowpath.mpi.find import find_all, find_mpi
from slowpath.mpi.libraries import named_in
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.build import Tell
from slowpath.run.measure import create, measure
from slowpath.run.prepare import PreparedRun, prepare
from slowpath.run.progress import choose
from slowpath.run.schedule import RunLimits
from slowpath.watch.analysis import read_watched
from slowpath.watch.conclude import Watched, asking
from slowpath.watch.prices import (
    PriceQuestion,
    Prices,
    next_price_folder,
    prices_of,
    read_sources,
    settings_of,
    words,
)
from slowpath.watch.results import WatchedProgram, WatchResults
from slowpath.watch.verdict import amount, saved_by


def launcher_of(program: WatchedProgram, option: str | None, environ: Mapping[str, str]) -> str:
    """Path of the launcher of the program's own MPI.

    Args:   option: as --mpi takes it; None: it is searched, first above the library that the program loaded.
    Raises: UsageError: the named one is another MPI.  EnvironmentFailure: the program's is not here.
    """
    known = named_in(program.library)
    ran = f"{known[0].name} {known[1] or 'of unknown version'}" if known else f"'{program.library}'"
    if option is not None:
        mpi = find_mpi(option, environ)
        if known is None or not _is(mpi, known[0].name, known[1]):
            raise UsageError(f"--mpi {option}: is {mpi.identity}, but the program ran with {ran}; name that one")
        return str(mpi.mpiexec)
    for candidate in _candidates(program, environ):
        if known is not None and _is(candidate, known[0].name, known[1]):
            return str(candidate.mpiexec)
    raise EnvironmentFailure(
        f"the program ran with {ran} ({program.library_path}), which is not among the MPIs here; load its module, "
        "or use --mpi"
    )


def _is(mpi: Mpi, name: str, version: str | None) -> bool:
    return mpi.name == name and (version is None or mpi.version == version)


def _candidates(program: WatchedProgram, environ: Mapping[str, str]) -> Iterator[Mpi]:
    for folder in Path(program.library_path).parents[:4] if program.library_path else ():
        for name in ("mpiexec", "mpirun"):
            if (folder / "bin" / name).is_file():
                try:
                    yield find_mpi(str(folder / "bin" / name), environ)
                except SlowpathError:
                    continue
    yield from find_all(environ)


ROUNDS: Final = 8
MOST_QUESTIONS: Final = 24
# How the engine measures a later message, and a first one.
_STEADY: Final = {"pattern": "ping_pong", "samples": "60", "time_limit_s": "0.02", "warmup_s": "0.005"}
_FIRST: Final = {"pattern": "one_way", "allocations": "5", "messages": "6"}
_ONE_WAY: Final = {"pattern": "one_way", "messages": "60"}


def campaign_of(
    questions: Sequence[PriceQuestion],
    variables: Mapping[str, str],
    unset: Sequence[str] = (),
    nodes: int = 1,
) -> Campaign:
    """Cells of every question.

    Args: variables: that were set for the program and are not set so here.  unset: that are set here and were not.
          nodes: 2: most of its bytes went between nodes.
    """
    asked = questions[:MOST_QUESTIONS]
    place = "two nodes" if nodes > 1 else "bound"
    environment = EnvironmentTable("as watched", dict(variables), unset)
    groups, contrasts = [], []
    for number, question in enumerate(asked):
        name = f"{number + 1} {question.row.name if question.row is not None else 'as it is'}"
        groups.append(CellsTable(name, "p2p", _cells(question), [environment.name], [place]))
        if question.row is not None:
            contrasts.append(_contrast(name, question, question.row))
    return Campaign(
        name="replay",
        title="Messages of a watched program",
        ranks=[2],
        rounds=ROUNDS,
        environments=[environment],
        placements=named_places({place: LaunchPlace("core", nodes=nodes if nodes > 1 else None)}),
        cells=groups,
        contrasts=contrasts,
        why="\n".join(
            f"{i + 1}: {words(question.load)}, {100 * question.share:.1f} % of the run"
            for i, question in enumerate(asked)
        ),
    )


def _cells(question: PriceQuestion) -> dict[str, Values]:
    first = question.metrics == FIRST_METRICS
    effort = _FIRST if first else _ONE_WAY if _has_one_side_in_blocks(question) else _STEADY
    base: dict[str, Values] = {**effort, **question.slow}
    if question.fast is not None and question.axis != "phase":
        base[question.axis] = list(_values(question))
    return base


def _has_one_side_in_blocks(question: PriceQuestion) -> bool:
    """Whether one side alone has blocks: round trips would pack one way, unpack the other, and report the mean."""
    return ":" in question.slow.get("datatype", "")


def _values(question: PriceQuestion) -> tuple[str, str]:
    axis = question.axis
    return question.slow.get(axis, DEFAULTS.get(axis, "")), (question.fast or {})[axis]


def _contrast(name: str, question: PriceQuestion, row: ProgramPrice) -> ContrastTable:
    slow, fast = (row.phase, row.remedied_phase) if question.axis == "phase" else _values(question)
    return ContrastTable(
        name=name,
        question=f"What do {words(question.load)} {row.load} cost too much?",
        cells=name,
        axis=question.axis,
        a=fast,
        b=slow,
        metric="one_way_s" if _has_one_side_in_blocks(question) else row.metrics[0],
        phase="steady" if question.axis == "phase" else row.phase,
        explains=True,
    )


def priced(watch: Path) -> tuple[Watched, Prices]:
    """Return a watch, what of it was measured and what is to be.  Raises: RecordError: no watch."""
    watched = read_watched(watch)
    return watched, _prices(watch, watched)


def _prices(watch: Path, watched: Watched) -> Prices:
    asked = asking(watched.results, watched.kept)
    return prices_of(asked.questions, read_sources(watch, watched.results.program)[0])


def prepared_for(
    watched: Watched,
    questions: Sequence[PriceQuestion],
    environ: Mapping[str, str],
    tell: Tell,
    mpi: str | None,
    rounds: int | None,
    budget_s: float,
    dry: bool,
) -> tuple[PreparedRun, Campaign]:
    """What would be measured, and its campaign.

    An engine that is there is taken, whichever compiler and BLAS made it: messages need neither.

    Args:   mpi: as the user names the program's MPI; None: it is searched.  dry: nothing is compiled.
    Raises: UsageError: it is another MPI; the budget is too small.  EnvironmentFailure: the program's MPI is not here.
    """
    launcher = launcher_of(watched.results.program, mpi, environ)
    then, now = settings_of(watched.variables), settings_of(environ)
    given = {name: value for name, value in then.items() if value is not None and now.get(name) != value}
    taken = [name for name in now if name not in then]
    campaign = campaign_of(questions, given, taken, _nodes(watched.results))
    prepared = prepare(campaign, environ, tell if dry else lambda _: None, launcher, None, rounds, None, budget_s, True)
    if not dry and not all(library.is_built for library in prepared.libraries):
        prepared = prepare(campaign, environ, tell, launcher, None, rounds, None, budget_s)
    return prepared, campaign


def outcome(prices: Prices, results: WatchResults) -> str:
    """`Measured: 2 kinds of messages, 31 % of the run. Huge pages of malloc save 2.0 s [1.6, 2.4].`

    Args: prices: that were measured, of the results of a watch.
    """
    shares = {price.question.number: price.question.share for price in prices.known}
    if not shares:
        return "Nothing measured: no kind of message takes 1 % of the run, or the engine can't send it."
    percent = 100 * min(sum(shares.values()), 1.0)
    head = f"Measured: {len(shares)} kind{'s' if len(shares) != 1 else ''} of messages, {percent:.0f} % of the run"
    beyond_s = sum(account.seconds for account in results.accounts if account.name == "slow transfer")
    parts = [
        f"{finding.name} costs {amount(*saved_by(finding))}"
        for finding in results.findings
        if finding.status == "priced"
    ]
    if beyond_s:
        parts.append(f"the program's messages take {seconds(beyond_s)} a rank longer than measured here")
    return f"{head}: {listed(parts) if parts else 'in the program they take no longer'}."


def measured(
    watch: Path, prepared: PreparedRun, command: list[str], cell_timeout_s: float, budget_s: float, quiet: bool
) -> Path:
    """Measure into a new folder of the watch.  Raises: Interrupted, EnvironmentFailure; what was measured is kept."""
    run = next_price_folder(watch)
    create(prepared, run, command)
    measure(
        run, prepared.plan, prepared.commands, RunLimits(cell_timeout_s, budget_s, whole_rounds=True), choose(quiet)
    )
    return run


MEASURE_S: Final = 20.0  # that a watch measures by itself


def measured_briefly(watch: Path, environ: Mapping[str, str], tell: Tell, quiet: bool) -> Prices | str:
    """Measure what is missing for `MEASURE_S` at most; nothing is compiled.  Returns: or why nothing was measured.

    Raises: Interrupted.
    """
    unpriced, prices = priced(watch)
    if platform.node() not in unpriced.results.program.hosts:
        return "the program ran on another machine"
    try:
        prepared, _ = prepared_for(unpriced, prices.missing, environ, lambda _: None, None, None, MEASURE_S, True)
        if not all(library.is_built for library in prepared.libraries):
            return f"no engine is compiled; slowpath replay {watch} compiles it and measures"
        kinds = len({question.number for question in prices.missing})
        tell(f"measuring {kinds} kinds of messages for at most {MEASURE_S:g} s (--no-measure leaves it out)")
        measured(watch, prepared, ["slowpath", "replay", str(watch)], MEASURE_S, MEASURE_S, quiet)
    except Interrupted:
        raise
    except SlowpathError as error:
        return str(error)
    return _prices(watch, unpriced)


def _nodes(results: WatchResults) -> int:
    host = {rank.rank: rank.host for rank in results.ranks}
    sent: Counter[bool] = Counter()
    for pair in results.pairs:
        sent[host.get(pair.source) != host.get(pair.destination)] += pair.bytes
    return 2 if sent[True] > sent[False] else 1
