# SPDX-License-Identifier: Apache-2.0
"""From a campaign and the MPIs of this machine to a plan, its libraries and the command lines of its launches."""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import msgspec

from slowpath.core.campaign import Campaign, recorded
from slowpath.core.engine_description import CheckCells, Verdicts
from slowpath.core.errors import EnvironmentFailure, SlowpathError, UsageError, exclude, is_not
from slowpath.core.guard import shell_assignments
from slowpath.core.machine import parse_cpu_list
from slowpath.core.plan import ALL, AS_ESTIMATED, Cell, Launch, Pace, Placement, Plan, Size, twins_of
from slowpath.mpi.batch_systems import NodeAllocation, find_allocation
from slowpath.mpi.find import VARIABLE, find_all, find_mpi, is_embedded
from slowpath.mpi.launchers import (
    Command,
    Launcher,
    RankPlacement,
    command,
    launcher_named,
    unavailable_binding,
    unavailable_place,
)
from slowpath.mpi.loaded import Ask
from slowpath.mpi.message_path import LOG_FILE, QUESTIONS, VARIABLES
from slowpath.mpi.mpi import Mpi
from slowpath.mpi.own_settings import unset_in_ranks
from slowpath.mpi.place import gpu_driver_is_there, network_is_up, processor_groups
from slowpath.mpi.probe import output_of
from slowpath.mpi.settings import Resolved, resolver
from slowpath.mpi.tuning import FILE_VARIABLE, REPLACED_CALLS, REPORT_VARIABLE
from slowpath.plan.campaign import INTERNAL, Nodes, load, require_sound, shipped
from slowpath.plan.cost import Cost, estimate, fitting_rounds, of_rounds
from slowpath.plan.expand import MpiInUse, absent, expand, numbered, short_names
from slowpath.record.folder import launch_folder
from slowpath.record.witness import UCX_LOGS
from slowpath.run.engine.build import Tell, engine_for
from slowpath.run.engine.cache import UsableEngine
from slowpath.run.engine.describe import UnbuiltEngine, checker, describe, planned_engine


@dataclass(frozen=True)
class ChosenMpis:
    """The MPIs of a run.

    mpis     at least one, in the order in which they were named
    missing  names of the campaign that stand for no MPI of this machine, and why not
    unbuilt  what becomes of one for which no engine can be built: the run fails (it was asked for), its cells are
             skipped (the campaign names it), or it is left out (it only happens to be here)
    """

    mpis: tuple[Mpi, ...]
    missing: Mapping[str, str] = field(default_factory=dict)
    unbuilt: Literal["fail", "skip", "leave out"] = "fail"


def choose_mpis(
    option: str | None,
    campaign: Sequence[str] | None,
    environ: Mapping[str, str] | None = None,
    ask: Ask = output_of,
) -> ChosenMpis:
    """The MPIs to use.

    option: one or several as `find_mpi` takes them, separated by commas, or "all": every MPI that is found.
    campaign: the campaign's own list, where there is no option and no SLOWPATH_MPI.
    Raises: UsageError: the option names one that is not there.  EnvironmentFailure: there is no MPI.
    """
    environ = os.environ if environ is None else environ
    if option:
        names = [option] if Path(option).exists() else [name.strip() for name in option.split(",")]
        return _every(environ, ask) if names == [ALL] else _asked_for(names, environ, ask)
    if environ.get(VARIABLE) or campaign is None:
        return ChosenMpis((find_mpi(None, environ, ask),))
    return _every(environ, ask) if list(campaign) == [ALL] else _of_campaign(campaign, environ, ask)


def _every(environ: Mapping[str, str], ask: Ask) -> ChosenMpis:
    """Every MPI in sight, each installation once, whatever its launcher is called."""
    by_place: dict[tuple[str, Path], Mpi] = {}
    for mpi in find_all(environ, ask):
        by_place.setdefault((mpi.identity, mpi.prefix.resolve()), mpi)
    if not by_place:
        find_mpi(None, environ, ask)  # raises, with what to do
    return ChosenMpis(tuple(by_place.values()), unbuilt="leave out")


