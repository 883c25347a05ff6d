# SPDX-License-Identifier: Apache-2.0
"""Campaigns read from TOML files, and the checks that every campaign passes, whoever made it.

Every complaint names the file, the table, the key, what is wrong and the nearest valid word. `plan.expand` checks what
needs the engine.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from slowpath.core.campaign import (
    CHOICES,
    Campaign,
    CellsTable,
    ContrastTable,
    EnvironmentTable,
    Name,
    PlacementTable,
    RankCount,
    Table,
    fields_of,
    scalars,
    stated,
    wrong,
)
from slowpath.core.errors import RecordError, UsageError, exclude, is_not, nearest, require_distinct, unknown
from slowpath.core.files import data_folder, read_bytes
from slowpath.core.guard import why_secret
from slowpath.core.plan import ALL, Placement
from slowpath.core.units import plural

MAX_FILE_BYTES = 2**20  # a campaign is written by people; anything larger is another kind of file
NEEDS_RANKS = "needs {0} ranks, not {1}; set ranks = {0}"
_KINDS = ("campaign", "environment", "placement", "cells", "contrast")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


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


# Steps of other commands, and checks of Slowpath itself: they run by name, and no list shows them.
INTERNAL = frozenset({"panel", "floors"})


def shipped() -> dict[str, Path]:
    """Names and files of the campaigns that come with the program, in alphabetical order."""
    return {path.stem: path for path in sorted(data_folder("campaigns").glob("*.toml"))}


def load(name_or_path: str | Path) -> Campaign:
    """Campaign by the name of a shipped one, or from a file.  Raises: UsageError."""
    names = shipped()
    text = str(name_or_path)
    if text in names:
        return decode(_read(names[text]), text)
    path = Path(text)
    if not path.exists():
        raise unknown("campaign", text, names)
    return decode(_read(path), text)


def _read(path: Path) -> bytes:
    try:
        return read_bytes(path, MAX_FILE_BYTES)
    except RecordError as error:
        raise UsageError(str(error)) from error


def decode(content: bytes, source: str) -> Campaign:
    """Campaign from the bytes of a file; `source` names it in errors.  Raises: UsageError."""
    raw = _parse(content, source)
    for key in raw:
        if key not in _KINDS:
            raise wrong(source, f"table [{key}]", None, f"is unknown{nearest(key, _KINDS)}")
    if "campaign" not in raw:
        raise wrong(source, "table [campaign]", None, "is missing")
    head = _convert(raw["campaign"], CampaignTable, source, "[campaign]")
    campaign = Campaign(
        name=head.name,
        title=head.title,
        ranks=_ranks(head, source),
        rounds=head.rounds,
        minimum_effect=head.minimum_effect,
        mpi=_mpis(head, source),
        environments=_tables(raw, "environment", EnvironmentTable, source) or [EnvironmentTable("default")],
        placements=_tables(raw, "placement", PlacementTable, source) or [PlacementTable("bound")],
        cells=_tables(raw, "cells", CellsTable, source),
        contrasts=_tables(raw, "contrast", ContrastTable, source),
        source=source,
        text=content,
    )
    _require_consistent(campaign)
    return campaign


def require_sound(campaign: Campaign) -> None:
    """Check a campaign that the program made as its file is checked: every table, and what tables say of each other.

    Raises: UsageError.
    """
    _check_tables(campaign.environments, "environment", EnvironmentTable, campaign.source)
    _check_tables(campaign.placements, "placement", PlacementTable, campaign.source)
    _check_tables(campaign.cells, "cells", CellsTable, campaign.source)
    _check_tables(campaign.contrasts, "contrast", ContrastTable, campaign.source)
    _require_consistent(campaign)


def _require_consistent(campaign: Campaign) -> None:
    source = campaign.source
    if not campaign.cells:
        raise wrong(source, "table [[cells]]", None, "is missing")
    for environment in campaign.environments:
        _check_environment(environment, source)
    witnessed = [environment.name for environment in campaign.environments if environment.witness]
    for contrast in campaign.contrasts:
        _check_timed(contrast, witnessed, source)
        if contrast.cells not in (names := [group.name for group in campaign.cells]):
            raise wrong(source, f"[[contrast]] '{contrast.name}'", "cells", unknown("group", contrast.cells, names))


def _check_timed(contrast: ContrastTable, witnessed: Sequence[str], source: str) -> None:
    """A contrast compares times, and witnessed launches have none."""
    sides = {"a": contrast.a, "b": contrast.b} if contrast.axis == "environment" else {}
    sides |= {"where.environment": contrast.where["environment"]} if "environment" in contrast.where else {}
    for key, value in sides.items():
        if name := next((name for name in scalars(value) if name in witnessed), None):
            problem = f"environment '{name}' takes no times; name one without witness"
            raise wrong(source, f"[[contrast]] '{contrast.name}'", key, problem)


def _parse(content: bytes, source: str) -> dict[str, Any]:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UsageError(f"{source}: line {line} is not UTF-8; save the file as UTF-8") from error
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # not only TOMLDecodeError: a number of over 4300 digits, too
        raise UsageError(f"{source}: is not valid TOML: {str(error) or 'nested too deeply'}") from error


Kind = TypeVar("Kind", CampaignTable, EnvironmentTable, PlacementTable, CellsTable, ContrastTable)


def _tables(raw: dict[str, Any], kind: str, struct: type[Kind], source: str) -> list[Kind]:
    """All tables of a kind, in the order of the file, names distinct."""
    given = raw.get(kind, [])
    if not isinstance(given, list):
        raise wrong(source, f"table [{kind}]", None, f"needs two brackets: [[{kind}]]")
    tables = [_convert(item, struct, source, _title(kind, item, i)) for i, item in enumerate(given, start=1)]
    _check_distinct([table.name for table in tables if not isinstance(table, CampaignTable)], kind, source)
    return tables


def _check_tables(tables: Sequence[Table], kind: str, struct: type[Kind], source: str) -> None:
    for table in tables:
        _convert(stated(table), struct, source, f"[[{kind}]] '{table.name}'")
    _check_distinct([table.name for table in tables], kind, source)


def _check_distinct(names: Sequence[str], kind: str, source: str) -> None:
    require_distinct_in(names, source, f"[[{kind}]]", "name")


def require_distinct_in(values: Sequence[object], source: str, title: str, key: str) -> None:
    """Raise UsageError where a list of a campaign has a value twice."""
    try:
        require_distinct(values)
    except UsageError as error:
        raise wrong(source, title, key, error) from error


def _mpis(head: CampaignTable, source: str) -> list[str] | None:
    if head.mpi is None:
        return None
    names = [head.mpi] if isinstance(head.mpi, str) else head.mpi
    require_distinct_in(names, source, "[campaign]", "mpi")
    if ALL in names and len(names) > 1:
        raise wrong(source, "[campaign]", "mpi", exclude(ALL, "other names"))
    return names


def _ranks(head: CampaignTable, source: str) -> list[int]:
    counts = [head.ranks] if isinstance(head.ranks, int) else head.ranks
    require_distinct_in(counts, source, "[campaign]", "ranks")
    return sorted(counts)


def _check_environment(environment: EnvironmentTable, source: str) -> None:
    title = f"[[environment]] '{environment.name}'"
    if environment.setting is not None and environment.variables:
        raise wrong(source, title, None, exclude("variables", "setting"))
    for name, value in environment.variables.items():
        if name in environment.unset:
            raise wrong(source, title, name, exclude("variables", "unset"))
        if why := why_secret(name, value):
            raise wrong(source, title, f"variables.{name}", f"{why}; export it in your shell instead")
        if "\0" in value or "\n" in value:
            raise wrong(source, title, f"variables.{name}", is_not(value, "one line", "1"))
    for name in (*environment.variables, *environment.unset):
        if not _VARIABLE.fullmatch(name):
            raise wrong(source, title, None, is_not(name, "a variable's name", "UCX_TLS"))


def _title(kind: str, raw: Any, index: int) -> str:
    """`[[cells]] 'fresh'`, or the table's position when it has no usable name."""
    name = raw.get("name") if isinstance(raw, dict) else None
    return f"[[{kind}]] '{name}'" if isinstance(name, str) and name else f"[[{kind}]] number {index}"


