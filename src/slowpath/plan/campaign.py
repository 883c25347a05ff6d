# SPDX-License-Identifier: Apache-2.0
"""A campaign file: read, decoded, checked in itself. `plan.expand` checks what needs the engine."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from slowpath.core.engine_description import nearest
from slowpath.core.errors import UsageError
from slowpath.core.plan import ALL
from slowpath.core.resources import data_folder
from slowpath.core.secrets import BY_NAME, BY_VALUE, has_secret_name, is_yes_or_no, looks_secret
from slowpath.plan.tables import (
    CampaignTable,
    CellsTable,
    ContrastTable,
    EnvironmentTable,
    PlacementTable,
    Table,
    convert,
    scalars,
    table_title,
    wrong,
)

MAX_FILE_BYTES = 2**20  # a campaign is written by people; anything larger is another kind of file
_KINDS = ("campaign", "environment", "placement", "cells", "contrast")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Campaign(msgspec.Struct, frozen=True):
    """A campaign as given. `text` is the file byte for byte; `source` is what errors call it."""

    name: str
    title: str
    ranks: list[int]  # of launches, ascending: everything is measured with each of them
    rounds: int
    minimum_effect: float
    mpi: list[str] | None  # as find_mpi takes each, or "all" alone; None: the one that is found first
    environments: list[EnvironmentTable]
    placements: list[PlacementTable]
    cells: list[CellsTable]
    contrasts: list[ContrastTable]
    source: str
    text: bytes


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
        hint = nearest(text, names)
        raise UsageError(f"no campaign '{text}': neither a shipped one nor a file{hint}")
    return decode(_read(path), text)


def _read(path: Path) -> bytes:
    if path.is_dir():
        raise UsageError(f"{path}: is a folder, not a campaign file; name a .toml file in it")
    if not path.is_file():
        raise UsageError(f"{path}: is not an ordinary file; name a .toml file")
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}; check its permissions") from error
    if len(content) > MAX_FILE_BYTES:
        raise UsageError(f"{path}: is larger than 1 MiB, the limit for a campaign; use ranges, or several campaigns")
    return content


def decode(content: bytes, source: str) -> Campaign:
    """Campaign from the bytes of a file; `source` names it in errors.  Raises: UsageError."""
    raw = _parse(content, source)
    for key in raw:
        if key not in _KINDS:
            raise wrong(source, f"table [{key}]", None, f"is unknown{nearest(key, _KINDS)}")
    if "campaign" not in raw:
        raise wrong(source, "table [campaign]", None, "is missing; it gives name and title")
    head = convert(raw["campaign"], CampaignTable, source, "[campaign]")
    environments = _tables(raw, "environment", EnvironmentTable, source) or [EnvironmentTable("default")]
    placements = _tables(raw, "placement", PlacementTable, source) or [PlacementTable("bound")]
    cells = _tables(raw, "cells", CellsTable, source)
    contrasts = _tables(raw, "contrast", ContrastTable, source)
    if not cells:
        raise wrong(source, "table [[cells]]", None, "is missing; a campaign measures at least one group of cells")
    for environment in environments:
        _check_environment(environment, source)
    witnessed = [environment.name for environment in environments if environment.witness]
    for contrast in contrasts:
        _check_timed(contrast, witnessed, source)
        if contrast.cells not in (names := [group.name for group in cells]):
            problem = f"there are no cells '{contrast.cells}'{nearest(contrast.cells, names)}"
            raise wrong(source, f"[[contrast]] '{contrast.name}'", "cells", problem)
    fields = msgspec.structs.asdict(head) | {"mpi": _mpis(head, source), "ranks": _ranks(head, source)}
    return Campaign(
        **fields,
        environments=environments,
        placements=placements,
        cells=cells,
        contrasts=contrasts,
        source=source,
        text=content,
    )


def _check_timed(contrast: ContrastTable, witnessed: Sequence[str], source: str) -> None:
    """A contrast compares times, and witnessed launches have none."""
    sides = {"a": contrast.a, "b": contrast.b} if contrast.axis == "environment" else {}
    sides |= {"where.environment": contrast.where["environment"]} if "environment" in contrast.where else {}
    for key, value in sides.items():
        if name := next((name for name in scalars(value) if name in witnessed), None):
            problem = f"names '{name}', whose launches count calls and take no times; name a timed environment"
            raise wrong(source, f"[[contrast]] '{contrast.name}'", key, problem)


def _parse(content: bytes, source: str) -> dict[str, Any]:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UsageError(f"{source}: line {line} is not UTF-8 text; save the file as UTF-8") from error
    if not text.strip():
        raise UsageError(f"{source}: is empty; a campaign has at least [campaign] and [[cells]]")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # not only TOMLDecodeError: a number of over 4300 digits, too
        raise UsageError(f"{source}: is not valid TOML: {str(error) or 'nested too deeply'}") from error


def _tables(raw: dict[str, Any], kind: str, struct: type[Table], source: str) -> list[Table]:
    """All tables of a kind, in the order of the file, names distinct."""
    given = raw.get(kind, [])
    if not isinstance(given, list):
        raise wrong(source, f"table [{kind}]", None, f"stands alone; write it with two brackets: [[{kind}]]")
    tables = [convert(item, struct, source, table_title(kind, item, i)) for i, item in enumerate(given, start=1)]
    _check_distinct([table.name for table in tables if not isinstance(table, CampaignTable)], kind, source)
    return tables


def _check_distinct(names: Sequence[str], kind: str, source: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise wrong(source, f"[[{kind}]] '{name}'", "name", "is listed twice; give each its own name")


def _mpis(head: CampaignTable, source: str) -> list[str] | None:
    if head.mpi is None:
        return None
    names = [head.mpi] if isinstance(head.mpi, str) else head.mpi
    for name in names:
        if names.count(name) > 1:
            raise wrong(source, "[campaign]", "mpi", f"'{name}' is listed twice; write each MPI once")
    if ALL in names and len(names) > 1:
        raise wrong(source, "[campaign]", "mpi", f"'{ALL}' already means every MPI that is found; write it alone")
    return names


def _ranks(head: CampaignTable, source: str) -> list[int]:
    counts = [head.ranks] if isinstance(head.ranks, int) else head.ranks
    for count in counts:
        if counts.count(count) > 1:
            raise wrong(source, "[campaign]", "ranks", f"{count} is listed twice; write each number of ranks once")
    return sorted(counts)


def _check_environment(environment: EnvironmentTable, source: str) -> None:
    title = f"[[environment]] '{environment.name}'"
    if environment.setting is not None and environment.variables:
        raise wrong(source, title, "variables", "cannot be combined with setting; write one environment for each")
    for name, value in environment.variables.items():
        if not _VARIABLE.fullmatch(name):
            raise wrong(source, title, f"variables.{name}", "is not a name of an environment variable")
        if name in environment.unset:
            raise wrong(source, title, "unset", f"names {name}, which variables sets; write it in one of the two")
        if (has_secret_name(name) and not is_yes_or_no(value)) or looks_secret(value):
            why = BY_NAME if has_secret_name(name) else BY_VALUE
            raise wrong(source, title, f"variables.{name}", f"{why}, and a run records it; export it in your shell")
        if "\0" in value or "\n" in value:
            raise wrong(source, title, f"variables.{name}", "holds a line break or a zero byte; write one line")
    for name in environment.unset:
        if not _VARIABLE.fullmatch(name):
            raise wrong(source, title, "unset", f"holds '{name}', which is not a name of an environment variable")
