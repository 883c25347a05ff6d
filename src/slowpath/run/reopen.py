# SPDX-License-Identifier: Apache-2.0
"""Going on with a run: the MPI found again, nothing from the folder executed, the launches that are left."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from slowpath.core.errors import EnvironmentFailure, RecordError, SlowpathError, sets_code, unreadable
from slowpath.core.files import RESTORE, read_bytes, write_atomically
from slowpath.core.guard import KnownSecrets
from slowpath.core.machine import Machine, MpiFacts, differing, host_of, in_words
from slowpath.core.plan import Environment, Launch, Plan
from slowpath.core.result import FILE_BYTES
from slowpath.core.units import whole_number
from slowpath.mpi.batch_systems import find_allocation
from slowpath.mpi.find import LAUNCHER_NAMES, find_all, find_mpi
from slowpath.mpi.mpi import Mpi
from slowpath.mpi.own_settings import chooses_code
from slowpath.mpi.place import network_is_up
from slowpath.mpi.settings import Resolved, resolver
from slowpath.record.blocks import scan
from slowpath.record.folder import (
    MOST_MACHINES,
    SUPERSEDED,
    LaunchInfo,
    RunInfo,
    engine_key_of,
    launch_folders,
    read_launch_info,
    read_run,
    write_run,
)
from slowpath.record.plan_files import engine_cells_text, read_plan
from slowpath.run.engine.build import Tell, engine_for
from slowpath.run.engine.cache import usable_engines
from slowpath.run.execute import hide_secrets
from slowpath.run.machine import machine_facts
from slowpath.run.ownership import taken
from slowpath.run.prepare import Library, RunCommands, choose_mpis, commands_for
from slowpath.run.process import GRACE_S, Leftover, end_job, leftovers_of
from slowpath.run.schedule import Schedule, read_account


class Stated(MpiFacts, frozen=True):
    """What a folder states of an MPI and the engine for it; `mpiexec` is for messages, and for --trust."""

    @property
    def engine_key(self) -> str | None:
        """Return the key of the engine; None: the run states none."""
        return self.engine.key if self.engine else None

    @property
    def words(self) -> str:
        """`mpich 5.0.2 (/opt/mpich/bin/mpiexec)`."""
        place = f" ({self.mpiexec})" if self.mpiexec else ""
        return f"{' '.join(filter(None, (self.name, self.version))) or 'an unnamed MPI'}{place}"

    @property
    def is_at_a_place(self) -> bool:
        """Whether it states an absolute path."""
        return self.mpiexec is not None and "\0" not in self.mpiexec and Path(self.mpiexec).is_absolute()

    def is_(self, mpi: Mpi) -> bool:
        """Whether this MPI is what was measured, wherever it lies."""
        same = (mpi.name, mpi.version) == (self.name, self.version)
        return same and self.launcher in (None, mpi.launcher)


def stated(facts: Mapping[str, Any], where: str) -> Stated:
    """Return the facts that a run states of its MPI.  Raises: RecordError: fields have wrong types."""
    try:
        return msgspec.convert(facts, Stated)
    except msgspec.ValidationError as error:
        raise unreadable(where, error, RESTORE) from error


def mpi_again(
    was: Stated, where: str, environ: Mapping[str, str], option: str | None = None, trust: bool = False
) -> Mpi:
    """The same library and version on this machine; of several the one at the stated place.

    Args: option: as --mpi; nothing else is then looked at.  trust: where none is found, the stated path is started.
    Raises: EnvironmentFailure: it is not here.  UsageError: the option names nothing.
    """
    candidates = list(_candidates(was, environ, option))
    same = [mpi for mpi in candidates if was.is_(mpi)]
    if same:
        place = os.path.realpath(was.mpiexec) if was.is_at_a_place and was.mpiexec else None
        return next((mpi for mpi in same if os.path.realpath(mpi.mpiexec) == place), same[0])
    if option is None and trust and was.is_at_a_place and was.mpiexec and os.access(was.mpiexec, os.X_OK):
        mpi = find_mpi(was.mpiexec, environ)
        if was.is_(mpi):
            return mpi
        raise _differs(where, "MPI", was.words, mpi.identity, "start a new run")
    here = ", ".join(dict.fromkeys(f"{mpi.identity} ({mpi.mpiexec})" for mpi in candidates)) or "no MPI"
    raise _differs(where, "MPI", was.words, here, "name it with --mpi PATH" + ("" if option else f", or {_TRUST}"))


_TRUST = "add --trust"


def _differs(where: object, fact: str, there: str, here: str, do: str) -> EnvironmentFailure:
    """Return the error for a fact that is not what it was when a run began."""
    return EnvironmentFailure(f"{where}: was measured with another {fact}: {there}, not {here}; {do}")


def _candidates(was: Stated, environ: Mapping[str, str], option: str | None) -> Iterator[Mpi]:
    if option:
        yield from choose_mpis(option, None, environ).mpis
        return
    yield from find_all(environ)
    for launcher in _of_engines(was.engine_key, environ):
        try:
            yield find_mpi(str(launcher), environ)
        except SlowpathError:
            continue


def _of_engines(key: str | None, environ: Mapping[str, str]) -> Iterator[Path]:
    """Launchers next to the wrapper for which the engine with this key was built here."""
    for engine in usable_engines(environ, lambda engine: engine.note.key == key):
        wrapper = Path(engine.note.mpicxx)
        if wrapper.is_absolute():
            for name in (
                f"{launcher}{suffix}" for suffix in dict.fromkeys((wrapper.suffix, "")) for launcher in LAUNCHER_NAMES
            ):
                if (wrapper.parent / name).is_file():
                    yield wrapper.parent / name
                    break


Resolve = Callable[[str], Resolved]  # a setting -> its variables under one MPI of this machine
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# No leading dash: ssh(1) takes a host that begins with one for an option, and options can name a command.
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}")
_SHOWN = 100


@dataclass(frozen=True)
class ChoosingVariable:
    """A variable of a plan that may choose what is run."""

    name: str
    value: str
    environment: str

    @property
    def words(self) -> str:
        """`LD_PRELOAD=/tmp/x.so (environment 'default')`."""
        value = self.value if len(self.value) <= _SHOWN else f"{self.value[:_SHOWN]}..."
        return f"{self.name}={value} (environment '{self.environment}')"


def require_names(plan: Plan, where: str) -> None:
    """Check names from a folder.

    Raises: RecordError: names of nodes or variables, or parameters of cells, that no campaign makes.
    """
    problem = next(_problems(plan), None)
    if problem is not None:
        raise unreadable(where, problem, RESTORE)


def require_hosts(plan: Plan, environ: Mapping[str, str], where: str) -> None:
    """Check the nodes of the placements.

    Raises: EnvironmentFailure: a placement is about a node that is not this job's.
    """
    allocation = find_allocation(environ)
    names = allocation.names if allocation else ()
    for placement in plan.placements:
        for host in placement.hosts:
            if host not in names:
                here = ", ".join(names) or "no nodes"
                raise _differs(where, "nodes", host, here, "resume in a job with the same nodes")


def choosing_code(environments: Sequence[Environment], resolve: Mapping[str | None, Resolve]) -> list[ChoosingVariable]:
    """Variables that may choose what is run and that this machine's own tables don't give.

    Args: resolve: by the short name of the MPI; None: that of environments for every MPI.
    """
    variables = []
    for environment in environments:
        known = environment.setting is not None and environment.mpi in resolve
        own = resolve[environment.mpi](environment.setting)[0] if known and environment.setting else {}
        for name, value in environment.variables.items():
            if own.get(name) != value and chooses_code(name, value):
                variables.append(ChoosingVariable(name, value, environment.name))
    return variables


def _problems(plan: Plan) -> Iterator[str]:
    """Yield the problems in the order in which they are checked."""
    for environment in plan.environments:
        of = f"environment '{environment.name}'"
        for name in (*environment.variables, *environment.unset):
            if not _VARIABLE.fullmatch(name):
                yield f"{of}: variable {name!r}"
        for name, value in environment.variables.items():
            if "\0" in value or "\n" in value:
                yield f"{of}: value of {name}"
    for placement in plan.placements:
        for host in placement.hosts:
            if not _HOST.fullmatch(host):
                yield f"placement '{placement.name}': node {host!r}"
    try:
        engine_cells_text(plan.cells)
    except ValueError as error:
        yield str(error)


# What an earlier pass over a plan left to do. Deletes nothing.


def schedule_after(run: Path, plan: Plan) -> Schedule:
    """Schedule of `plan` that knows all launches in the folder.

    A launch that ended is taken as its launch.json states. A folder without launch.json was cut off in the middle, and
    one whose files don't bear it out was damaged since: both are marked and left, and the planned launch is run
    again, whole, under a new number.
    """
    schedule = Schedule(plan)
    for folder in launch_folders(run):
        number = int(folder.name)
        cells, planned = _reported(folder, plan, number)
        if planned is None:
            continue
        info = None if (folder / SUPERSEDED).exists() else _trusted(folder)
        if info is None:
            _mark(folder)
            schedule.superseded(planned, number)
        else:
            account = read_account(folder / "events.jsonl")
            schedule.ended(planned, number, cells, info.ended, info.reason, account)
    schedule.try_again()
    return schedule


def _trusted(folder: Path) -> LaunchInfo | None:
    """launch.json of a launch whose record bears it out; None: run it again.

    slowpath brings events and samples to the disk before it writes launch.json, so that a loss here is damage that came
    later. A launch that ended by itself has nothing torn; one that was ended may have a torn tail, of a cell that
    never ended.
    """
    try:
        info = read_launch_info(folder)
    except RecordError:
        return None
    if info is None:
        return None
    account = read_account(folder / "events.jsonl")
    if info.ended == "ok" and not account.complete:
        return None
    good = {cell for cell, end in account.ended.items() if end.status == "ok"}
    if not good:
        return info
    try:
        blocks = scan(folder / "samples.blk")
    except RecordError:
        return None
    torn = info.ended == "ok" and bool(blocks.notes)
    return None if torn or not good <= {int(cell) for cell in blocks.headers["cell"]} else info


def _reported(folder: Path, plan: Plan, number: int) -> tuple[tuple[int, ...], Launch | None]:
    """Cells in this launch's plan.txt and the planned launch that it serves.

    Follow-up launches have the seed of the launch that they continue, and no two planned launches share one.
    """
    by_seed = {launch.seed: launch for launch in plan.launches}
    by_number = {launch.launch: launch for launch in plan.launches}
    path = folder / "plan.txt"
    try:
        words = [line.split() for line in read_bytes(path, FILE_BYTES["plan.txt"], within=folder).decode().splitlines()]
    except (RecordError, UnicodeDecodeError):
        return (), by_number.get(number)
    seeds = [seed for line in words if line[:1] == ["seed"] and len(line) == 2 for seed in (whole_number(line[1]),)]
    cells = [cell for line in words if line[:1] == ["cell"] and len(line) > 2 for cell in (whole_number(line[1]),)]
    planned = by_seed.get(seeds[0]) if seeds and seeds[0] is not None else by_number.get(number)
    known = {cell.cell for cell in plan.cells}
    return tuple(cell for cell in cells if cell in known), planned


def _mark(folder: Path) -> None:
    if not (folder / SUPERSEDED).exists():
        write_atomically(folder / SUPERSEDED, "Cut off or damaged: a later launch measures its cells.\n")
        hide_secrets(folder, KnownSecrets(os.environ))  # it was not done when the launch was cut off


# Variables that may differ from when the run began: they change from job to job, or say where this machine keeps what
# is found by name and key.
_MAY_DIFFER = ("SLURM_", "PBS_", "FLUX_", "SLOWPATH_MPI", "SLOWPATH_CACHE_DIR", "SLOWPATH_ENGINE")
_RESUMED = "resumed with other MPI variables: {}"
_NEW_RUN = "start a new run, or add --trust to slowpath run --resume"


@dataclass(frozen=True)
class Terms:
    """What the user says of a folder.

    mpi        as --mpi
    trust      what differs, and what the folder would have started, is fine
    own        variables that the caller sets itself, whatever the folder says, such as its own preload
    """

    mpi: str | None = None
    trust: bool = False
    own: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reopened:
    """What `resume` needs. here: this machine's facts, and its engines.  notes: for run.json."""

    plan: Plan
    commands: RunCommands
    here: dict[str, Any]
    notes: list[str]


