# SPDX-License-Identifier: Apache-2.0
"""What a remedy is: one thing that can be changed, how users write it, and what must not change with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from slowpath.mpi.settings import version_tuple

Parameters = Mapping[str, str]
Change = Callable[[Parameters], Mapping[str, str] | None]


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
    """One line of the table. Exactly one of `variables` or `unset`, `change`, and `bind` says what is changed.

    name         unique, for people: "huge pages"
    text         what to do, one sentence
    rules        codes of the rules whose slow paths it may remove
    control      what must stay as it is; None: nothing that must can be measured, so that it can't be proven
    uncontrolled why there is no control; None: there is one, or it is not tried
    side_effects what to watch, in words
    sources      where to read on
    library      mpich, openmpi, intelmpi; None: every one.  first, below, transport: as launch.settings.Setting
    variables    environment variables to set.  unset: names to take out of the environment
    axis, change a parameter of the engine and what the parameters become; None from `change`: it is so already, or does
                 not apply
    bind         how the launcher binds ranks
    code         what a program writes, ready to copy
    tried        False: there is no cell that can try it on this version of Slowpath; `untried` says why
    """

    name: str
    text: str
    rules: tuple[str, ...]
    control: Control | None = None
    side_effects: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    library: str | None = None
    first: tuple[int, ...] = (0,)
    below: tuple[int, ...] | None = None
    transport: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    axis: str | None = None
    change: Change | None = None
    bind: str | None = None
    code: str | None = None
    untried: str | None = None
    uncontrolled: str | None = None

    def fits(self, library: str | None, version: str | None, transport: str | None = None) -> bool:
        """Whether it is meant for this library; an unknown version has none of those that are bound to versions."""
        if self.library is None:
            return True
        if self.library != library or (self.transport or None) != (transport or None):
            return False
        number = version_tuple(version)
        return number is not None and number >= self.first and (self.below is None or number < self.below)


def set_to(axis: str, value: str) -> Change:
    """A change of one parameter to one value."""

    def change(parameters: Parameters) -> Mapping[str, str] | None:
        if axis not in parameters or parameters[axis] == value:
            return None
        return {**parameters, axis: value}

    return change
