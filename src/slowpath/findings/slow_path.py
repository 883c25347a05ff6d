# SPDX-License-Identifier: Apache-2.0
"""What a slow path is, what it observes, and its remedies. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from slowpath.core.finding_results import FindingKind, RemedyResult
from slowpath.core.result import Interval
from slowpath.findings.facts import Difference, Facts, Place
from slowpath.mpi.launchers import binding_line
from slowpath.mpi.libraries import EVERYWHERE, AppliesTo
from slowpath.mpi.settings import SETTINGS, TUNINGS
from slowpath.stats.laws.law import FittedLaw

# What a slow path costs a program: the messages that it is about, and the cell that is the same message without it.
# Pure.

HOST: Final = frozenset({"heap", "mapping", "stack", "static data"})
MALLOC: Final = frozenset({"heap", "mapping"})
GPU: Final = frozenset({"device memory", "managed memory"})
STEADY_METRICS: Final = ("half_round_trip_latency_s", "one_way_s")
FIRST_METRICS: Final = ("one_way_s",)

# What a change may look at where a cell does not state it.
DEFAULTS: Final[Parameters] = {
    "pages": "default",
    "pack": "none",
    "overalloc_bytes": "0",
    "offset_bytes": "0",
    "memory": "host",
}


@dataclass(frozen=True)
class When:
    """The messages that a price is about; what is None or empty is not asked. One side that fits is enough.

    memory: kinds, as a watch calls them.  below_page_bytes: of the pages that map the buffer.  least_bytes: of the mean
    message.  first: first use of the allocation.  odd: its length is no multiple of its page.  below_block_bytes: of
    the contiguous stretches of the datatype.
    """

    memory: frozenset[str] = frozenset()
    below_page_bytes: int | None = None
    least_bytes: int = 0
    first: bool | None = None
    odd: bool | None = None
    below_block_bytes: int | None = None


@dataclass(frozen=True)
class ProgramPrice:
    """What the messages that a slow path is about cost a program too much.

    name         unique; findings of a program are distinguished by it
    rule         code of its slow path, filled in where the prices are listed
    load         the messages in words, after their number and length: "from malloc on 4 KiB pages"
    remedy       that the remedied cell has; None: `change` alone says it
    change       of the cell's parameters; None: the remedy's own, or one of environment or phase
    metrics      any of them prices it, the first is what the replay measures
    phase, remedied_phase   of the messages as they are and remedied
    both_sides   the cell has the fault on both sides alike, so a message that has it on one alone is not priced
    experiment   whose cells
    reaches_malloc  the remedy works from outside: it is about memory that malloc gives, or about no memory
    """

    name: str
    when: When
    load: str
    remedy: Remedy | None
    change: Change | None = None
    metrics: tuple[str, ...] = STEADY_METRICS
    phase: Literal["first", "steady"] = "steady"
    remedied_phase: Literal["first", "steady"] = "steady"
    both_sides: bool = False
    experiment: Literal["p2p", "put"] = "p2p"
    reaches_malloc: bool = True
    rule: str = ""

    def remedied(self, parameters: Parameters) -> Parameters | None:
        """The cell without the fault; None: the parameters have no such fault."""
        change = self.change or (self.remedy.change if self.remedy else None)
        return change({**DEFAULTS, **parameters}) if change else None


# What a remedy is: one thing that can be changed, how users write it, and what must not change with it.
#
# What a `Remedy` does in the engine, a `ProgramRemedy` does to a whole program, without compiling it again (`slowpath
# prove`). A state of a library is named here; its variables stand in slowpath.mpi. `snippet` has the lines to copy.

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
    """

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
    cores_per_rank  cores that each rank has to have for it to help; None: it helps on any number
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
    is_tried     a cell can try it
    """

    name: str
    text: str
    axes: tuple[str, ...]
    control: Control | None = None
    applies: AppliesTo = EVERYWHERE
    variables: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    parameter: str | None = None
    change: Change | None = None
    bind: str | None = None
    code: str | None = None
    replaces_calls: bool = False
    is_tried: bool = True
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


# Ranks that multiply matrices send no messages.
ALONE = Control(
    experiment="cannon",
    parameters={"variant": "compute_only", "n": "256", "repetitions": "12", "quiet_wait_s": "0"},
    metric="multiply_s",
)
# An 8-byte message is eager in every library, and lies on a single page: no setting for long messages changes it.
EAGER = Control(
    parameters={"pattern": "ping_pong", "message_bytes": "8"},
    metric="half_round_trip_latency_s",
)
LATER = Control(phase="steady")


def of_environment(listed: RemedyResult, variables: Mapping[str, str], unset: tuple[str, ...] = ()) -> Remedy:
    """A remedy that a finding lists, as one that a trial can toggle by these variables."""
    return Remedy(
        name=listed.name,
        text=listed.text,
        axes=("environment",),
        control=ALONE,
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


def snippet(remedy: Remedy, library: str | None = None) -> dict[str, str | None]:
    """{shell, modulefile, code}, each None where this remedy has none."""
    shell = shell_lines(remedy.variables, remedy.unset)
    if remedy.bind is not None:
        shell = binding_line(library or "", remedy.bind) if remedy.bind else None
    return {"shell": shell, "modulefile": modulefile_lines(remedy.variables, remedy.unset), "code": remedy.code}


def for_programs(variables: Mapping[str, str]) -> Mapping[str, str]:
    """Without what the engine alone reads."""
    return {name: value for name, value in variables.items() if name not in ENGINE_ONLY}


def _lua(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


TUNABLES = "GLIBC_TUNABLES"  # values of several remedies are joined, and the user's own stand in front
# What has to hold on the machine (diagnose.prove.machine looks).
Need = Literal["glibc 2.35", "huge pages by madvise", "reserved huge pages", "GPU"]
# What else than time shows that it was taken: MPI_T reads the value back; page faults become fewer; affinity of the
# ranks changes; the preloaded library reports what it padded.
RemedyWitness = Literal["control variable", "faults", "affinity", "pad report"]


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
    """

    key: str
    text: str
    witness: RemedyWitness
    source: str
    table: tuple[str, ...] = ()
    ways: tuple[Way, ...] = ()
    state: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    preload: str | None = None
    bind: str | None = None
    needs: tuple[Need, ...] = ()