def launcher_again(run: Path, environ: Mapping[str, str], trust: bool = False) -> Path:
    """The launcher, on this machine, of the first MPI that a run was made with.

    Raises: RecordError: no run, or a damaged one.  EnvironmentFailure: that MPI is not here.
    """
    return mpi_again(stated(read_run(run).mpi, str(run)), str(run), environ, trust=trust).mpiexec


def reopen(run: Path, environ: Mapping[str, str], tell: Tell, terms: Terms | None = None) -> Reopened:
    """The plan of a run with this machine's MPIs and engines of the same names, versions and builds. Writes nothing.

    Raises: RecordError: no run, an imported or a damaged one.  EnvironmentFailure: an MPI, engine or the machine is not
            what it was, or the folder would choose what is run, and `terms` does not say that it may.
    """
    terms = terms or Terms()
    info = read_run(run)
    if info.imported:
        raise RecordError(f"{run}: was imported; nothing to resume")
    plan = read_plan(run / "plan.json")
    require_names(plan, str(run))
    of_run = [stated(facts, str(run)) for facts in _recorded(info)]
    _require_every_mpi(run, plan, of_run)
    _require_no_code(run, plan, of_run, tell, terms)
    require_hosts(plan, environ, str(run))
    here = machine_facts(environ)
    _require_same_machine(run, info, here, tell, terms.trust, _NEW_RUN)
    if other := _other_variables(info.machine, here):
        tell(f"differs: MPI variables: {', '.join(other)}")
    libraries = [_same_library(run, was, environ, tell, terms) for was in of_run]
    here["engines"] = {
        library.name: key for library in libraries if (key := engine_key_of({"engine": library.engine.facts}))
    }
    notes = [_RESUMED.format(", ".join(other))] if other else []
    return Reopened(plan, commands_for(libraries, environ), here, notes)