def _convert(raw: Any, kind: type[Kind], source: str, title: str) -> Kind:
    """One table, checked.  Raises: UsageError."""
    if not isinstance(raw, dict):
        raise wrong(source, title, None, f"needs two brackets: {title.split(chr(32))[0]}")
    fields = fields_of(kind)
    for key in raw:
        if key not in kind.__struct_fields__:
            raise wrong(source, title, key, f"is unknown{nearest(key, kind.__struct_fields__)}")
    for field in fields:
        if field.required and field.name not in raw:
            raise wrong(source, title, field.name, "is missing")
    for key, value in raw.items():
        _no_empty_list(source, title, key, value)
        if isinstance(value, str) and value not in (words := CHOICES.get(key, (value,))):
            raise wrong(source, title, key, unknown("value", value, words))
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise _translated(error, raw, source, title) from error


def _no_empty_list(source: str, title: str, key: str, value: Any) -> None:
    if value == []:
        raise wrong(source, title, key, "is empty; leave it out")
    if isinstance(value, dict):
        for inner, item in value.items():
            _no_empty_list(source, title, f"{key}.{inner}", item)


def _translated(error: msgspec.ValidationError, raw: dict[str, Any], source: str, title: str) -> UsageError:
    """msgspec's complaint in the words of a campaign file."""
    text, _, path = str(error).partition(" - at `$")
    key = path.rstrip("`").lstrip(".") or None
    text = text.replace("`", "'").replace("'str'", "text").replace("'int'", "a whole number")
    text = text.replace("'int | array'", "a whole number or a list of them")
    text = text.replace("'float'", "a number").replace("'object'", "a table").replace("'array'", "a list")
    if "matching regex" in text:
        given = raw.get((key or "").partition("[")[0])
        rule = "a name of letters, digits, - and _" if title == "[campaign]" and key == "name" else "a printable line"
        text = str(is_not(given, rule, "abc"))
    return wrong(source, title, key, text[:1].lower() + text[1:])