def _asked_for(names: Sequence[str], environ: Mapping[str, str], ask: Ask) -> ChosenMpis:
    given = f"--mpi {','.join(names)}"
    by_program: dict[Path, tuple[str, Mpi]] = {}
    for name in names:
        if name == ALL:
            raise exclude(f"{given}: {ALL}", "other names")
        if not name:
            raise is_not(name, "an MPI", "--mpi mpich,openmpi")
        try:
            mpi = find_mpi(name, environ, ask)
        except EnvironmentFailure as error:
            raise UsageError(str(error)) from error
        place = mpi.mpiexec.resolve()
        if place in by_program:
            raise UsageError(f"'{name}' is listed twice; write it once")
        by_program[place] = (name, mpi)
    return ChosenMpis(tuple(mpi for _, mpi in by_program.values()))


def _of_campaign(names: Sequence[str], environ: Mapping[str, str], ask: Ask) -> ChosenMpis:
    by_program: dict[Path, Mpi] = {}
    missing: dict[str, str] = {}
    for name in names:
        try:
            mpi = find_mpi(name, environ, ask)
        except SlowpathError as error:
            missing[name] = str(error).removeprefix(f"--mpi {name}: ")
        else:
            named = replace(mpi, source="campaign") if mpi.source == "option" else mpi
            by_program.setdefault(mpi.mpiexec.resolve(), named)
    if by_program or len(names) > 1:
        by_program, more = _with_the_loaded_one(by_program, environ, ask)
        missing |= more
    if not by_program:
        raise EnvironmentFailure(f"none of {', '.join(names)} found; load its module, or name it with --mpi PATH")
    return ChosenMpis(tuple(by_program.values()), missing, "skip")


def _with_the_loaded_one(
    by_program: dict[Path, Mpi], environ: Mapping[str, str], ask: Ask
) -> tuple[dict[Path, Mpi], dict[str, str]]:
    """The loaded MPI first, where the campaign does not name its library and the embedded one would stand in for it.

    The second value says under the embedded one's name why that stands back.
    """
    back = {path: mpi for path, mpi in by_program.items() if mpi.source == "campaign" and is_embedded(mpi.mpiexec)}
    if by_program and not back:
        return by_program, {}
    try:
        loaded = find_mpi(None, environ, ask)
    except SlowpathError:
        return by_program, {}
    if loaded.source != "PATH" or loaded.name in ("unknown", *(mpi.name for mpi in by_program.values())):
        return by_program, {}
    reason = f"{loaded.identity} is loaded; to measure both: --mpi {loaded.name},embedded"
    others = {path: mpi for path, mpi in by_program.items() if path not in back}
    return {loaded.mpiexec.resolve(): loaded, **others}, {mpi.name: reason for mpi in back.values()}


@dataclass(frozen=True)
class Library:
    """One MPI and the engine for it.

    name      short, unique in the run (core.plan.PlannedMpi)
    identity  library and version, unique in the run, too
    """

    name: str
    identity: str
    mpi: Mpi
    engine: UsableEngine

    @property
    def in_use(self) -> MpiInUse:
        """Return what the planner has to know of it."""
        in_use = resolver(self.mpi.name, self.mpi.version, self.mpi.transport, network_is_up(), gpu_driver_is_there())
        return MpiInUse(self.name, self.identity, in_use)

    def resolve(self, setting: str) -> Resolved:
        """Variables that put it into a library-neutral state, or the reason why there are none."""
        return self.in_use.resolve(setting)

    @property
    def line(self) -> str:
        """Return what a command says of it first: which MPI it took, and where that lies."""
        return f"MPI: {self.identity} ({self.mpi.source}) {shlex.quote(str(self.mpi.mpiexec))}"

    @property
    def is_built(self) -> bool:
        """Whether the engine is there; it may not be in a dry run."""
        return not isinstance(self.engine, UnbuiltEngine)

    @property
    def facts(self) -> dict[str, Any]:
        """Return what run.json states of it: the MPI, and its name and engine in this run."""
        return {"short_name": self.name, **mpi_facts(self.mpi), "engine": dict(self.engine.facts)}


