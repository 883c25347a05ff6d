# SPDX-License-Identifier: Apache-2.0
"""Which message goes where in Cannon's algorithm: partners follow from the grid, lengths from n. Pure.

The record holds times alone; engine/studies/cannon/layout.hpp says who is whose neighbour, and each style's file in
engine/studies/cannon/variants/ which call starts a transfer and which one completes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slowpath.experiments.cannon.cost import RankGrid, grid_of
from slowpath.report.trace.model import Message

TAG_A, TAG_B = 11, 12  # engine/studies/cannon/strips.hpp


@dataclass(frozen=True, slots=True)
class Style:
    """How a style moves strips. starts, ends: parts of a step.  calls: part -> the MPI calls that it is.

    moves: send, put or get; None: nothing that has one partner (collectives, loads and stores).
    """

    moves: str | None
    starts: str
    ends: str
    calls: Mapping[str, str]


_SHARED = {"synchronise": "MPI_Barrier"}
_FENCES = {"issue": "MPI_Put", "synchronise": "MPI_Win_fence"}
_SENDS = {"issue": "MPI_Irecv, MPI_Isend", "wait": "MPI_Waitall", "test": "MPI_Testall"}
STYLES: dict[str, Style] = {
    "sendrecv_replace": Style("send", "wait", "wait", {"wait": "MPI_Sendrecv_replace"}),
    "sendrecv": Style("send", "wait", "wait", {"wait": "MPI_Sendrecv"}),
    "isend_wait": Style("send", "issue", "wait", _SENDS),
    "isend_test": Style("send", "issue", "wait", _SENDS),
    "persistent": Style("send", "issue", "wait", {"issue": "MPI_Startall", "wait": "MPI_Waitall"}),
    "partitioned": Style("send", "issue", "wait", {"issue": "MPI_Startall, MPI_Pready_range", "wait": "MPI_Waitall"}),
    "neighbourhood": Style(None, "issue", "wait", {"issue": "MPI_Ineighbor_alltoallw", "wait": "MPI_Wait"}),
    "put_fence": Style("put", "issue", "synchronise", _FENCES),
    "put_fence_two_windows": Style("put", "issue", "synchronise", _FENCES),
    "pscw": Style(
        "put", "issue", "synchronise", {"issue": "MPI_Put", "synchronise": "MPI_Win_post/start/complete/wait"}
    ),
    "put_flag": Style(
        "put",
        "issue",
        "wait",
        {"issue": "MPI_Put, MPI_Win_flush_all", "wait": "MPI_Win_sync, own flag", "synchronise": "MPI_Accumulate"},
    ),
    "get_from_home": Style("get", "issue", "wait", {"issue": "MPI_Rget", "wait": "MPI_Waitall", **_SHARED}),
    "shared_copy": Style(None, "copy", "copy", _SHARED),
    "shared_direct": Style(None, "copy", "copy", _SHARED),
    "two_level": Style(None, "issue", "wait", {"issue": "MPI_Rget", "wait": "MPI_Waitall", **_SHARED}),
}
_ALWAYS = {"skew": "MPI_Sendrecv_replace"}
_SOURCES = {
    "root": {"distribute": "MPI_Scatter", "gather": "MPI_Gather"},
    "file": {"distribute": "MPI_File_read_at", "gather": "MPI_File_write_at"},
}


def call_of(parameters: Mapping[str, str], part: str) -> str:
    """The MPI call that a part is, or the part's own name."""
    style = STYLES.get(parameters.get("variant", ""))
    calls = {**_ALWAYS, **_SOURCES.get(parameters.get("source", ""), {}), **(style.calls if style else {})}
    return calls.get(part, part)


@dataclass(frozen=True, slots=True)
class Transfers:
    """What one rank moves in each step of one cell."""

    style: Style
    grid: RankGrid
    n: int
    row: int
    column: int
    element_bytes: int

    def started(self, step: int) -> list[Message]:
        """What the rank sends, puts or gets in a step."""
        if self.style.moves == "get":
            return self._gets(step)
        if step + 1 >= self.grid.steps or self.style.moves is None:
            return []
        return [
            Message(self.style.moves, to, tag, self._strip_bytes, (step, tag, to)) for tag, to, _ in self._streams()
        ]

    def ended(self, step: int) -> list[Message]:
        """What has come to the rank when a step's transfer is complete."""
        if step + 1 >= self.grid.steps or self.style.moves in (None, "get"):
            return []
        kind = "receive" if self.style.moves == "send" else "arrival"
        return [
            Message(kind, origin, tag, self._strip_bytes, (step, tag, self._me)) for tag, _, origin in self._streams()
        ]

    def skewed(self) -> list[Message]:
        """The initial alignment, where it is moved: row i of A left by i, column j of B up by j."""
        found = []
        for tag, by, size in ((TAG_A, self.row, self.grid.columns), (TAG_B, self.column, self.grid.rows)):
            if size > 1 and by % size:
                to, origin = (self._around(tag, -by), self._around(tag, by))
                found.append(Message("send", to, tag, self._strip_bytes, (-1, tag, to)))
                found.append(Message("receive", origin, tag, self._strip_bytes, (-1, tag, self._me)))
        return found

    def _gets(self, step: int) -> list[Message]:
        """Panel k of A lies at column k mod C of the own row, that of B at row k mod R of the own column."""
        if step >= self.grid.steps:
            return []
        k = (self.row + self.column + step) % self.grid.steps
        panel_bytes = self.n // self.grid.steps * self.element_bytes
        a = Message("get", self._at(self.row, k % self.grid.columns), 0, self.n // self.grid.rows * panel_bytes)
        b = Message("get", self._at(k % self.grid.rows, self.column), 0, self.n // self.grid.columns * panel_bytes)
        return [one for one in (a, b) if one.partner != self._me]

    def _streams(self) -> list[tuple[int, int, int]]:
        """Tag, where it goes and where it comes from, of each matrix that moves."""
        found = []
        if self.grid.columns > 1:
            found.append((TAG_A, self._around(TAG_A, -1), self._around(TAG_A, 1)))
        if self.grid.rows > 1:
            found.append((TAG_B, self._around(TAG_B, -1), self._around(TAG_B, 1)))
        return found

    def _around(self, tag: int, by: int) -> int:
        """The rank `by` columns (A) or rows (B) away."""
        return self._at(self.row, self.column + by) if tag == TAG_A else self._at(self.row + by, self.column)

    def _at(self, row: int, column: int) -> int:
        return (row % self.grid.rows) * self.grid.columns + column % self.grid.columns

    @property
    def _me(self) -> int:
        return self._at(self.row, self.column)

    @property
    def _strip_bytes(self) -> int:
        return (self.n // self.grid.rows) * (self.n // self.grid.columns) * self.element_bytes


def transfers_of(parameters: Mapping[str, str], rank: int, ranks: int) -> Transfers | None:
    """Of one rank; None: the style moves nothing to one partner, or the cell does not say its n."""
    style = STYLES.get(parameters.get("variant", ""))
    if style is None or "n" not in parameters:
        return None
    grid = grid_of(ranks, parameters.get("grid", "auto"))
    row, column = divmod(rank, grid.columns)
    return Transfers(
        style, grid, int(parameters["n"]), row, column, 2 if parameters.get("numbers") == "bfloat16" else 8
    )


def first_and_last(places: Sequence[tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """(step, place) of spans in time -> step -> the places of its first and its last span."""
    found: dict[int, tuple[int, int]] = {}
    for step, place in places:
        found[step] = (found[step][0] if step in found else place, place)
    return found
