# SPDX-License-Identifier: Apache-2.0
"""What each library chooses by itself, and how to make it choose otherwise: the rows of alternatives.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal, get_args

import msgspec

from slowpath.mpi.libraries import AppliesTo

# Which operations an alternative may change. A screening looks at a row only where it measures one of them.
Operation = Literal[
    "short messages",
    "long messages",
    "MPI_Allreduce",
    "MPI_Bcast",
    "MPI_Barrier",
    "one-sided",
    "messages between nodes",
    "GPU memory",
]
_EVERY_CALL = tuple(name for name in get_args(Operation) if name not in ("messages between nodes", "GPU memory"))


@dataclass(frozen=True)
class PlaceFacts:
    """Where a job runs. nodes: of its ranks.  gpus: that it can use.  listed: control variables that the library lists;
    None: it can't be asked.
    """

    ranks: int
    nodes: int = 1
    gpus: int = 0
    listed: frozenset[str] | None = None


class Alternative(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row; alternatives.toml says what its fields mean.  name: unique in its library, for people."""

    name: str = ""
    variables: dict[str, str]
    operations: tuple[Operation, ...] = _EVERY_CALL
    job: Literal["any", "one node", "nodes", "gpu"] = "any"
    needs: tuple[str, ...] = ()
    applies: AppliesTo = AppliesTo()

    def why_not(self, facts: PlaceFacts) -> str | None:
        """Return why it can't change anything in a job; None: it may."""
        absent = [name for name in self.needs if facts.listed is not None and name not in facts.listed]
        if absent:
            return f"built without {absent[0]}"
        if self.job == "nodes" and facts.nodes < 2:
            return "only for messages between nodes"
        if self.job == "gpu" and not facts.gpus:
            return "only for GPU memory"
        if self.job == "one node" and facts.nodes >= facts.ranks:
            return "only for messages inside a node"
        return None


class _Library(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The head of a library and its rows."""

    versions: str
    rows: dict[str, Alternative]


@cache
def all_alternatives() -> tuple[Alternative, ...]:
    """Return every row of every library."""
    content = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    rows = list[Alternative]()
    for name, library in msgspec.convert(content, dict[str, _Library]).items():
        applies = AppliesTo(None, "", "ucx") if name == "ucx" else AppliesTo(name, library.versions)
        for of_row, row in library.rows.items():
            # MPICH lists each variable only where its module is built.
            needs = row.needs or (tuple(row.variables) if name == "mpich" else ())
            rows.append(msgspec.structs.replace(row, name=of_row, applies=applies, needs=needs))
    return tuple(rows)


@dataclass(frozen=True)
class Applicable:
    """rows: that may change something.  left_out: name of a row of this library -> why it can't."""

    rows: tuple[Alternative, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)


def alternatives_of(
    library: str | None,
    version: str | None,
    transport: str | None,
    facts: PlaceFacts,
    environ: Mapping[str, str],
    measured: Collection[Operation],
) -> Applicable:
    """Return the alternatives of one library in one job.

    Args: environ: what the user has set stays as it is.  measured: operations that are looked at.
    """
    rows, left_out = list[Alternative](), dict[str, str]()
    for row in all_alternatives():
        if not row.applies.fits(library, version, transport):
            continue
        why = row.why_not(facts)
        if why is None and not set(row.operations) & set(measured):
            why = f"only for {', '.join(row.operations)}"
        own = next((name for name in row.variables if name in environ), None)
        if why is None and own is not None:
            why = f"you set {own} yourself"
        if why is None:
            rows.append(row)
        else:
            left_out[row.name] = why
    return Applicable(tuple(rows), left_out)