@dataclass(frozen=True)
class Libraries:
    """All MPIs of a run: those that are there, and names with the reason why not."""

    usable: tuple[Library, ...]
    missing: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def planned_for(self) -> list[MpiInUse]:
        """Return what `plan.expand` takes."""
        return [*(library.in_use for library in self.usable), *(absent(*item) for item in self.missing.items())]


def mpi_facts(mpi: Mpi) -> dict[str, Any]:
    """Return what run.json states of an MPI."""
    return {
        "name": mpi.name,
        "version": mpi.version,
        "vendor": mpi.vendor_line,
        "abi": mpi.abi,
        "standard_abi": mpi.standard_abi,
        "source": mpi.source,
        "prefix": str(mpi.prefix),
        "mpiexec": str(mpi.mpiexec),
        "launcher": mpi.launcher,
        "env": dict(mpi.env),
    }


def one_library(option: str | None, environ: Mapping[str, str], tell: Tell, dry: bool = False) -> Library:
    """The one MPI of `--mpi`, SLOWPATH_MPI or the PATH, with its engine.

    Args: dry: as in `build_all`.
    Raises: UsageError: the option names several.  EnvironmentFailure: as `build_all`.
    """
    usable = build_all(choose_mpis(option, None, environ), environ, tell, dry).usable
    if len(usable) != 1:
        raise UsageError("several MPIs: name one with --mpi")
    return usable[0]


def build_all(chosen: ChosenMpis, environ: Mapping[str, str], tell: Tell, dry: bool = False) -> Libraries:
    """Engines for all chosen MPIs, built one after the other.

    Args: dry: builds none; where one is missing an UnbuiltEngine stands for it.
    Raises: EnvironmentFailure: no engine can be built for an MPI that has to be there, or for any.
    """
    built: list[tuple[Mpi, UsableEngine]] = []
    failures: list[tuple[Mpi, EnvironmentFailure]] = []
    for mpi in chosen.mpis:
        try:
            built.append((mpi, (planned_engine if dry else engine_for)(mpi, environ, tell)))
        except EnvironmentFailure as error:
            if chosen.unbuilt == "fail":
                raise
            failures.append((mpi, error))
    if not built:
        raise failures[0][1]
    doubts = tuple(f"{mpi.identity}: {mpi.doubt}" for mpi, _ in built if mpi.doubt)
    if chosen.unbuilt == "leave out":
        notes = tuple(f"left out: {mpi.identity} at {mpi.prefix}: {error}" for mpi, error in failures)
        return Libraries(_libraries(built, [])[0], {}, (*doubts, *notes))
    usable, unbuilt = _libraries(built, failures)
    return Libraries(usable, {**chosen.missing, **unbuilt}, doubts)


def require_job(mpis: Sequence[Mpi], environ: Mapping[str, str]) -> None:
    """Check that srun runs inside a job, unless the user named it.

    Raises: EnvironmentFailure: outside of a job each launch would queue.
    """
    for mpi in mpis:
        if mpi.launcher == "srun" and mpi.source in ("PATH", "campaign") and find_allocation(environ) is None:
            raise EnvironmentFailure(
                f"{mpi.identity} starts its ranks with srun, which needs a job: salloc, or slowpath run --script; or "
                "choose another MPI with --mpi"
            )


def _libraries(
    built: Sequence[tuple[Mpi, UsableEngine]], failures: Sequence[tuple[Mpi, EnvironmentFailure]]
) -> tuple[tuple[Library, ...], dict[str, str]]:
    """The MPIs with an engine, and those without under their names with the reason."""
    every = [mpi for mpi, _ in (*built, *failures)]
    identities = [mpi.identity for mpi in every]
    names = short_names([mpi.name for mpi in every], identities)
    named = list(zip(names, numbered(identities), strict=True))
    usable = [Library(*ids, *pair) for ids, pair in zip(named[: len(built)], built, strict=True)]
    unbuilt = {name: str(error) for name, (_, error) in zip(names[len(built) :], failures, strict=True)}
    return tuple(usable), unbuilt


