# SPDX-License-Identifier: Apache-2.0
"""The tables of a campaign file, and their strict conversion from TOML.

Every complaint names the file, the table, the key, what is wrong and the nearest valid word.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from slowpath.core.engine_description import nearest
from slowpath.core.errors import UsageError

Scalar = str | int | float | bool
Name = Annotated[str, Meta(pattern=r"^[^\x00-\x1f\x7f]*[^\x00-\x20\x7f][^\x00-\x1f\x7f]*$", max_length=80)]
Names = list[str] | str
Bind = Literal["core", "socket", "numa", "none"]
RankCount = Annotated[int, Meta(ge=1, le=1_000_000)]
Spread = Literal["core", "core_group", "numa", "socket"]


class CampaignTable(msgspec.Struct, frozen=True):
    """[campaign]: who it is, how many ranks, how often, the smallest difference that counts, and under which MPIs.

    ranks: of each launch; several: everything is measured with each number of them.
    """

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=60)]
    title: Name
    ranks: RankCount | Annotated[list[RankCount], Meta(max_length=100)] = 2
    rounds: Annotated[int, Meta(ge=1, le=1000)] = 8
    minimum_effect: Annotated[float, Meta(gt=0, le=1)] = 0.03
    mpi: Name | list[Name] | None = None


class EnvironmentTable(msgspec.Struct, frozen=True):
    """[[environment]]: variables, or a library-neutral setting that is resolved for the MPI in use.

    unset: names taken out of the user's own variables, whatever else is set.  witness: count calls, take no times.
    """

    name: Name
    setting: Name | None = None
    variables: dict[str, str] = {}
    unset: list[str] = []
    witness: bool = False


class PlacementTable(msgspec.Struct, frozen=True):
    """[[placement]]: how the launcher is asked to bind ranks, and where it is asked to put them.

    spread: what each next rank of a node is moved on by.  pairs: every pair of nodes in turn, a rank on each.
    pairs_at_once: whether pairs without a node in common run at the same time.  ranks: of its launches, in place of the
    campaign's.
    """

    name: Name
    bind: Bind = "core"
    spread: Spread | None = None
    nodes: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    ranks_per_node: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    pairs: bool = False
    pairs_at_once: bool = True
    ranks: RankCount | None = None


class CellsTable(msgspec.Struct, frozen=True):
    """[[cells]]: one experiment at every combination of the listed values.

    design: "screening": of two values of a parameter, and of four as those of two factors, only as many combinations
    as tell the factors apart.
    """

    name: Name
    experiment: str
    environment: Names | None = None
    placement: Names | None = None
    copies: Annotated[int, Meta(ge=1, le=1000)] = 1
    design: Literal["all", "screening"] = "all"
    parameters: dict[str, Scalar | list[Scalar]] = {}


class ContrastTable(msgspec.Struct, frozen=True):
    """[[contrast]]: pairs of cells that differ in `axis` and in nothing else; the claim is b over a."""

    name: Name
    question: Name | Annotated[str, Meta(min_length=1, max_length=400)]
    cells: str
    axis: str
    a: Scalar
    b: Scalar | list[Scalar]
    metric: str
    phase: Literal["steady", "first"] = "steady"
    where: dict[str, Scalar | list[Scalar]] = {}
    control: bool = False
    explains: bool = False
    remedy: str | None = None


Table = TypeVar("Table", CampaignTable, EnvironmentTable, PlacementTable, CellsTable, ContrastTable)


def wrong(source: str, table: str, key: str | None, problem: str) -> UsageError:
    """The one line for a mistake in a campaign file."""
    place = f"{table}: key {key}" if key else table
    return UsageError(f"{source}: {place}: {problem}")


def table_title(kind: str, raw: Any, index: int) -> str:
    """`[[cells]] 'fresh'`, or the table's position when it has no usable name."""
    name = raw.get("name") if isinstance(raw, dict) else None
    return f"[[{kind}]] '{name}'" if isinstance(name, str) and name else f"[[{kind}]] number {index}"


def scalars(value: Scalar | list[Scalar]) -> list[str]:
    """The value or values of a key as text, as the engine would be given them."""
    return [_text(item) for item in (value if isinstance(value, list) else [value])]


def _text(value: Scalar) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return repr(value) if isinstance(value, float) else str(value)


def convert(raw: Any, kind: type[Table], source: str, title: str) -> Table:
    """One table, checked.  Raises: UsageError."""
    if not isinstance(raw, dict):
        raise wrong(source, title, None, f"must be a table, not {type(raw).__name__}; write {title.split(chr(32))[0]}")
    fields = msgspec.structs.fields(kind)
    for key in raw:
        if key not in kind.__struct_fields__:
            raise wrong(source, title, key, f"is unknown{nearest(key, kind.__struct_fields__)}")
    for field in fields:
        if field.required and field.name not in raw:
            raise wrong(source, title, field.name, "is missing")
    for key, value in raw.items():
        _no_empty_list(source, title, key, value)
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise _translated(error, raw, source, title) from error


def _no_empty_list(source: str, title: str, key: str, value: Any) -> None:
    if value == []:
        raise wrong(source, title, key, "is an empty list; list at least one value or leave the key out")
    if isinstance(value, dict):
        for inner, item in value.items():
            _no_empty_list(source, title, f"{key}.{inner}", item)


_CHOICES = {
    "bind": ["core", "socket", "numa", "none"],
    "spread": ["core", "core_group", "numa", "socket"],
    "phase": ["steady", "first"],
}


def _translated(error: msgspec.ValidationError, raw: dict[str, Any], source: str, title: str) -> UsageError:
    """msgspec's complaint in the words of a campaign file."""
    text, _, path = str(error).partition(" - at `$")
    key = path.rstrip("`").lstrip(".") or None
    text = text.replace("`", "'").replace("'str'", "text").replace("'int'", "a whole number")
    text = text.replace("'int | array'", "a whole number or a list of them")
    text = text.replace("'float'", "a number").replace("'object'", "a table").replace("'array'", "a list")
    choice = re.search(r"Invalid enum value '(.*)'", text)
    if choice and key in _CHOICES:
        words = _CHOICES[key]
        return wrong(source, title, key, f"'{choice[1]}' is not one of {', '.join(words)}{nearest(choice[1], words)}")
    if "matching regex" in text:
        given = raw.get((key or "").partition("[")[0])
        rule = "letters, digits, - and _ only" if title == "[campaign]" and key == "name" else "one printable line"
        text = f"'{given}' is not allowed: write {rule}, not empty"
    return wrong(source, title, key, text[:1].lower() + text[1:])