MORE_NODES = "run in a job (slowpath run --script SYSTEM --nodes {nodes}), or name them in the launcher's host file"


class Nodes(msgspec.Struct, frozen=True):
    """Nodes that the launcher can use. names: empty where nothing states them."""

    count: int = 1
    names: tuple[str, ...] = ()


def resolve_placements(
    tables: Sequence[PlacementTable], counts: Sequence[int], nodes: Nodes, source: str
) -> list[Placement]:
    """Every placement, those of `pairs` one for each pair of nodes; with several numbers of ranks one for each.

    One that states its own number of ranks stands once. Where any does, each has its number.

    Raises: UsageError naming table and key, where keys exclude each other or the ranks can't be divided so.
    """
    several, own = len(counts) > 1, any(table.ranks for table in tables)
    resolved: list[Placement] = []
    for table in tables:
        for ranks in [table.ranks] if table.ranks else counts:
            for placement in _resolve(table, ranks, nodes, source):
                if several and not table.ranks:
                    resolved.append(_with_ranks(placement, ranks))
                else:
                    resolved.append(msgspec.structs.replace(placement, ranks=ranks) if own else placement)
    return resolved


def _with_ranks(placement: Placement, ranks: int) -> Placement:
    name = f"{placement.name}, {plural(ranks, 'rank')}"
    return msgspec.structs.replace(placement, name=name, of=placement.name, ranks=ranks)


def most_nodes(tables: Sequence[PlacementTable]) -> int:
    """The most nodes that any placement names; `pairs` needs two, and more are more pairs."""
    return max([1, *(2 if table.pairs else table.nodes or 1 for table in tables)])


def _resolve(table: PlacementTable, ranks: int, nodes: Nodes, source: str) -> list[Placement]:
    title = f"[[placement]] '{table.name}'"
    if table.pairs:
        for key in ("spread", "nodes", "ranks_per_node"):
            if getattr(table, key) is not None:
                raise wrong(source, title, None, exclude("pairs", key))
        if ranks != 2:
            raise wrong(source, title, "pairs", NEEDS_RANKS.format(2, ranks))
        return _pairs(table, nodes)
    if table.spread is not None and (table.nodes or 1, table.ranks_per_node or ranks) != (1, ranks):
        raise wrong(source, title, None, exclude("spread", "nodes and ranks_per_node"))
    count, each = (1, ranks) if table.spread else _divided(table, ranks, source, title)
    if count == nodes.count == 1 and not table.spread:
        count = each = None  # there is no other place, and not every launcher can be asked for this one
    reason = None
    if count is not None and count > nodes.count:
        reason = f"it needs {count} nodes, not {nodes.count}; {MORE_NODES.format(nodes=count)}"
    return [Placement(table.name, table.bind, table.spread, count, each, unavailable=reason)]


def _divided(table: PlacementTable, ranks: int, source: str, title: str) -> tuple[int | None, int | None]:
    """Nodes and ranks on each; with one of the two given, the other follows."""
    count, each = table.nodes, table.ranks_per_node
    if count is None and each is None:
        return None, None
    count, each = count or -(-ranks // (each or ranks)), each or -(-ranks // (count or ranks))
    if count * each != ranks:
        raise wrong(
            source, title, "nodes", f"{count} nodes with {each} ranks each need {count * each} ranks, not {ranks}"
        )
    return count, ranks // count


def _pairs(table: PlacementTable, nodes: Nodes) -> list[Placement]:
    if len(nodes.names) < 2:
        reason = f"it needs the names of 2 nodes; {MORE_NODES.format(nodes=2)}"
        return [Placement(table.name, table.bind, nodes=2, ranks_per_node=1, unavailable=reason)]
    return [
        Placement(f"{table.name} {a} {b}", table.bind, nodes=2, ranks_per_node=1, hosts=[a, b], of=table.name)
        for a, b in itertools.combinations(nodes.names, 2)
    ]