@dataclass(frozen=True)
class PreparedRun:
    """What is to be measured, and with what.

    campaign_text  campaign.toml of the run folder, byte for byte
    libraries      the MPIs with their engines, the first one first
    engine         version of the engine as it describes itself; None: it was not asked
    notes          for the user and for run.json
    fitting        rounds of the plan that are estimated to fit the budget; None: there is none
    budget_note    what the user has to know of that
    """

    plan: Plan
    campaign_text: bytes
    libraries: tuple[Library, ...]
    commands: RunCommands
    engine: str | None = None
    notes: tuple[str, ...] = ()
    launch_s: float | None = None  # start and end of a job of two ranks here; None: not timed
    pace: Pace = AS_ESTIMATED  # of launches that are over
    fitting: int | None = None
    budget_note: str | None = None

    @property
    def expected(self) -> Plan:
        """The plan with the rounds that are estimated to fit the budget."""
        return self.plan if self.fitting is None else of_rounds(self.plan, self.fitting)

    @property
    def cost(self) -> Cost:
        """Estimated cost of the expected plan; `node_s` for all nodes of the allocation."""
        return estimate(self.expected, allocated_nodes(self.commands.environ), self.launch_s, self.pace)


def prepare(
    asked: str | Campaign,
    environ: Mapping[str, str],
    tell: Tell,
    mpi_option: str | None = None,
    ranks: Sequence[int] | None = None,
    rounds: int | None = None,
    seed: int | None = None,
    budget_s: float | None = None,
    dry: bool = False,
    nodes: Nodes | None = None,
    pace: Pace = AS_ESTIMATED,
) -> PreparedRun:
    """Campaign, MPIs, engines and plan of a run.

    Args: asked: a campaign, or the name or path of one.
          dry: nothing is compiled; what an engine that is not built would refuse remains in the plan.
          nodes: to plan for; None: those of the allocation.
          pace: of launches that are over; the budget and the estimated cost count by it.
    Raises: UsageError, EnvironmentFailure."""
    campaign = _sound(asked) if isinstance(asked, Campaign) else load(asked)
    lacks_gpu = not dry and _needs_gpu(campaign) and not gpu_driver_is_there(environ)
    say: Tell = (lambda _: None) if lacks_gpu else tell
    libraries = build_all(choose_mpis(mpi_option, campaign.mpi, environ), environ, say, dry or lacks_gpu)
    first = libraries.usable[0]
    # All engines are built from one source, so that what one describes and accepts holds for all.
    description = describe(first.engine, first.mpi.environ(environ))
    planned_for = libraries.planned_for
    nodes = nodes or nodes_of(find_allocation(environ))
    plan = expand(campaign, description, planned_for, _seed(seed), ranks, rounds, nodes, checker_of(first, environ))
    if lacks_gpu:
        raise EnvironmentFailure(f"campaign {campaign.name}: every cell needs GPU memory; run it on a node with a GPU")
    plan = without_unavailable_witnesses(without_unavailable_bindings(plan, libraries.usable), libraries.usable)
    prepared = replace(_prepared(plan, campaign, libraries.usable, description, environ, libraries.notes), pace=pace)
    if budget_s is None:
        return prepared
    fitting, note = fitting_rounds(plan, budget_s, allocated_nodes(environ), pace)
    return replace(prepared, fitting=fitting, budget_note=note)


def _needs_gpu(campaign: Campaign) -> bool:
    """Whether no cell can run without a GPU, so that its engine need not be built to find that out."""
    memories = [table.parameters.get("memory", "host") for table in campaign.cells]
    every = [str(kind) for given in memories for kind in (given if isinstance(given, list | tuple) else [given])]
    return bool(every) and all("device" in memory for memory in every)