def what_is_left(run: Path, reopened: Reopened) -> tuple[Schedule, int]:
    """Return what is left to do, and the number of this machine, as LaunchInfo.machine, which run.json then has.

    Raises: RecordError, EnvironmentFailure: run.json can't be read or written.
    """
    schedule = schedule_after(run, reopened.plan)
    if not schedule.launches_left():
        return schedule, 0
    info = read_run(run)
    machine = _number_of(info, reopened.here)
    machines = [*info.machines, dict(reopened.here)] if machine > len(info.machines) else info.machines
    if len(machines) > MOST_MACHINES:
        raise EnvironmentFailure(f"{run}: resumed on {MOST_MACHINES} machines; start a new run")
    write_run(run, msgspec.structs.replace(info, machines=machines, notes=[*info.notes, *reopened.notes]))
    return schedule, machine


def require_no_other(run: Path) -> list[Leftover]:
    """Return what a slowpath that is gone left running on this node.

    Raises: EnvironmentFailure: the slowpath that waits for it lives, whatever the record of the folder's owner says.
    """
    left_over = leftovers_of(run)
    for left in left_over:
        if left.owner is not None:
            raise taken(run, f"process {left.owner}", left.owner)
    return left_over


def end_leftovers(run: Path, tell: Tell) -> None:
    """End what a slowpath that was killed left running on this node; it would disturb what is measured now.

    Raises: as `require_no_other`.
    """
    for left in require_no_other(run):
        end_job(None, left.job, GRACE_S)
        tell(f"processes of an earlier launch ended: {len(left.processes)}")


