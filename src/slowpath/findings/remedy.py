# SPDX-License-Identifier: Apache-2.0
"""What a remedy is: one thing that can be changed, how users write it, and what must not change with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from slowpath.core.finding_results import RemedyResult
from slowpath.mpi.applies import EVERYWHERE, AppliesTo

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
