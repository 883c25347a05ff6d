# SPDX-License-Identifier: Apache-2.0
"""The command line of a launch, from the row of its launcher. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from slowpath.core.errors import UsageError
from slowpath.mpi.launcher import BINDINGS, UNASKED, Command, Launcher, RankPlacement

# The first whose version_line matches is it. Intel's is a Hydra, too, but binds by variables of its own, so it stands
# before MPICH's. Of one library's launchers the newest stands first.
LIBRARY_LAUNCHERS = (
    Launcher(
        name="hydra-intel",
        library="intelmpi",
        version_line=re.compile(r"Intel\(R\) MPI Library.*?Version (\d[\w.]*)"),
        rank_variables=("PMI_RANK",),
        ranks=("-n", "{ranks}"),
        bind=dict.fromkeys(BINDINGS, ()),
        bind_variables={
            "core": {"I_MPI_PIN": "on", "I_MPI_PIN_DOMAIN": "core"},
            "socket": {"I_MPI_PIN": "on", "I_MPI_PIN_DOMAIN": "socket"},
            "numa": {"I_MPI_PIN": "on", "I_MPI_PIN_DOMAIN": "numa"},
            "none": {"I_MPI_PIN": "off"},
        },
        per_node=("-ppn", "{per_node}"),
        hosts=("-hosts", "{hosts}"),
        placing={"I_MPI_JOB_RESPECT_PROCESS_PLACEMENT": "off"},
        spread_variables={"core": {"I_MPI_PIN_ORDER": "compact"}, "socket": {"I_MPI_PIN_ORDER": "scatter"}},
        export=("-genv", "{name}", "{value}"),
        exported=("I_MPI_",),
        verified="Intel MPI 2021.18; nodes by name, too",
        traps=(
            "binds by variables: -bind-to of MPICH is ignored unless I_MPI_PIN is off",
            "inside a batch job -ppn is ignored unless I_MPI_JOB_RESPECT_PROCESS_PLACEMENT is off",
        ),
    ),
    Launcher(
        name="prterun",
        library="openmpi",
        version_line=re.compile(r"\((?:Open MPI|OpenRTE)\) ([5-9]\d*\.[\w.]*|[1-9]\d+\.[\w.]*)"),
        rank_variables=("PMIX_RANK", "OMPI_COMM_WORLD_RANK"),
        ranks=("-n", "{ranks}"),
        bind={
            "core": ("--bind-to", "core"),
            "socket": ("--bind-to", "package"),
            "numa": ("--bind-to", "numa"),
            "none": ("--bind-to", "none"),
        },
        within_variables={"PRTE_MCA_hwloc_default_cpu_list": "{processors}"},
        hosts=("--host", "{hosts}"),
        host="{host}:{per_node}",
        map_by=("--map-by", "{map}"),
        maps={"core": "core", "core_group": "l3cache", "numa": "numa", "socket": "package"},
        map_per_node="ppr:{per_node}:node",
        oversubscribe_map=":OVERSUBSCRIBE",
        oversubscribe_bind={"core": ("--bind-to", "core:overload-allowed")},
        export=("-x", "{name}={value}"),
        exported=("OMPI_", "PRTE_MCA_", "PMIX_MCA_"),
        verified="Open MPI 5.0.11; nodes by name, too",
        traps=(
            "a socket is spelled package; options have two dashes, and an option with a single dash is taken for "
            "the program",
            "only one --map-by counts, so qualifiers such as OVERSUBSCRIBE belong behind the mapping",
            'more ranks than cores are refused with "binding more processes than cpus" without overload-allowed',
            "only -x passes variables to ranks on other nodes, except OMPI_, PRTE_MCA_ and PMIX_MCA_",
            "refuses to start as root without OMPI_ALLOW_RUN_AS_ROOT and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
            "binds to processors that taskset excluded, unless it gets the allowed ones",
        ),
    ),
    Launcher(
        name="orterun",  # Open MPI 2 to 4, which calls itself OpenRTE when it is started as mpiexec
        library="openmpi",
        version_line=re.compile(r"\((?:Open MPI|OpenRTE)\) ([1-4]\.[\w.]*)"),
        rank_variables=("PMIX_RANK", "OMPI_COMM_WORLD_RANK"),
        ranks=("-n", "{ranks}"),
        bind={kind: ("--bind-to", kind) for kind in BINDINGS},
        hosts=("--host", "{hosts}"),
        host="{host}:{per_node}",
        map_by=("--map-by", "{map}"),
        maps={"core": "core", "core_group": "l3cache", "numa": "numa", "socket": "socket"},
        map_per_node="ppr:{per_node}:node",
        oversubscribe=("--oversubscribe",),
        oversubscribe_bind={"core": ("--bind-to", "core:overload-allowed")},
        export=("-x", "{name}={value}"),
        exported=("OMPI_", "PMIX_MCA_"),
        verified="Open MPI 4.1.4, ranks, binding and environment; nodes and spread not run",
        traps=(
            "without --bind-to two ranks are bound to cores, more than two to sockets",
            "only -x passes variables to ranks on other nodes, except OMPI_ and PMIX_MCA_",
        ),
    ),
    Launcher(
        name="orterun-spectrum",
        library="spectrummpi",
        version_line=re.compile(r"\(IBM Spectrum MPI\) (\d[\w.]*)"),
        rank_variables=("PMIX_RANK", "OMPI_COMM_WORLD_RANK"),
        ranks=("-n", "{ranks}"),
        bind={kind: ("--bind-to", kind) for kind in BINDINGS},
        hosts=("--host", "{hosts}"),
        host="{host}:{per_node}",
        map_by=("--map-by", "{map}"),
        maps={"core": "core", "numa": "numa", "socket": "socket"},
        map_per_node="ppr:{per_node}:node",
        oversubscribe=("--oversubscribe",),
        export=("-x", "{name}={value}"),
        exported=("OMPI_", "PMIX_MCA_"),
        traps=("derived from that of Open MPI 3 and assumed equal; under LSF jsrun starts jobs",),
    ),
    Launcher(
        name="hydra",
        library="mpich",
        version_line=re.compile(r"HYDRA build details:.*?Version:\s+(\d[\w.]*)", re.DOTALL),
        rank_variables=("PMI_RANK",),
        ranks=("-n", "{ranks}"),
        bind={kind: ("-bind-to", kind) for kind in BINDINGS},
        within=("-bind-to", "user:{processors}"),
        per_node=("-ppn", "{per_node}"),
        hosts=("-hosts", "{hosts}"),
        map_by=("-map-by", "{map}"),
        maps={"core": "core", "core_group": "l3cache", "numa": "numa", "socket": "socket"},
        export=("-genv", "{name}", "{value}"),
        verified="MPICH 5.0.2; nodes by name, too",
        traps=(
            "options have one dash; it does not know Open MPI's --bind-to and -x",
            "without -ppn it fills a node's slots first, so two ranks of a job on two nodes may share one",
            "inside a Slurm allocation srun starts its proxies, so srun's limits and plugins apply",
            "binds to processors that taskset excluded, unless it gets the allowed ones",
        ),
    ),
)

OTHER = Launcher(
    name="mpiexec",
    ranks=("-n", "{ranks}"),
    bind={"none": ()},
    traps=("an unknown launcher is asked only for -n, so its binding is its own",),
    verified="by its definition",
)


BATCH_LAUNCHERS = (
    Launcher(
        name="srun",
        batch=True,
        version_line=re.compile(r"^slurm (?:\S*-)?(\d[\w.]*)", re.MULTILINE),
        rank_variables=("SLURM_PROCID",),
        ranks=("-n", "{ranks}"),
        bind={
            "core": ("--cpu-bind=cores",),
            "socket": ("--cpu-bind=sockets",),
            "numa": ("--cpu-bind=ldoms",),
            "none": ("--cpu-bind=none",),
        },
        fixed=("--export=ALL",),
        # With the wrong one every rank starts as a job of its own, without a message. Cray MPICH speaks that of Slurm's
        # plugin cray_shasta, which is the default where it runs.
        pmi={"mpich": "--mpi=pmi2", "intelmpi": "--mpi=pmi2", "mvapich": "--mpi=pmi2", "openmpi": "--mpi=pmix"},
        pmi_chosen_by="SLURM_MPI_TYPE",
        where_set={"SLURM_STEP_ID": ("--overlap",)},
        per_node=("-N", "{nodes}", "--ntasks-per-node={per_node}"),
        hosts=("--nodelist={hosts}",),
        map_by=("--distribution={map}",),
        maps={"core": "block:block", "socket": "block:cyclic"},
        oversubscribe=("--overcommit",),
        verified="Slurm 22.05, MPICH 5.0.2 by PMI2 and Open MPI 5.0.11 by PMIx, two nodes (tests/slurm)",
        traps=(
            "with a PMI that the library does not speak each rank starts alone, without a message: --mpi is given",
            "since Slurm 22.05 a step takes no --cpus-per-task from sbatch: a rank gets one core, as bind=core asks",
            "passes the environment on unless SLURM_EXPORT_ENV forbids it: --export=ALL is given",
            "inside another step (srun --pty bash) a step waits for processors forever: --overlap is given there",
            "in a job of several nodes two ranks go to two nodes unless -N is given",
            "--cpu-bind is refused or ignored where the site has no task/affinity or task/cgroup plugin",
        ),
    ),
    Launcher(
        name="flux",
        batch=True,
        version_line=re.compile(r"^libflux-core:\s+(\d[\w.]*)", re.MULTILINE),  # from documentation, not run
        rank_variables=("FLUX_TASK_RANK",),
        leading=("run",),
        ranks=("-n", "{ranks}"),
        bind={"core": ("-o", "cpu-affinity=per-task"), "none": ("-o", "cpu-affinity=off")},
        per_node=("-N", "{nodes}"),
        hosts=("--requires=host:{hosts}",),
        traps=(
            "cpu-affinity is on by default and gives all tasks of a node the same cores; per-task divides them",
            "-n and --tasks-per-node exclude each other; with -n and -N the tasks are divided evenly",
            "the PMI is a shell plugin: Open MPI 5 needs -o pmi=pmix where flux-pmix is installed",
        ),
    ),
    Launcher(
        name="aprun",
        batch=True,
        version_line=re.compile(r"^aprun \(ALPS\) (\d[\w.]*)", re.MULTILINE),  # from documentation, not run
        ranks=("-n", "{ranks}"),
        bind={"core": ("-cc", "cpu"), "numa": ("-cc", "numa_node"), "none": ("-cc", "none")},
        per_node=("-N", "{per_node}"),
        hosts=("-L", "{hosts}"),
        traps=(
            "-N is ranks on each node here, where srun means the number of nodes",
            "HPE PALS has an aprun of its own that takes the same options, where ALPS is gone",
            "the batch script runs on a service node: its processors say nothing about those of the ranks",
        ),
    ),
    Launcher(
        name="pals",
        batch=True,
        # It prints no name: "mpiexec version 1.8.0 revision 0a1b2c" (recognised as E3SM's mache does; not run here).
        version_line=re.compile(r"^mpiexec version (\d[\w.]*) revision\b|\bPALS\b", re.MULTILINE),
        ranks=("-n", "{ranks}"),
        bind={kind: (f"--cpu-bind={kind}",) for kind in BINDINGS},
        per_node=("--ppn", "{per_node}"),
        hosts=("--hosts={hosts}",),
        export=("--env", "{name}={value}"),
        traps=(
            "it comes as mpiexec, without a compiler wrapper next to it, and knows no option of MPICH or Open MPI",
            "without --ppn it fills the nodes of a job one after the other",
        ),
    ),
    Launcher(
        name="jsrun",
        batch=True,
        ranks=("-n", "{ranks}", "-a", "1", "-c", "1"),  # resource sets, of one rank and one core each
        bind={"core": ("-b", "packed:1"), "none": ("-b", "none")},
        per_node=("-r", "{per_node}"),
        export=("-E", "{name}={value}"),
        traps=(
            "-n counts resource sets, not ranks: each set gets one rank here",
            "a set never spans nodes or sockets, and without -b its ranks are bound by a rule of their own",
            "the batch script runs on a launch node, which is first among the job's hosts and holds no rank; with "
            "bsub -ln_slots it has several slots and counts as a node",
        ),
    ),
    Launcher(
        name="ibrun",
        batch=True,
        ranks=("-n", "{ranks}", "-o", "0"),
        bind={"none": ()},
        traps=(
            "supports only -n and -o (an offset into the job's slots), together: the library behind it determines "
            "binding",
            "the batch script's own request determines ranks on each node, so one job has one placement",
        ),
    ),
)


__all__ = [
    "BATCH_NAMES",
    "BINDINGS",
    "LAUNCHERS",
    "RANK_VARIABLES",
    "Command",
    "Launcher",
    "RankPlacement",
    "binding_line",
    "command",
    "launcher_named",
    "unavailable_binding",
    "unavailable_place",
]

LAUNCHERS = (*LIBRARY_LAUNCHERS, *BATCH_LAUNCHERS, OTHER)
BATCH_NAMES = tuple(launcher.name for launcher in LAUNCHERS if launcher.batch)
RANK_VARIABLES = tuple(dict.fromkeys(name for launcher in LAUNCHERS for name in launcher.rank_variables))
ANYWHERE = RankPlacement()
# Libraries that come with another one's launcher, or with none but the batch system's.
_LAUNCHED_BY = {"mvapich": "hydra", "craympich": "srun"}


def launcher_named(name: str) -> Launcher:
    """The launcher of this name in LAUNCHERS. Raises UsageError for an unknown one."""
    for launcher in LAUNCHERS:
        if launcher.name == name:
            return launcher
    known = ", ".join(launcher.name for launcher in LAUNCHERS)
    raise UsageError(f"unknown launcher {name}; known are {known}")


def binding_line(library: str, bind: str) -> str | None:
    """Return how ranks are bound under this library, as a line for a shell; None: its launcher is not known."""
    name = _LAUNCHED_BY.get(library)
    launcher = next(
        (launcher for launcher in LAUNCHERS if (library and library == launcher.library) or name == launcher.name), None
    )
    if launcher is None or bind not in launcher.bind:
        return None
    if variables := launcher.bind_variables.get(bind):
        return "export " + " ".join(f"{name}={value}" for name, value in variables.items())
    return " ".join((launcher.name if launcher.batch else "mpiexec", *launcher.bind[bind]))


def unavailable_binding(launcher: Launcher, bind: str) -> str | None:
    """Why `launcher` can't be asked for this binding; None if it can."""
    if bind in launcher.bind or bind in UNASKED:
        return None
    if not launcher.known:
        return f"Slowpath does not know how this launcher binds ranks to a {bind}"
    return f"{launcher.name} can't be asked to bind ranks to a {bind}"