def prepare_on(
    campaign: Campaign,
    hosts: Sequence[str],
    count: int,
    environ: Mapping[str, str],
    tell: Tell,
    mpi_option: str | None = None,
    dry: bool = False,
    by_name: bool = False,
) -> PreparedRun:
    """A campaign that the program made, for certain nodes.

    Args:   hosts: their names; empty: not known.  count: how many.  by_name: ask the launcher for these nodes, because
            the allocation has others as well.  Others: as prepare.
    Raises: UsageError, EnvironmentFailure.
    """
    prepared = prepare(campaign, environ, tell, mpi_option, dry=dry, nodes=Nodes(count, tuple(hosts)))
    if not by_name:
        return prepared
    places = [msgspec.structs.replace(place, hosts=list(hosts)) for place in prepared.plan.placements]
    return replace(prepared, plan=msgspec.structs.replace(prepared.plan, placements=places))


def prepare_campaign(
    campaign: Campaign, library: Library, description: Mapping[str, Any], environ: Mapping[str, str]
) -> PreparedRun:
    """A campaign that the program made, for one MPI that is already known.

    Args: description: as the library's engine describes itself.
    Raises: UsageError: the engine does not know what the campaign asks for.
    """
    campaign = _sound(campaign)
    nodes = nodes_of(find_allocation(environ))
    check = checker_of(library, environ)
    plan = expand(campaign, dict(description), [library.in_use], _seed(None), nodes=nodes, check=check)
    plan = without_unavailable_bindings(plan, [library])
    return _prepared(plan, campaign, (library,), description, environ)


def judge_ahead(
    campaigns: Sequence[Campaign], library: Library, description: Mapping[str, Any], environ: Mapping[str, str]
) -> None:
    """Have the engine judge the cells of several campaigns at once, before each is prepared by itself.

    Args: as of `prepare_campaign`.  Raises: EnvironmentFailure: the engine does not answer.
    """
    asked: dict[int, list[Cell]] = {}

    def collect(cells: Sequence[Cell], ranks: int) -> Verdicts:
        asked.setdefault(ranks, []).extend(cells)
        return {}

    nodes, check = nodes_of(find_allocation(environ)), checker_of(library, environ)
    for campaign in campaigns:
        with contextlib.suppress(UsageError):  # whoever prepares it reads why
            expand(_sound(campaign), dict(description), [library.in_use], 0, nodes=nodes, check=collect)
    for ranks, cells in asked.items():
        check([msgspec.structs.replace(cell, cell=number) for number, cell in enumerate(cells)], ranks)


def estimated_size(
    campaign: Campaign,
    library: Library,
    description: Mapping[str, Any],
    nodes: int,
    launch_s: float | None = None,
    pace: Pace = AS_ESTIMATED,
) -> Size:
    """Size of a campaign which the program made, on so many nodes; no cell of it is judged.

    Args: launch_s: start and end of a job of two ranks here; None: not timed.  pace: of launches.

    Raises: UsageError: its tables contradict each other.
    """
    campaign = msgspec.structs.replace(_sound(campaign), contrasts=[])
    one_round = expand(campaign, dict(description), [library.in_use], 0, rounds=1, nodes=Nodes(nodes))
    round_s = estimate(one_round, launch_s=launch_s, pace=pace).wall_s
    return Size(round_s * campaign.rounds, len(one_round.cells))


def checker_of(library: Library, environ: Mapping[str, str]) -> CheckCells:
    """The engine of `library` as the judge of cells."""
    return checker(library.engine, library.mpi.environ(environ))


def shipped_campaigns() -> list[str]:
    """Names of the campaigns that come with Slowpath, in alphabetical order."""
    return [name for name in shipped() if name not in INTERNAL]


def campaign_named(name_or_path: str) -> Campaign:
    """A shipped campaign by its name, or one from a file.  Raises: UsageError."""
    return load(name_or_path)


