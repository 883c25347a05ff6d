# SPDX-License-Identifier: Apache-2.0
"""A campaign: what its file says, and writing one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from slowpath.core.errors import UsageError

Scalar = str | int | float | bool
Values = Scalar | Sequence[Scalar]
Name = Annotated[str, Meta(pattern=r"^[^\x00-\x1f\x7f]*[^\x00-\x20\x7f][^\x00-\x1f\x7f]*$", max_length=80)]
Names = str | Sequence[str]
RankCount = Annotated[int, Meta(ge=1, le=1_000_000)]
EVERY = "*"  # of the campaign's environments or placements
# Keys that hold one of a few words; `plan.campaign` checks them.
CHOICES: Mapping[str, Sequence[str]] = {
    "bind": ("core", "socket", "numa", "none", "inherited"),
    "spread": ("core", "core_group", "numa", "socket"),
    "phase": ("steady", "first"),
}


class EnvironmentTable(msgspec.Struct, frozen=True):
    """[[environment]]: variables, or a library-neutral setting that is resolved for the MPI in use.

    unset: names taken out of the user's own variables, whatever else is set.  witness: count calls, take no times.
    """

    name: Name
    variables: Mapping[str, str] = {}
    unset: Sequence[str] = ()
    witness: bool = False
    setting: Name | None = None


class PlacementTable(msgspec.Struct, frozen=True):
    """[[placement]]: how the launcher is asked to bind ranks, and where it is asked to put them.

    spread: what each next rank of a node is moved on by.  pairs: every pair of nodes in turn, a rank on each.
    pairs_at_once: whether pairs without a node in common run at the same time.  ranks: of its launches, in place of the
    campaign's.
    """

    name: Name
    bind: str = "core"
    spread: str | None = None
    nodes: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    ranks_per_node: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    pairs: bool = False
    pairs_at_once: bool = True
    ranks: RankCount | None = None


class CellsTable(msgspec.Struct, frozen=True):
    """[[cells]]: one experiment at every combination of the listed values.

    environment, placement: names, or "*" for all; None: the first.
    """

    name: Name
    experiment: str
    parameters: Mapping[str, Values] = {}
    environment: Names | None = None
    placement: Names | None = None
    copies: Annotated[int, Meta(ge=1, le=1000)] = 1


class ContrastTable(msgspec.Struct, frozen=True):
    """[[contrast]]: pairs of cells that differ in `axis` and in nothing else; the claim is b over a."""

    name: Name
    question: Name | Annotated[str, Meta(min_length=1, max_length=400)]
    cells: str
    axis: str
    a: Scalar
    b: Values
    metric: str
    phase: str = "steady"
    where: Mapping[str, Values] = {}
    control: bool = False
    explains: bool = False
    remedy: str | None = None


Table = EnvironmentTable | PlacementTable | CellsTable | ContrastTable


class Campaign(msgspec.Struct, frozen=True):
    """A whole campaign.

    ranks: of launches, ascending: everything is measured with each of them.  mpi: as find_mpi takes each, or "all"
    alone; None: the one that is found first.  why: comment above the file that records it.  source: what errors call
    it.  text: the user's file byte for byte; None: the program made it.
    """

    name: str
    title: str
    ranks: Sequence[int]
    rounds: int
    cells: Sequence[CellsTable]
    contrasts: Sequence[ContrastTable] = ()
    environments: Sequence[EnvironmentTable] = (EnvironmentTable("default"),)
    placements: Sequence[PlacementTable] = (PlacementTable("bound"),)
    minimum_effect: float = 0.03
    mpi: Sequence[str] | None = None
    why: str = ""
    source: str = "campaign"
    text: bytes | None = None


def scalars(value: Values) -> list[str]:
    """Return the value or values of a key as text, as the engine is given them."""
    return [_text(item) for item in ([value] if isinstance(value, str | int | float) else value)]


def _text(value: Scalar) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return repr(value) if isinstance(value, float) else str(value)


@cache
def fields_of(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Return the fields of a table: msgspec evaluates their annotations anew with each call."""
    return msgspec.structs.fields(kind)


def stated(table: Table) -> dict[str, Any]:
    """Return the keys of a table as a file states them: those that are required or differ from their default."""
    defaults = {field.name: field.default for field in fields_of(type(table)) if not field.required}
    values: dict[str, Any] = msgspec.to_builtins(table)
    return {
        key: value
        for key, value in values.items()
        if key not in defaults or (value != defaults[key] and value not in ((), [], {}))
    }


def wrong(source: str, table: str, key: str | None, problem: str | UsageError) -> UsageError:
    """Return the error for a mistake in a campaign, in one line."""
    place = f"{table}: key {key}" if key else table
    return UsageError(f"{source}: {place}: {problem}")


_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def recorded(campaign: Campaign) -> bytes:
    """Return campaign.toml of a run folder: the user's file as it is, or what `campaign_toml` writes."""
    return campaign_toml(campaign).encode() if campaign.text is None else campaign.text


def campaign_toml(campaign: Campaign) -> str:
    """Return the campaign as TOML. `plan.campaign.decode` reads the same campaign from it."""
    comment = "".join(f"# {line}\n" for line in ("SPDX-License-Identifier: Apache-2.0", *campaign.why.splitlines()))
    tables = [
        _table("[campaign]", _head(campaign)),
        *(_table("[[environment]]", stated(table)) for table in campaign.environments),
        *(_table("[[placement]]", stated(table)) for table in campaign.placements),
        *(_table("[[cells]]", stated(table)) for table in campaign.cells),
        *(_table("[[contrast]]", stated(table)) for table in campaign.contrasts),
    ]
    return "\n".join([comment, *tables])


def _head(campaign: Campaign) -> dict[str, Any]:
    ranks = list(campaign.ranks)
    head = {
        "name": campaign.name,
        "title": campaign.title,
        "ranks": ranks[0] if len(ranks) == 1 else ranks,
        "rounds": campaign.rounds,
        "minimum_effect": campaign.minimum_effect,
    }
    return head if campaign.mpi is None else {**head, "mpi": campaign.mpi}


def _table(title: str, values: Mapping[str, Any]) -> str:
    """One table. Parameters stand below it in a table of their own; other mappings stay on one line."""
    parameters = values.get("parameters")
    lines = [title, *_pairs({key: value for key, value in values.items() if key != "parameters"})]
    if parameters is not None:
        lines += [f"[{title.strip('[]')}.parameters]", *_pairs(parameters)]
    return "\n".join(lines) + "\n"


def _pairs(values: Mapping[str, Any]) -> Iterator[str]:
    return (f"{key if _BARE_KEY.fullmatch(key) else _quoted(key)} = {_value(value)}" for key, value in values.items())


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return f"{{ {', '.join(_pairs(value))} }}"
    return f"[{', '.join(map(_value, value))}]"


def _quoted(text: str) -> str:
    """A JSON string is a TOML string, except that TOML also wants DEL escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
