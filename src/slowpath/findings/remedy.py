# SPDX-License-Identifier: Apache-2.0
"""What a remedy is: one thing that can be changed, how users write it, and what must not change with it. Pure.

What a `Remedy` does in the engine, a `ProgramRemedy` does to a whole program, without compiling it again
(`slowpath prove`). A state of a library is named here; its variables stand in slowpath.mpi. `snippet` has the lines to
copy.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from slowpath.core.finding_results import RemedyResult
from slowpath.mpi.launchers import binding_line
from slowpath.mpi.libraries import EVERYWHERE, AppliesTo

Parameters = Mapping[str, str]
Change = Callable[[Parameters], Mapping[str, str] | None]


def on_gpu(parameters: Parameters) -> bool:
    """Whether a cell with these parameters has GPU memory at either end."""
    kinds = parameters.get("memory", "device" if "exporter_device" in parameters else "host").split(":")
    return any(kind.startswith("device") or kind == "managed" for kind in kinds)


@dataclass(frozen=True)
class Control:
    """A negative control: a measurement that this remedy must leave as it is.

    phase: of the trial's own cells, where `parameters` is None: the phase that the remedy does not reach.
    experiment, parameters: else a cell of its own, measured with and without the remedy.  metric: None: the trial's.
    without: what stands in place of the slow side's value where the remedy is a parameter; None: the slow side's own.
    why: the reason for which nothing may change.
    """

    why: str
    phase: str | None = None
    experiment: str = "p2p"
    parameters: Parameters | None = None
    metric: str | None = None
    without: str | None = None


@dataclass(frozen=True)
class Remedy:
    """One thing that may help. Exactly one of `variables` or `unset`, `change`, and `bind` is what it changes.

    name         unique, for people: "huge pages"
    text         what to do, one sentence
    phrase       what to use, as it stands after "Use" or "Try": "huge pages"; None: its name
    axes         axes of contrast along which it may lead from the slow side to the fast one: a parameter of the engine,
                 environment, placement, or phase
    control      what must stay as it is; None: nothing that must can be measured, so that it can't be proven
    uncontrolled why there is no control; None: there is one, or it is not tried
    cores_per_rank  cores that each rank has to have for it to help; None: it helps on any number
    side_effects what to watch, in words
    sources      where to read on
    applies      libraries, versions and transport that it is for
    variables    environment variables to set.  unset: names to take out of the environment
    parameter, change  a parameter of the engine and what the parameters become; None from `change`: it is so already,
                 or does not apply. A trial puts a remedy on both sides: one that is about the slow side's own parameter
                 (pages that are huge on the fast side already) changes nothing there, and `change` says so
    bind         how the launcher binds ranks
    code         what a program writes, ready to copy
    only         parameter -> values of slow cells that it is for; empty: any. A library sets an algorithm by collective
    of_gpu_memory  it is about messages from or to GPU memory alone
    replaces_calls  a trial lets libslowpath-coll.so replace the call by the mock-up of the fast side
    untried      why no cell can try it on this version of Slowpath; None: it can be tried
    """

    name: str
    text: str
    axes: tuple[str, ...]
    control: Control | None = None
    side_effects: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    applies: AppliesTo = EVERYWHERE
    variables: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    parameter: str | None = None
    change: Change | None = None
    bind: str | None = None
    code: str | None = None
    replaces_calls: bool = False
    untried: str | None = None
    uncontrolled: str | None = None
    cores_per_rank: int | None = None
    phrase: str | None = None
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)
    of_gpu_memory: bool = False

    @property
    def words(self) -> str:
        """As after "Use"."""
        if self.phrase:
            return self.phrase
        if self.variables:
            return ", ".join(f"{name}={value}" for name, value in self.variables.items())
        return f"an environment without {', '.join(self.unset)}" if self.unset else self.name

    def fits(self, parameters: Parameters) -> bool:
        """Whether it changes anything in a cell with these parameters."""
        if any(parameters.get(name) not in values for name, values in self.only.items()):
            return False
        if self.of_gpu_memory and not on_gpu(parameters):
            return False
        return self.change is None or self.change(parameters) is not None

    def leads(self, slow: Parameters, fast: Parameters) -> bool:
        """Whether it gives the slow side the fast side's own value of its parameter."""
        changed = self.change(slow) if self.change else None
        return (
            changed is not None and self.parameter is not None and changed[self.parameter] == fast.get(self.parameter)
        )


def set_to(parameter: str, value: str) -> Change:
    """A change of one parameter to one value."""

    def change(parameters: Parameters) -> Mapping[str, str] | None:
        if parameter not in parameters or parameters[parameter] == value:
            return None
        return {**parameters, parameter: value}

    return change


def fitting(
    remedies: Iterable[Remedy],
    axis: str | None = None,
    library: str | None = None,
    version: str | None = None,
    transport: str | None = None,
) -> tuple[Remedy, ...]:
    """Return the remedies that lead along an axis of contrast under a library.

    Args:
        axis: of the contrast in which the slow path was seen; None: it was seen in no contrast, or all are asked for.
        library, version, transport: of the MPI in use; library None: any.
    """
    return tuple(
        remedy
        for remedy in remedies
        if (axis is None or axis in remedy.axes)
        and (library is None or remedy.applies.fits(library, version, transport))
    )


