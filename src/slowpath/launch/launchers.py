# SPDX-License-Identifier: Apache-2.0
"""Launchers as tables of tokens: how each is told the ranks, the binding and the environment. Pure.

Verified with MPICH 5.0.2, Open MPI 5.0.11 and Intel MPI 2021.18 on one node by reading each rank's affinity mask.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from slowpath.errors import UsageError

BINDINGS = ("core", "socket", "numa", "none")


@dataclass(frozen=True)
class Launcher:
    """How one launcher spells things. Tokens may hold {ranks}, {name} and {value}.

    bind            tokens for each of BINDINGS
    bind_variables  variables for each of BINDINGS, for launchers that bind by environment
    crowded         tokens added when there are more ranks than cores
    crowded_bind    tokens for each binding then, where they differ from `bind`
    export          tokens that pass one variable to ranks on other nodes
    exported        prefixes of variables that the launcher passes on by itself
    """

    name: str
    ranks: tuple[str, ...]
    bind: Mapping[str, tuple[str, ...]]
    bind_variables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    fixed: tuple[str, ...] = ()
    crowded: tuple[str, ...] = ()
    crowded_bind: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    export: tuple[str, ...] = ()
    exported: tuple[str, ...] = ()


@dataclass(frozen=True)
class Command:
    """What to start: argv, and the variables to set on top of the caller's environment."""

    argv: tuple[str, ...]
    variables: Mapping[str, str]


LAUNCHERS = (
    Launcher(
        name="hydra",  # MPICH; takes single-dash options
        ranks=("-n", "{ranks}"),
        bind={kind: ("-bind-to", kind) for kind in BINDINGS},
        export=("-genv", "{name}", "{value}"),
    ),
    Launcher(
        name="hydra-intel",  # binds by variables; -bind-to of MPICH is ignored unless I_MPI_PIN is off
        ranks=("-n", "{ranks}"),
        bind=dict.fromkeys(BINDINGS, ()),
        bind_variables={
            "core": {"I_MPI_PIN": "on", "I_MPI_PIN_DOMAIN": "core"},
            "socket": {"I_MPI_PIN": "on", "I_MPI_PIN_DOMAIN": "socket"},
            "numa": {"I_MPI_PIN": "on", "I_MPI_PIN_DOMAIN": "numa"},
            "none": {"I_MPI_PIN": "off"},
        },
        export=("-genv", "{name}", "{value}"),
        exported=("I_MPI_",),
    ),
    Launcher(
        name="prterun",  # Open MPI 5: "socket" is spelled package, a single dash is taken for the program
        ranks=("-n", "{ranks}"),
        bind={
            "core": ("--bind-to", "core"),
            "socket": ("--bind-to", "package"),
            "numa": ("--bind-to", "numa"),
            "none": ("--bind-to", "none"),
        },
        crowded=("--map-by", ":OVERSUBSCRIBE"),
        # Refused with "binding more processes than cpus" without the qualifier.
        crowded_bind={"core": ("--bind-to", "core:overload-allowed")},
        export=("-x", "{name}={value}"),
        exported=("OMPI_", "PRTE_MCA_", "PMIX_MCA_"),
    ),
    Launcher(
        name="orterun",  # Open MPI 2 to 4
        ranks=("-n", "{ranks}"),
        bind={kind: ("--bind-to", kind) for kind in BINDINGS},
        crowded=("--oversubscribe",),
        crowded_bind={"core": ("--bind-to", "core:overload-allowed")},
        export=("-x", "{name}={value}"),
        exported=("OMPI_", "PMIX_MCA_"),
    ),
    Launcher(
        name="srun",  # passes the whole environment on, unless SLURM_EXPORT_ENV says otherwise: so it is said
        ranks=("-n", "{ranks}"),
        bind={
            "core": ("--cpu-bind=cores",),
            "socket": ("--cpu-bind=sockets",),
            "numa": ("--cpu-bind=ldoms",),
            "none": ("--cpu-bind=none",),
        },
        fixed=("--export=ALL",),
        crowded=("--overcommit",),
    ),
    Launcher(
        name="mpiexec",  # any other: MPI-4.1, section 11.5 promises -n and nothing more
        ranks=("-n", "{ranks}"),
        bind={"none": ()},
    ),
)

# What srun must speak for each library (its --mpi plugin), unless SLURM_MPI_TYPE already says. With the wrong one
# every rank starts as a job of its own, without a message.
SRUN_PMI = {"mpich": "--mpi=pmi2", "intelmpi": "--mpi=pmi2", "openmpi": "--mpi=pmix"}


def launcher_named(name: str) -> Launcher:
    """The launcher of this name in LAUNCHERS. Raises UsageError for an unknown one."""
    for launcher in LAUNCHERS:
        if launcher.name == name:
            return launcher
    known = ", ".join(launcher.name for launcher in LAUNCHERS)
    raise UsageError(f"unknown launcher {name}; known are {known}")


def unavailable_binding(launcher: Launcher, bind: str) -> str | None:
    """Why `launcher` can't be asked for this binding; None if it can."""
    if bind in launcher.bind:
        return None
    return f"this launcher is not known to Slowpath, so it can't be asked to bind ranks to a {bind}"


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
) -> Command:
    """The command line that starts `program` on `ranks` ranks.

    Args:    executable: path of the launcher.  library: mpich, openmpi, intelmpi or unknown.
             bind: one of BINDINGS.  variables: on top of the environment.  cores: those this job may use.
             environ: the caller's environment, for the settings of a batch system that are already there.
    Raises:  UsageError: a binding that this launcher can't be asked for.
    """
    reason = unavailable_binding(launcher, bind)
    if reason:
        raise UsageError(reason)
    crowded = ranks > cores
    tokens = [token.format(ranks=ranks) for token in launcher.ranks]
    tokens += launcher.fixed
    tokens += _pmi(launcher, library, environ or {})
    tokens += launcher.crowded if crowded else ()
    tokens += launcher.crowded_bind.get(bind, launcher.bind[bind]) if crowded else launcher.bind[bind]
    every = {**launcher.bind_variables.get(bind, {}), **variables}
    for name, value in every.items():
        if not name.startswith(launcher.exported or ("\0",)):
            tokens += [token.format(name=name, value=value) for token in launcher.export]
    return Command(argv=(executable, *tokens, *program), variables=every)


def _pmi(launcher: Launcher, library: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    if launcher.name != "srun" or "SLURM_MPI_TYPE" in environ or library not in SRUN_PMI:
        return ()
    return (SRUN_PMI[library],)