# Remedies that are environment variables of a library. Which variables those are only `slowpath.mpi` knows.


def tunings(common: Remedy) -> tuple[Remedy, ...]:
    """Return a remedy for each row of mpi.tunings whose purpose is the name of `common`."""
    return tuple(
        replace(
            common,
            name=row.name,
            applies=row.applies,
            variables=row.variables,
            only=row.only,
            phrase=row.phrase,
        )
        for row in TUNINGS
        if row.purpose == common.name
    )


def variables_for(
    remedy: ProgramRemedy, library: str | None, version: str | None, transport: str | None
) -> dict[str, str] | None:
    """Return what the remedy sets under this library; None: no way is known there."""
    ways = remedy.ways or [Way(row.applies, row.variables) for row in SETTINGS if row.name == remedy.state]
    if not ways:
        return dict(remedy.variables)
    way = next((way for way in ways if way.applies.fits(library, version, transport)), None)
    return None if way is None else {**way.variables, **remedy.variables}


# What a slow path observes in results.json, and what supports its cause.


LEAST_COVERED = 0.5


@dataclass(frozen=True)
class Support:
    """Whether what was witnessed supports the rule's cause. text: what agrees.

    is_processor_time: it rests on processor time alone, which a side that waits spends as well.
    covers: share of the excess that it accounts for; None: it is no quantity, as sharing a processor. What covers less
    than LEAST_COVERED is called a part, and explains nothing.
    """

    state: Literal["shown", "missing", "refuted"]
    text: str = "nothing that was counted confirms the cause"
    evidence: tuple[str, ...] = ()
    is_processor_time: bool = False
    covers: float | None = None