def _sound(campaign: Campaign) -> Campaign:
    require_sound(campaign)
    return campaign


def _seed(given: int | None) -> int:
    return secrets.randbits(31) if given is None else given  # short enough to type again with --seed


def _prepared(
    plan: Plan,
    campaign: Campaign,
    libraries: tuple[Library, ...],
    description: Mapping[str, Any],
    environ: Mapping[str, str],
    notes: tuple[str, ...] = (),
) -> PreparedRun:
    engine = str(description.get("engine"))
    return PreparedRun(plan, recorded(campaign), libraries, commands_for(libraries, environ), engine, notes)


def without_unavailable_bindings(plan: Plan, libraries: Sequence[Library]) -> Plan:
    """`plan` with the cells skipped whose binding their MPI's launcher can't be asked for."""
    reasons = {
        (library.name, placement.name): reason
        for library in libraries
        for placement in plan.placements
        if (reason := unavailable_placement(launcher_named(library.mpi.launcher), placement)) is not None
    }
    if not reasons:
        return plan
    cells = [
        msgspec.structs.replace(cell, skip=cell.skip or reasons.get((cell.mpi or "", cell.placement)))
        for cell in plan.cells
    ]
    launches = [launch for launch in plan.launches if (launch.mpi, launch.placement) not in reasons]
    return msgspec.structs.replace(plan, cells=cells, launches=launches)


def without_unavailable_witnesses(plan: Plan, libraries: Sequence[Library]) -> Plan:
    """`plan` with the witnessed cells skipped whose engine can't be watched."""
    witnessed = twins_of(plan).witnessed
    reasons = {
        library.name: why for library in libraries if library.is_built and (why := unavailable(library.engine.program))
    }
    skipped = {
        cell.cell: reasons[cell.mpi or ""] for cell in plan.cells if witnessed & {cell.cell} and cell.mpi in reasons
    }
    if not skipped:
        return plan
    cells = [msgspec.structs.replace(cell, skip=cell.skip or skipped.get(cell.cell)) for cell in plan.cells]
    launches = [launch for launch in plan.launches if not skipped.keys() & set(launch.cells)]
    return msgspec.structs.replace(plan, cells=cells, launches=launches)


SYSTEM = Path("/sys/devices/system/cpu")


def allowed_cores() -> int:
    """Physical cores among the processors that this process may run on; processors where no cores are reported.

    Launchers count cores, not hardware threads, when they decide that there are more ranks than places.
    """
    return len(_one_a_core(inherited_processors()))


def _one_a_core(processors: frozenset[int]) -> tuple[int, ...]:
    """The first of these processors of each core, in order."""
    first: dict[str, int] = {}
    for cpu in sorted(processors):
        try:
            siblings = (SYSTEM / f"cpu{cpu}/topology/thread_siblings_list").read_text().strip()
        except OSError:
            siblings = str(cpu)
        first.setdefault(siblings, cpu)
    return tuple(first.values())


def inherited_processors() -> frozenset[int]:
    """Processors that this process, and what it starts, may run on."""
    return frozenset(os.sched_getaffinity(0))


def granted_processors(environ: Mapping[str, str], system: Path = SYSTEM) -> frozenset[int]:
    """Processors that the kernel grants a process that asks for all of the node: its cpuset, whatever it inherited.

    Inside a batch job those that were inherited: others may be another job's, whether or not the kernel guards them.
    """
    if find_allocation(environ) is not None:
        return inherited_processors()
    try:
        online = parse_cpu_list((system / "online").read_text())
    except OSError:
        online = frozenset(range(os.cpu_count() or 1))
    granted = set(inherited_processors())

    def ask() -> None:
        try:
            os.sched_setaffinity(0, online | granted)
        except OSError:
            return
        granted.update(os.sched_getaffinity(0))

    asking = threading.Thread(target=ask)  # a mask is a thread's own, so that this one keeps what it inherited
    asking.start()
    asking.join()
    return frozenset(granted)


