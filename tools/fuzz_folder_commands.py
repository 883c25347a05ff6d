# SPDX-License-Identifier: Apache-2.0
"""What reads a folder: whole commands, and readers that no command reaches without starting something.

Each states where it may write and how it may end; `judged` says what is wrong with how one did.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from fuzz_sandbox import CPU_S, MEMORY_BYTES, Outcome

import slowpath
from slowpath.cli.main import EXIT_DEFECT, _tell, exit_code
from slowpath.cli.streams import cleaned_streams
from slowpath.core.diagnosis_folder import is_diagnosis, step_folders
from slowpath.core.errors import SlowpathError
from slowpath.core.resources import data_folder
from slowpath.plan.campaign import load
from slowpath.plan.expand import expand
from slowpath.plan.mpis import MpiInUse
from slowpath.record.plan_files import read_plan
from slowpath.run.reopen import schedule_after
from slowpath.studies.counting.compare import compare_counts
from slowpath.studies.counting.show import as_text, read_earlier

ALWAYS = frozenset({0, 2, 4})
# C0 but for line feed and tabulator, DEL, C1, and what turns the direction of text.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_RAISED = re.compile(r"[\w.]+(?:Error|Exception|Warning|Interrupt)\b")
_FRAME = re.compile(r'File "[^"]*?([^/"]+)", line (\d+), in (\S+)')


@dataclass(frozen=True)
class Place:
    """Where one mutation lies. folder: what was spoilt.  pristine: as it was.  out: an empty folder."""

    folder: Path
    pristine: Path
    out: Path


@dataclass(frozen=True)
class Reader:
    """One command. run: gives the exit code, by the place and a number that picks a format.

    own: whether it writes into the folder.  codes: exit codes that are documented.
    """

    name: str
    run: Callable[[Place, int], int]
    own: bool = False
    codes: frozenset[int] = ALWAYS

    def allowed(self, place: Place) -> list[Path]:
        """Where it may write."""
        return [place.out, place.folder] if self.own else [place.out]


def _reader(
    name: str, *words: str, formats: Sequence[str] = (), own: bool = False, codes: frozenset[int] = ALWAYS
) -> Reader:
    """A command line; {folder}, {pristine}, {out} stand for the paths, and one of `formats` is added in turn."""

    def run(place: Place, turn: int) -> int:
        chosen = [*words, *(formats[turn % len(formats)].split() if formats else ())]
        paths = {"folder": str(place.folder), "pristine": str(place.pristine), "out": str(place.out)}
        return exit_code([word.format(**paths) for word in chosen])

    return Reader(name, run, own, codes)


def _guarded(body: Callable[[Place, int], None]) -> Callable[[Place, int], int]:
    """As the command line does: one line for what a user can meet, a traceback for a defect."""

    def run(place: Place, turn: int) -> int:
        try:
            with cleaned_streams():
                body(place, turn)
        except SlowpathError as error:
            _tell(str(error))
            return error.exit_code
        except Exception:
            traceback.print_exc()
            return EXIT_DEFECT
        return 0

    return run


def _walk(place: Place, turn: int) -> None:
    """All that the Python API offers."""
    run: Any = slowpath.open(place.folder)
    for one in (run, *getattr(run, "steps", ())):
        repr(one)
        for name in ("info", "launches", "results", "printed", "findings"):
            getattr(one, name)
        one.rows(), one.contrast_rows(), one.to_dict()
        for cell in one.cells[:6]:
            repr(cell), cell.to_dict()
            for metric in cell.metrics[:2]:
                cell.estimate(metric), cell.values_s(metric), cell.absent(metric)
            for _ in zip(range(20), cell.samples(), strict=False):
                pass
        for contrast in one.contrasts[:6]:
            repr(contrast), contrast.to_dict(), contrast.pairs_s, repr(contrast.a), contrast.b.cell
    if hasattr(run, "to_diagnosis_dict"):
        run.to_diagnosis_dict()


def _left_to_do(place: Place, turn: int) -> None:
    """What `slowpath resume` finds before it looks for MPIs."""
    folder = step_folders(place.folder)[0] if is_diagnosis(place.folder) else place.folder
    plan = read_plan(folder / "plan.json")
    schedule_after(folder, plan).launches_left()


def _campaign(place: Place, turn: int) -> None:
    """`slowpath run FILE --dry-run` without an engine: the recorded description stands for it."""
    description = msgspec.json.decode((data_folder("schema") / "engine.json").read_bytes())
    for path in sorted(place.folder.iterdir()):
        in_use = [MpiInUse("mpich", "mpich 5.0", lambda setting: ({"X": "0"}, None))]
        try:
            expand(load(path), description, in_use, 1, rounds=1)
        except SlowpathError as error:
            _tell(str(error))


def _imports(place: Place, turn: int) -> int:
    """Every file by itself, then all tables together."""
    files = [str(path) for path in sorted(place.folder.iterdir())]
    tables = [one for one in files if "overalloc" not in one]
    codes = [exit_code(["import", one, "--out", str(place.out / f"run{i}")]) for i, one in enumerate(files)]
    codes.append(exit_code(["import", *tables, "--out", str(place.out / "all")]) if tables else 0)
    return next((code for code in codes if code not in ALWAYS), max(codes))


def _counts(place: Place, turn: int) -> None:
    earlier = read_earlier(place.folder / "counts.json", "MPI_Put")
    print(as_text(earlier))
    compare_counts(earlier, earlier, "MPI_Put", 0.01)


_GATE = frozenset({0, 1, 2, 3, 4})
_WRONG_BYTES = frozenset({0, 1, 2, 4})
_REPORTS = ["", "--format html", "--format json", "--format csv"]
_REPORT = _reader("report", "report", "{folder}", formats=_REPORTS, own=True, codes=_WRONG_BYTES)
_FORMATS = ["", "--format json", "--format csv --html {out}/compare.html"]
_COMPARE = (
    _reader("compare PRISTINE FOLDER", "compare", "{pristine}", "{folder}", formats=_FORMATS),
    _reader("compare FOLDER PRISTINE", "compare", "{folder}", "{pristine}", formats=_FORMATS),
)
_GATES = (
    _reader("gate FOLDER", "gate", "{folder}", "--baseline", "{pristine}", codes=_GATE, formats=[
        "", "--format json", "--junit {out}/a.xml"]),
    _reader("gate --baseline FOLDER", "gate", "{pristine}", "--baseline", "{folder}", codes=_GATE,
            formats=["", "--format json"]),
)  # fmt: skip
_TABLE = _reader("table", "table", "{folder}", formats=["", "--format csv", "--format json"])
_REFERENCE = (
    _reader("reference show", "reference", "show", "{folder}", "--in", "{pristine}"),
    _reader(
        "reference show --in FOLDER", "reference", "show", "{pristine}", "--in", "{folder}", formats=["", "--json"]
    ),
    _reader("reference add", "reference", "add", "{folder}", "--in", "{out}/references"),
)
_OPEN = Reader("slowpath.open", _guarded(_walk))
_RESUME = Reader("resume, what is left", _guarded(_left_to_do), own=True)

READERS: Mapping[str, tuple[Reader, ...]] = {
    "run": (
        _REPORT, *_COMPARE, *_GATES, _TABLE, *_REFERENCE, _OPEN, _RESUME,
        _reader("trace --out", "trace", "{folder}", "--out", "{out}/trace"),
        _reader("trace", "trace", "{folder}", own=True),
        _reader("summary", "summary", "{folder}"),
    ),
    "results": (*_COMPARE, *_GATES, _TABLE, *_REFERENCE),
    "history": _REFERENCE,
    "diagnosis": (_REPORT, *_COMPARE, *_GATES, _TABLE, _OPEN, _RESUME),
    "logs": (Reader("import", _imports, codes=_WRONG_BYTES),),
    "counts": (Reader("count, what was kept", _guarded(_counts)),),
    "campaigns": (Reader("campaign", _guarded(_campaign)),),
}  # fmt: skip


def judged(reader: Reader, place: Place, outcome: Outcome) -> str | None:
    """The kind of failure, the same for the same cause; None: it ended as it must."""
    if outcome.killed_by == "SIGSYS":
        return "starts a process"
    if outcome.killed_by is not None:
        slow = outcome.killed_by in ("SIGKILL", "SIGXCPU")
        return f"takes over {CPU_S} s" if slow else f"ended by {outcome.killed_by}"
    err, out = outcome.err.decode(errors="replace"), outcome.out.decode(errors="replace")
    if "Traceback (most recent call last)" in err or outcome.code == EXIT_DEFECT:
        return _traceback(err)
    if outcome.code not in reader.codes:
        return f"exit code {outcome.code}"
    if outcome.wrote_outside:
        return f"writes outside: {outcome.wrote_outside[0][:120]}"
    if outcome.grown_bytes > MEMORY_BYTES:
        return "takes over 1 GiB"
    for name, text in (("stdout", out), ("stderr", err), *_written(reader, place, outcome)):
        if found := _CONTROL.search(text):
            return f"{name} has the control character U+{ord(found[0]):04X}"
    if outcome.code in (2, 4) and err.count("slowpath: error: ") != 1 and reader.name not in ("import", "campaign"):
        return f"exit code {outcome.code} without its line"
    return None


def _traceback(err: str) -> str:
    own = [found for found in _FRAME.finditer(err) if "slowpath" in found[0]] or list(_FRAME.finditer(err))
    last = next((line for line in reversed(err.splitlines()) if _RAISED.match(line)), "?")
    where = f"{own[-1][1]}:{own[-1][2]} {own[-1][3]}" if own else "?"
    return f"{last[:100]} ({where})"


def _written(reader: Reader, place: Place, outcome: Outcome) -> Sequence[tuple[str, str]]:
    """Texts that it wrote for people and programs."""
    found: list[tuple[str, str]] = []
    for folder in reader.allowed(place) if reader.name.startswith("report") and outcome.code == 0 else ():
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".txt", ".csv", ".md") and path.is_file() and not path.is_symlink():
                reported = path.name in ("report.txt", "cells.csv", "contrasts.csv", "put-table.csv", "put-table.md")
                if reported and path.stat().st_size < 2**22:
                    found.append((path.name, path.read_bytes().decode(errors="replace")))
    return found