ALONE = Control(
    "ranks that multiply matrices send no messages",
    experiment="cannon",
    parameters={"variant": "compute_only", "n": "256", "repetitions": "12", "quiet_wait_s": "0"},
    metric="multiply_s",
)
EAGER = Control(
    "an 8-byte message is eager in every library, so a setting for long messages can't change it",
    parameters={"pattern": "ping_pong", "message_bytes": "8"},
    metric="half_round_trip_latency_s",
)
LATER = Control("padding changes only the first use, not later messages from the same buffer", phase="steady")
SHORT = Control(
    "an 8-byte message lies on a single page, huge or small",
    parameters={"pattern": "ping_pong", "message_bytes": "8"},
    metric="half_round_trip_latency_s",
)


def of_environment(listed: RemedyResult, variables: Mapping[str, str], unset: tuple[str, ...] = ()) -> Remedy:
    """A remedy that a finding lists, as one that a trial can toggle by these variables."""
    return Remedy(
        name=listed.name,
        text=listed.text,
        axes=("environment",),
        control=ALONE,
        side_effects=tuple(effect for effect in listed.side_effects if isinstance(effect, str)),
        applies=AppliesTo(None),
        variables=variables,
        unset=unset,
        phrase=listed.phrase,
    )


# Read by Slowpath's engine alone, so that a trial can toggle what a program writes in its code: nobody's line to copy.
ENGINE_ONLY = frozenset({"SLOWPATH_THREAD_LEVEL"})


def shell_lines(variables: Mapping[str, str], unset: Sequence[str]) -> str | None:
    """Lines for a POSIX shell; None when there is nothing to set."""
    lines = [f"unset {shlex.quote(name)}" for name in unset]
    lines += [f"export {shlex.quote(name)}={shlex.quote(value)}" for name, value in for_programs(variables).items()]
    return "\n".join(lines) or None


def modulefile_lines(variables: Mapping[str, str], unset: Sequence[str]) -> str | None:
    """Lines for a modulefile in Lua (Lmod); None when there is nothing to set."""
    lines = [f"unsetenv({_lua(name)})" for name in unset]
    lines += [f"setenv({_lua(name)}, {_lua(value)})" for name, value in for_programs(variables).items()]
    return "\n".join(lines) or None


def bind_line(bind: str | None, library: str | None) -> str | None:
    """How this library's launcher binds; None: not known, or nothing is bound."""
    return binding_line(library or "", bind) if bind else None


def snippet(remedy: Remedy, library: str | None = None) -> dict[str, str | None]:
    """{shell, modulefile, code}, each None where this remedy has none."""
    shell = shell_lines(remedy.variables, remedy.unset)
    if remedy.bind is not None:
        shell = bind_line(remedy.bind, library)
    return {"shell": shell, "modulefile": modulefile_lines(remedy.variables, remedy.unset), "code": remedy.code}


def for_programs(variables: Mapping[str, str]) -> Mapping[str, str]:
    """Without what the engine alone reads."""
    return {name: value for name, value in variables.items() if name not in ENGINE_ONLY}


def _lua(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


TUNABLES = "GLIBC_TUNABLES"  # values of several remedies are joined, and the user's own stand in front
PAD_LIBRARY = "libslowpath-pad.so"
COLL_LIBRARY = "libslowpath-coll.so"
COLLECTIVES = "collectives"  # key of the remedy whose tuning file is made for each watch
EAGER_BYTES = 65536
# What has to hold on the machine (diagnose.prove.machine looks).
Need = Literal["glibc 2.35", "huge pages by madvise", "reserved huge pages", "GPU"]
# What else than time shows that it was taken: MPI_T reads the value back; page faults become fewer; affinity of the
# ranks changes; the preloaded library reports what it padded, or which collectives it replaced.
Witness = Literal["control variable", "faults", "affinity", "pad report", "collectives report"]


@dataclass(frozen=True)
class Way:
    """How one library is asked."""

    applies: AppliesTo
    variables: Mapping[str, str]


@dataclass(frozen=True)
class ProgramRemedy:
    """One thing that may help a program.

    key      as after --remedy.  text: what it does, one sentence
    table    names of the remedies that it stands for
    ways     by library, the first that fits counts
    state    of a library, as mpi.settings names it: its rows there are the ways
    variables  of every library.  preload: library that is preloaded.  bind: of the launcher
    witness  what shows that it was taken
    source   where to read on
    screened whether --screen tries it: cheap, and nothing that may break the program
    when_crowded  whether it is for ranks that have to share processors: --screen tries it first there
    """

    key: str
    text: str
    witness: Witness
    source: str
    table: tuple[str, ...] = ()
    ways: tuple[Way, ...] = ()
    state: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    preload: str | None = None
    bind: str | None = None
    needs: tuple[Need, ...] = ()
    screened: bool = True
    when_crowded: bool = False
