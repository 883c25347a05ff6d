# SPDX-License-Identifier: Apache-2.0
"""Asking an engine: what it can do (its own `describe --json`, kept next to it), and which cells it accepts."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from slowpath.core.engine_description import CellVerdict, CheckCells, Verdicts, nothing_checked
from slowpath.core.errors import EnvironmentFailure, RecordError
from slowpath.core.files import DAMAGE, data_folder, read_bytes
from slowpath.core.plan import Cell
from slowpath.mpi.mpi import Mpi
from slowpath.mpi.probe import Answer, ask, output_of
from slowpath.record.plan_files import engine_cells_text
from slowpath.run.engine.build import Tell, kept_engine, require_headers
from slowpath.run.engine.cache import Engine, UsableEngine, checksum

# Asking a program of ours, with one error for all that keeps it from answering.


def answer_of(argv: Sequence[str], environ: Mapping[str, str], limit_s: float, given: bytes = b"") -> Answer:
    """Return how `argv` ended and what it printed; `given` is its stdin.  Raises: EnvironmentFailure: no start, no
    end.
    """
    try:
        return ask(argv, environ, limit_s, given)
    except subprocess.TimeoutExpired:
        raise EnvironmentFailure(f"{' '.join(argv)}: took over {limit_s:g} s") from None
    except OSError as error:
        raise EnvironmentFailure(f"{argv[0]} can't be started: {error.strerror or error}") from error


# Asks an engine which cells it accepts: `slowpath-engine check` (docs/reference/engine-interface.md).

_LIMIT_S = 120.0  # 100 000 cells take about a second
_ACCEPTED, _REFUSED = 0, 2


def checker(engine: UsableEngine, environ: Mapping[str, str]) -> CheckCells:
    """The planner's question, put to `engine`; one that is not built refuses nothing.

    The engine is asked once about each experiment, parameters and number of ranks: its start takes as long as the
    judgement of a hundred thousand cells, and a diagnosis asks about the same cells after each of its steps.
    It raises EnvironmentFailure if the engine does not answer.
    """

    if isinstance(engine, UnbuiltEngine):
        return nothing_checked
    known = _judged.setdefault((_state_of(engine.program), tuple(sorted(environ.items()))), {})

    def check(cells: Sequence[Cell], ranks: int) -> Verdicts:
        asked = {cell.cell: (cell.experiment, tuple(cell.parameters.items()), ranks) for cell in cells}
        unknown = list({asked[cell.cell]: cell for cell in cells if asked[cell.cell] not in known}.values())
        if unknown:
            for cell, verdict in _verdicts(engine, environ, unknown, ranks).items():
                known[asked[cell]] = verdict
        return {cell: replace(known[key], cell=cell) for cell, key in asked.items() if key in known}

    return check


_Question = tuple[str, tuple[tuple[str, str], ...], int]  # experiment, parameters, ranks
_State = tuple[str, int, int, int]  # path of a program, its inode, length and time of change
_judged: dict[tuple[_State, tuple[tuple[str, str], ...]], dict[_Question, CellVerdict]] = {}


def _state_of(program: Path) -> _State:
    """What changes when another engine takes the place of this one."""
    try:
        status = program.stat()
    except OSError:
        return str(program), 0, 0, 0
    return str(program), status.st_ino, status.st_size, status.st_mtime_ns


def _verdicts(engine: UsableEngine, environ: Mapping[str, str], cells: Sequence[Cell], ranks: int) -> Verdicts:
    argv = [str(engine.program), "check", "--plan", "-", "--ranks", str(ranks)]
    text = engine_cells_text(cells)
    try:
        done = answer_of(argv, environ, _LIMIT_S, text.encode())
    except EnvironmentFailure as error:
        raise _no_answer(engine, str(error)) from error
    if done.return_code not in (_ACCEPTED, _REFUSED) or not done.stdout:
        raise _no_answer(engine, done.stderr.decode("utf-8", "replace").strip() or f"exit code {done.return_code}")
    try:
        verdicts = [msgspec.json.decode(line, type=CellVerdict) for line in done.stdout.splitlines()]
    except DAMAGE as error:
        raise _no_answer(engine, str(error)) from error
    return {verdict.cell: verdict for verdict in verdicts}


def _no_answer(engine: UsableEngine, why: str) -> EnvironmentFailure:
    return EnvironmentFailure(f"{engine.program} does not answer: {why}; run: slowpath mpi build --force")


KEPT = "describe.json"


class _KeptDescription(msgspec.Struct, frozen=True):
    """describe.json. program: checksum of the engine that it describes; with another one it is made anew."""

    program: str
    description: dict[str, Any]


def describe(engine: UsableEngine, environ: Mapping[str, str]) -> dict[str, Any]:
    """The engine's description (docs/reference/engine-interface.md). Raises EnvironmentFailure if it can't be had."""
    if isinstance(engine, UnbuiltEngine):
        return shipped_description()
    kept = engine.program.parent / KEPT
    program = _checksum(engine)
    with contextlib.suppress(OSError, *DAMAGE, RecordError):
        kept_description = msgspec.json.decode(read_bytes(kept), type=_KeptDescription)
        if kept_description.program == program and _is_whole(kept_description.description):
            return kept_description.description
    text = output_of([str(engine.program), "describe", "--json"], environ)
    try:
        description = msgspec.json.decode((text or "").encode(), type=dict[str, Any])
    except DAMAGE:
        description = {}
    if not _is_whole(description):
        raise _no_answer(engine, "no description")
    _keep(kept, msgspec.json.encode(_KeptDescription(program, description)))
    return description


def _checksum(engine: UsableEngine) -> str:
    try:
        return checksum(engine.program)
    except OSError as error:
        raise EnvironmentFailure(f"{engine.program} can't be read: {error.strerror or error}") from error


def _is_whole(description: dict[str, Any]) -> bool:
    return isinstance(description.get("experiments"), list)


def shipped_description() -> dict[str, Any]:
    """Return what the engine of this version says of itself, recorded: for plans without an engine."""
    description: dict[str, Any] = msgspec.json.decode((data_folder("schema") / "engine.json").read_bytes())
    return description


def _keep(path: Path, content: bytes) -> None:
    """A cache that can't be written only costs time."""
    with contextlib.suppress(OSError):
        handle, part = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(part, path)


# A dry run plans with an engine that is there already: nothing is compiled, and no compiler is asked.
PLACE = "ENGINE"  # stands for the path in command lines


@dataclass(frozen=True)
class UnbuiltEngine:
    """One that the run will compile: nothing can be asked of it yet."""

    program: Path = Path(PLACE)
    facts: Mapping[str, Any] = field(default_factory=dict)


def planned_engine(
    mpi: Mpi, environ: Mapping[str, str] | None = None, tell: Tell = lambda _: None
) -> Engine | UnbuiltEngine:
    """The engine that a run would take, or what stands for it, with one line that says what it leaves unchecked.

    Raises: EnvironmentFailure: SLOWPATH_ENGINE names none that fits, or none can ever be built for this MPI.
    """
    environ = mpi.environ(os.environ if environ is None else environ)
    kept = kept_engine(mpi, environ, tell)
    if kept is not None:
        return kept
    require_headers(mpi)
    build = f"slowpath mpi build --mpi {mpi.mpiexec}"
    tell(f"the engine for {mpi.identity} ({PLACE}) is not built yet, so cells are not checked; build it: {build}")
    return UnbuiltEngine()