def kept_within(environ: Mapping[str, str]) -> tuple[int, ...]:
    """Processors to bind ranks to, one a core, where this process may use fewer than the kernel grants; else none.

    MPICH's and Open MPI's launchers bind to the first cores of the node, whatever mask they inherit: two runs side by
    side under taskset would share them.
    """
    mine = inherited_processors()
    return _one_a_core(mine) if mine < granted_processors(environ) else ()


def allocated_nodes(environ: Mapping[str, str]) -> int:
    """Nodes of the batch system's allocation; 1 without one.  Raises: as find_allocation."""
    allocation = find_allocation(environ)
    return allocation.nodes if allocation else 1


def nodes_at_hand(environ: Mapping[str, str]) -> tuple[int, tuple[str, ...]]:
    """Return the number of nodes that a launcher can use, and their names; no names where nothing states them.

    Raises: as find_allocation.
    """
    nodes = nodes_of(find_allocation(environ))
    return nodes.count, nodes.names


# From a plan's placement to what a launcher is asked for.


def nodes_of(allocation: NodeAllocation | None) -> Nodes:
    """Return what the planner has to know of an allocation; outside of any, this node alone."""
    return Nodes(allocation.nodes, allocation.names) if allocation else Nodes()


def place_of(placement: Placement, ranks: int = 0, within: tuple[int, ...] = ()) -> RankPlacement:
    """Return where the ranks are asked to go.

    Args: within: processors that they are kept on, if these hold all ranks and no other place is asked for.
    """
    is_open = placement.spread in (None, "core") and placement.nodes is None and not placement.hosts
    kept = within if is_open and len(within) >= ranks else ()
    return RankPlacement(placement.spread, placement.nodes, placement.ranks_per_node, tuple(placement.hosts), kept)


def cores_for(placement: Placement, cores: int, nodes: int) -> int:
    """Return the cores on the nodes that the placement uses, of `cores` on all `nodes` together."""
    return cores if placement.nodes is None else max(1, cores // max(1, nodes) * min(nodes, placement.nodes))


def unavailable_placement(launcher: Launcher, placement: Placement) -> str | None:
    """Why `launcher` can't put ranks there on nodes like this one; None if it can."""
    reason = unavailable_binding(launcher, placement.bind) or unavailable_place(launcher, place_of(placement))
    if reason is not None or placement.spread in (None, "core"):
        return reason
    there = processor_groups().get(str(placement.spread))
    if there is not None and len(there) < 2:
        words = str(placement.spread).replace("_", " ")
        return f"a node has fewer than two {words}s"
    return None


LIBRARY = "libslowpath-witness.so"  # next to the engine in the cache
PRELOAD = "LD_PRELOAD"


def witness_variables(
    engine: Path, folder: Path, variables: Mapping[str, str], environ: Mapping[str, str], library: str
) -> dict[str, str]:
    """Variables of a witnessed launch, those of its environment included.

    Args: engine: the program.  folder: of the launch, for UCX's tables.  variables: of the environment.
          environ: the user's own, whose preloaded libraries stay, in front: what they do is counted, too.
          library: name of the MPI.
    """
    there = variables.get(PRELOAD, environ.get(PRELOAD, ""))
    counting = str(engine.parent / LIBRARY)
    # Asked of any library: one without UCX does not look.
    tables = {**VARIABLES, LOG_FILE: str(folder / UCX_LOGS.replace("*", "%h-%p"))}
    asked = {**tables, **QUESTIONS.get(library, {})}
    return {**asked, **variables, PRELOAD: f"{there}:{counting}" if there else counting}


def unavailable(engine: Path) -> str | None:
    """Why calls can't be counted with this engine; None if they can."""
    library = engine.parent / LIBRARY
    if not library.is_file():
        return f"{library} is missing; run: slowpath mpi build --force"
    if any(letter in str(library) for letter in " :"):
        # ld.so(8): both separate the libraries of LD_PRELOAD, and neither can be escaped.
        return f"{library}: blanks and colons can't be preloaded; set SLOWPATH_CACHE_DIR to another folder"
    return None


@dataclass(frozen=True)
class MpiCommands:
    """The launch commands of one MPI: everything that stays the same during a run.

    environ: the user's own environment.  cores: those that the ranks may use, on all nodes together.
    within: processors, one a core, where they are fewer than a launcher binds to; as kept_within.
    """

    mpi: Mpi
    engine: Path
    environ: Mapping[str, str]
    cores: int
    within: tuple[int, ...] = ()
    launcher: Launcher = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "launcher", launcher_named(self.mpi.launcher))

    def command(self, plan: Plan, planned: Launch, out: Path) -> Command:
        """Command of one launch; `variables` are all that it sets on top of the user's environment."""
        environment = plan.environment(planned.environment, planned.mpi)
        placement = next(p for p in plan.placements if p.name == planned.placement)
        variables = environment.variables
        if environment.witness:
            variables = witness_variables(self.engine, out, variables, self.environ, self.mpi.name)
        if FILE_VARIABLE in variables:  # what libslowpath-coll.so replaced is reported launch by launch
            variables = {REPORT_VARIABLE: str(out / REPLACED_CALLS), **variables}
        # env(1) takes a variable out of what the launcher inherits, and so out of what it passes on to the ranks.
        inside = _env_without(unset_in_ranks(self.mpi.name, environment.unset, variables))
        made = command(
            self.launcher,
            str(self.mpi.mpiexec),
            self.mpi.name,
            plan.ranks_of(planned.placement),
            placement.bind,
            variables,
            [*inside, str(self.engine), "--plan", str(out / "plan.txt"), "--out", str(out)],
            cores_for(placement, self.cores, allocated_nodes(self.environ)),
            self.environ,
            place_of(placement, plan.ranks_of(planned.placement), self.within),
        )
        return Command((*_env_without(environment.unset), *made.argv), {**self.mpi.env, **made.variables})


