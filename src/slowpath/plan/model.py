# SPDX-License-Identifier: Apache-2.0
"""The plan of a run: what plan.json holds. `plan.expand` builds it, `run` executes it, `analyse` reads it."""

from __future__ import annotations

import msgspec

PLAN_SCHEMA = 1


class Environment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Environment variables that a launch gets on top of the user's own."""

    name: str
    variables: dict[str, str] = {}
    setting: str | None = None  # the library-neutral name that the variables came from, e.g. "single_copy_off"
    unavailable: str | None = None  # why this MPI can't be put into this state; its cells are skipped


class Placement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where ranks go: how the launcher is asked to bind them."""

    name: str
    bind: str = "core"  # core | socket | numa | none; unknown: an imported run


class Cell(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One experiment at one point.

    `parameters` holds all of the engine's, defaults included, spelled as in plan.txt: bytes as plain
    integers. An imported cell has only those that its log states.
    """

    cell: int
    key: str
    group: str
    label: str
    experiment: str
    parameters: dict[str, str]
    environment: str
    placement: str
    copy: int = 1  # 1, 2, ...: the same cell again, for A/A contrasts
    skip: str | None = None  # why it is not run at all


class Side(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One side of a contrast: a phase of a cell, and what the axis is set to there."""

    cell: int
    phase: str  # first | steady
    value: str


class Contrast(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Two cells (or two phases of one) that differ in one thing. The claim is b over a."""

    id: str
    group: str
    question: str
    axis: str  # a parameter's name, environment, placement, copy, or phase
    metric: str
    a: Side
    b: Side
    control: bool = False  # nothing differs: expected "same"
    remedy: str | None = None


class Launch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One planned start of the MPI job: one environment and placement, its cells in shuffled order."""

    launch: int
    round: int
    environment: str
    placement: str
    cells: list[int]
    seed: int


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A campaign fully expanded for one MPI. Launches stand in the order in which they are to run."""

    schema: int
    campaign: str
    title: str
    ranks: int
    rounds: int
    seed: int
    minimum_effect: float  # ratio below which a difference is called "same", e.g. 0.03
    environments: list[Environment]
    placements: list[Placement]
    cells: list[Cell]
    contrasts: list[Contrast]
    launches: list[Launch]