@dataclass(frozen=True)
class Observation:
    """A slow path that was seen, before anything is concluded about its cause.

    about: what sets it apart from other observations of the rule in the same place ("host", "window create").
    ratio, interval: slow over usual time.  excess_s: slow minus usual, per operation, seconds.  All are None where
    nothing usual was measured, as with ranks that share the only processor.
    affects_default: whether users who change nothing are on the slow side; None: neither side is theirs.
    axis: what the two sides differ in, as a contrast has it; None: the observation rests on no contrast.
    evidence: lines of the leg "observed".
    doubts: what speaks against reading more into it.  exports: variables that put users who set none on the fast side.
    unsets: variables that put users who set them on the slow side.
    is_sure_fault: it is so large that neither a healthy library nor a busy machine shows it.
    """

    about: str
    place: Place
    text: str
    metric: str
    phase: str
    ratio: float | None
    interval: Interval | None
    excess_s: float | None
    affects_default: bool | None
    cells: tuple[int, ...]
    contrasts: tuple[str, ...] = ()
    axis: str | None = None
    law: FittedLaw | None = None
    evidence: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    exports: Mapping[str, str] = field(default_factory=dict)
    unsets: tuple[str, ...] = ()
    slow_cells: tuple[int, ...] = ()
    fast_cells: tuple[int, ...] = ()
    is_sure_fault: bool = False


def observed(difference: Difference, **more: Any) -> Observation:
    """The observation of one difference; `more`: what of it the difference does not have."""
    return Observation(
        **{
            "metric": difference.metric,
            "phase": "steady",
            "ratio": difference.ratio.value,
            "interval": difference.ratio.interval,
            "excess_s": difference.excess_s,
            "slow_cells": (difference.slow.cell,),
            "fast_cells": (difference.fast.cell,),
            **more,
        }
    )


Observe = Callable[[Facts], Sequence[Observation]]
Witness = Callable[[Facts, Observation], Support]


def nothing(_: Facts) -> Sequence[Observation]:
    """Return no observation: it is not seen in cells."""
    return ()


# What a slow path is: everything that is particular to it, in one declarative object.
#
# Each slow path is one `SlowPath` in a module of its own in `slowpath.slowpaths`. General code loops over them and
# knows no name of any.

Refinement = Literal["switch", "settings", "state", "alternatives"]


@dataclass(frozen=True, kw_only=True)
class SlowPath:
    """A slow path that has a name.

    Identity:
        code: fixed for ever.  name: short, for tables.  title: of its page and its findings.
        kind: fault: this machine or its configuration is slower than it has to be.  opportunity: another setting or
            call gives the same result faster.  property: how the library works everywhere.
        concerns: what a program must use for it to matter ("one-sided communication"); None: any program. It never
            speaks first to those who have not said that they use it.
        summary, needs, remedy: its page: the cause, how it is found and proven, what to do.

    Facts:
        observe: from facts to observations, the only place that writes its sentence.
        witnesses: what supports the cause.
        needs_law: False where what differs is a name and not a number, so that nothing can be swept.

    Experiments:
        probes: groups of the survey's cells in which it can be seen; empty: any of them.
        refinements: what a diagnosis asks further: which variable sets a "switch"; which of the
            user's "settings" is responsible; that it is what the user's own "state" shows before any survey; which of
            the library's "alternatives" is faster.

    Remedies:
        remedies: for a cell and for the program's code, in the order in which they are tried.
        removes_cause: those of `remedies` with which the cause can't be there, and that the engine applies itself, so
            that a trial in which one changes nothing refutes the cause. A variable that the library may not read, and
            a way around the cost, refute nothing.
        program_remedies: for a program as it is, without compiling it again.

    In a program:
        prices: the messages that it is about, and the cell that prices them.
    """

    code: str
    name: str
    title: str
    kind: FindingKind
    concerns: str | None = None
    summary: str
    needs: str
    remedy: str
    observe: Observe
    witnesses: Witness = lambda *_: Support("missing")
    needs_law: bool = True
    probes: tuple[str, ...] = ()
    refinements: tuple[Refinement, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    removes_cause: tuple[Remedy, ...] = ()
    program_remedies: tuple[ProgramRemedy, ...] = ()
    prices: tuple[ProgramPrice, ...] = ()