def _env_without(names: Sequence[str]) -> tuple[str, ...]:
    """`env -u A -u B`; empty where there is nothing to take out."""
    return ("env", *(word for name in names for word in ("-u", name))) if names else ()


@dataclass(frozen=True)
class RunCommands:
    """Launch commands of each MPI of a run, by its short name; the only one also serves a plan that names no MPI."""

    by_mpi: Mapping[str, MpiCommands]

    def command(self, plan: Plan, planned: Launch, out: Path) -> Command:
        """Command of one launch, as its MPI has it."""
        return self.of(planned).command(plan, planned, out)

    def of(self, planned: Launch) -> MpiCommands:
        """Return the commands of this launch's MPI."""
        return self._first if planned.mpi is None else self.by_mpi[planned.mpi]

    @property
    def environ(self) -> Mapping[str, str]:
        """The user's own environment."""
        return self._first.environ

    @property
    def cores(self) -> int:
        """Cores that the ranks may use, on all nodes together."""
        return self._first.cores

    @property
    def _first(self) -> MpiCommands:
        return next(iter(self.by_mpi.values()))


Commands = MpiCommands | RunCommands


def commands_for(libraries: Sequence[Library], environ: Mapping[str, str]) -> RunCommands:
    """The launch commands of these MPIs on this machine or allocation."""
    cores, within = allowed_cores() * allocated_nodes(environ), kept_within(environ)
    return RunCommands(
        {
            library.name: MpiCommands(library.mpi, library.engine.program, dict(environ), cores, within)
            for library in libraries
        }
    )


def shell_line(made: Command) -> str:
    """The command as a line to paste into a shell."""
    variables = shell_assignments(dict(sorted(made.variables.items())))
    return " ".join([*variables, shlex.join(made.argv)])


def command_lines(commands: Commands, plan: Plan, run: Path) -> list[str]:
    """One shell line for each planned launch, in their order."""
    return [shell_line(commands.command(plan, launch, launch_folder(run, launch.launch))) for launch in plan.launches]