def require_machine_of(run: Path, environ: Mapping[str, str], tell: Tell, what_to_do: str) -> None:
    """Check that this machine is of the kind that the run was measured on.

    Raises: RecordError: no run. EnvironmentFailure: it was measured on a machine of another kind.
    """
    _require_same_machine(run, read_run(run), machine_facts(environ), tell, False, what_to_do)


def _recorded(info: RunInfo) -> list[dict[str, Any]]:
    """Return what run.json states of each MPI; an old run has one, without a short name."""
    if info.mpis:
        return info.mpis
    return [{**info.mpi, "short_name": info.mpi.get("name"), "engine": info.machine.get("engine", {})}]


def _require_no_code(run: Path, plan: Plan, of_run: list[Stated], tell: Tell, terms: Terms) -> None:
    """Variables of the plan that this machine's tables don't give."""
    network = network_is_up()
    by_name = {was.short_name: resolver(was.name or "", was.version, None, network) for was in of_run}
    resolve = {**by_name, None: by_name[of_run[0].short_name]}
    settings = [
        setting for setting in choosing_code(plan.environments, resolve) if terms.own.get(setting.name) != setting.value
    ]
    if terms.trust:
        for setting in settings:
            tell(f"trusted: {setting.words}")
        return
    if settings:
        more = f" ({len(settings) - 1} more)" if len(settings) > 1 else ""
        raise EnvironmentFailure(sets_code(run, f"{settings[0].words}{more}"))


