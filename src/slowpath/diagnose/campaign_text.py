# SPDX-License-Identifier: Apache-2.0
"""A campaign made by the program, as the TOML that a person would write: what it measures can be run again by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from slowpath.diagnose.places import Place
from slowpath.diagnose.sides import Condition

Values = str | Sequence[str]


@dataclass(frozen=True)
class EnvironmentTable:
    """[[environment]]. setting: of the library, by the name that all libraries share; it has no variables then."""

    name: str
    variables: Mapping[str, str] = field(default_factory=dict)
    unset: Sequence[str] = ()
    witness: bool = False
    setting: str | None = None


@dataclass(frozen=True)
class CellsTable:
    """[[cells]]. Names of environments and placements are those of the campaign."""

    name: str
    experiment: str
    parameters: Mapping[str, Values]
    environment: Sequence[str]
    placement: Sequence[str]
    copies: int = 1


@dataclass(frozen=True)
class ContrastTable:
    """[[contrast]]."""

    name: str
    question: str
    cells: str
    axis: str
    a: str
    b: str
    metric: str
    phase: str = "steady"
    where: Mapping[str, str] = field(default_factory=dict)
    control: bool = False
    explains: bool = False


@dataclass(frozen=True)
class CampaignText:
    """A whole campaign. placements: by name.  ranks: of those that state no number."""

    name: str
    title: str
    ranks: int
    rounds: int
    environments: Sequence[EnvironmentTable]
    placements: Mapping[str, Place]
    groups: Sequence[CellsTable]
    contrasts: Sequence[ContrastTable]
    minimum_effect: float = 0.03
    why: str = ""

    @property
    def text(self) -> str:
        """The file."""
        head = [
            "# SPDX-License-Identifier: Apache-2.0",
            *(f"# {line}" for line in self.why.splitlines()),
            "",
            "[campaign]",
            f"name = {_quoted(self.name)}",
            f"title = {_quoted(self.title)}",
            f"ranks = {self.ranks}",
            f"rounds = {self.rounds}",
            f"minimum_effect = {self.minimum_effect:g}",
        ]
        tables = [environment_text(e) for e in self.environments]
        tables += [placement_text(name, place) for name, place in self.placements.items()]
        tables += [group_text(g) for g in self.groups]
        tables += [contrast_text(c) for c in self.contrasts]
        return "\n".join(head) + "\n\n" + "\n".join(tables)


def environments_of(conditions: Sequence[Condition]) -> list[EnvironmentTable]:
    """The environments of conditions, each once."""
    once = {one.environment: one for one in conditions}
    return [EnvironmentTable(one.environment, one.variables, one.unset) for one in once.values()]


def environment_text(environment: EnvironmentTable) -> str:
    """One [[environment]] table."""
    lines = ["[[environment]]", f"name = {_quoted(environment.name)}"]
    if environment.setting is not None:
        lines.append(f"setting = {_quoted(environment.setting)}")
    if environment.variables:
        pairs = ", ".join(f"{name} = {_quoted(value)}" for name, value in environment.variables.items())
        lines.append(f"variables = {{ {pairs} }}")
    if environment.unset:
        lines.append(f"unset = {_list(environment.unset)}")
    if environment.witness:
        lines.append("witness = true")
    return "\n".join(lines) + "\n"


def placement_text(name: str, place: Place) -> str:
    """One [[placement]] table."""
    return "\n".join(["[[placement]]", f"name = {_quoted(name)}", *place.lines]) + "\n"


def group_text(group: CellsTable) -> str:
    """One [[cells]] table."""
    lines = ["[[cells]]", f"name = {_quoted(group.name)}", f"experiment = {_quoted(group.experiment)}"]
    lines += [f"environment = {_list(group.environment)}", f"placement = {_list(group.placement)}"]
    if group.copies > 1:
        lines.append(f"copies = {group.copies}")
    lines.append("[cells.parameters]")
    for name, value in group.parameters.items():
        lines.append(f"{name} = {_quoted(value) if isinstance(value, str) else _list(value)}")
    return "\n".join(lines) + "\n"


def contrast_text(contrast: ContrastTable) -> str:
    """One [[contrast]] table."""
    lines = ["[[contrast]]"]
    for name in ("name", "question", "cells", "axis", "a", "b", "metric", "phase"):
        lines.append(f"{name} = {_quoted(getattr(contrast, name))}")
    if contrast.where:
        pairs = ", ".join(f"{name} = {_quoted(value)}" for name, value in contrast.where.items())
        lines.append(f"where = {{ {pairs} }}")
    lines += [f"{flag} = true" for flag in ("control", "explains") if getattr(contrast, flag)]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    # JSON text is TOML text for printable strings, and names are printable.
    return json.dumps(text, ensure_ascii=False)


def _list(values: Sequence[str]) -> str:
    return "[" + ", ".join(_quoted(value) for value in values) + "]"