def unavailable_place(launcher: Launcher, place: RankPlacement) -> str | None:
    """Why `launcher` can't be asked to put ranks there; None if it can."""
    if place.spread and place.spread not in {**launcher.maps, **launcher.spread_variables}:
        return f"{launcher.name} can't place consecutive ranks on different {place.spread.replace('_', ' ')}"
    if place.per_node and not (launcher.per_node or launcher.map_per_node):
        return f"{launcher.name} has no option for ranks per node"
    if place.hosts and not launcher.hosts:
        return f"{launcher.name} has no option to use certain nodes of the job"
    return None


def command(
    launcher: Launcher,
    executable: str,
    library: str,
    ranks: int,
    bind: str,
    variables: Mapping[str, str],
    program: Sequence[str],
    cores: int,
    environ: Mapping[str, str] | None = None,
    place: RankPlacement = ANYWHERE,
) -> Command:
    """The command line that starts `program` on `ranks` ranks.

    Args:    executable: path of the launcher.  library: its name, or unknown.
             bind: one of BINDINGS or UNASKED.  variables: on top of the environment.  cores: those this job may use.
             environ: the caller's environment, for the settings of a batch system that are already there.
    Raises:  UsageError: a binding or place that this launcher can't be asked for.
    """
    reason = unavailable_binding(launcher, bind) or unavailable_place(launcher, place)
    if reason:
        raise UsageError(reason)
    oversubscribed = ranks > cores
    tokens = [*launcher.leading, *(token.format(ranks=ranks) for token in launcher.ranks), *launcher.fixed]
    tokens += launcher.for_caller(library, environ or {})
    tokens += _nodes(launcher, place)
    tokens += _mapping(launcher, place, oversubscribed)
    tokens += launcher.oversubscribe if oversubscribed else ()
    tokens += _binding(launcher, bind, place, oversubscribed)
    every = {
        **launcher.bind_variables.get(bind, {}),
        **_within(launcher, bind, place),
        **(launcher.placing if place.per_node or place.hosts else {}),
        **(launcher.spread_variables.get(place.spread, {}) if place.spread else {}),
        **variables,
    }
    for name, value in every.items():
        if not name.startswith(launcher.exported or ("\0",)):
            tokens += [token.format(name=name, value=value) for token in launcher.export]
    return Command(argv=(executable, *tokens, *program), variables=every)