def _require_same_machine(run: Path, info: RunInfo, here: Machine, tell: Tell, trust: bool, what_to_do: str) -> None:
    """Shows what differs. Another host of the same kind is fine in a job, whose nodes the batch system chooses."""
    known = [machine for machine in info.measured_on if not differing(machine, here)]
    differ = [] if known else differing(info.machine, here)
    for difference in differ:
        tell(f"differs: {difference.fact}: {difference.a} in {run}, {difference.b} here")
    moved = not any(host_of(machine) in (host_of(here), "unknown") for machine in known or [info.machine])
    if moved:
        tell(f"differs: host: {host_of(info.machine)} in {run}, {host_of(here)} here")
    if trust or not (differ or (moved and not here.get("allocation"))):
        return
    facts = ", ".join(difference.fact for difference in differ) or "host"
    raise _differs(run, facts, in_words(info.machine), in_words(here), what_to_do)


def _other_variables(there: Machine, here: Machine) -> list[str]:
    """Names of the user's variables that differ from those at the start of the run."""
    before, now = there.get("variables"), here.get("variables")
    if not isinstance(before, Mapping) or not isinstance(now, Mapping):
        return []
    names = sorted({*before, *now})
    return [name for name in names if before.get(name) != now.get(name) and not str(name).startswith(_MAY_DIFFER)]


def _same_library(run: Path, was: Stated, environ: Mapping[str, str], tell: Tell, terms: Terms) -> Library:
    mpi = mpi_again(was, str(run), environ, terms.mpi, terms.trust)
    engine = engine_for(mpi, environ, tell)
    if engine.note.key != was.engine_key:
        if not terms.trust:
            raise _differs(run, "engine", str(was.engine_key), engine.note.key, _NEW_RUN)
        tell(f"differs: engine for {mpi.identity}: {was.engine_key} in {run}, {engine.note.key} here")
    return Library(str(was.short_name), mpi.identity, mpi, engine)


def _require_every_mpi(run: Path, plan: Plan, of_run: list[Stated]) -> None:
    names = {was.short_name for was in of_run}
    for launch in plan.launches:
        if launch.mpi is not None and launch.mpi not in names:
            raise unreadable(run, f"unknown MPI {launch.mpi!r} of launch {launch.launch}", RESTORE)


def _number_of(info: RunInfo, here: Machine) -> int:
    """This machine's number in run.json; the next one for a new machine."""
    for number, machine in enumerate(info.measured_on):
        if not differing(machine, here) and host_of(machine) in (host_of(here), "unknown"):
            return number
    return len(info.machines) + 1