def _binding(launcher: Launcher, bind: str, place: RankPlacement, oversubscribed: bool) -> Sequence[str]:
    if bind == "core" and place.processors and launcher.within:
        return [token.format(processors=_listed(place)) for token in launcher.within]
    usual = launcher.bind.get(bind, ())
    return launcher.oversubscribe_bind.get(bind, usual) if oversubscribed else usual


def _within(launcher: Launcher, bind: str, place: RankPlacement) -> dict[str, str]:
    if bind != "core" or not place.processors:
        return {}
    return {name: value.format(processors=_listed(place)) for name, value in launcher.within_variables.items()}


def _listed(place: RankPlacement) -> str:
    return ",".join(map(str, place.processors))


def _nodes(launcher: Launcher, place: RankPlacement) -> list[str]:
    tokens: list[str] = []
    if place.per_node:
        tokens += [token.format(nodes=place.nodes, per_node=place.per_node) for token in launcher.per_node]
    if place.hosts:
        hosts = ",".join(launcher.host.format(host=host, per_node=place.per_node) for host in place.hosts)
        tokens += [token.format(hosts=hosts) for token in launcher.hosts]
    return tokens


def _mapping(launcher: Launcher, place: RankPlacement, oversubscribed: bool) -> list[str]:
    """One mapping for all that is asked: a second one would take the place of the first."""
    mapping = launcher.maps.get(place.spread, "") if place.spread else ""
    if place.per_node and launcher.map_per_node and not mapping:
        mapping = launcher.map_per_node.format(per_node=place.per_node)
    mapping += launcher.oversubscribe_map if oversubscribed else ""
    return launcher.mapped(mapping)
