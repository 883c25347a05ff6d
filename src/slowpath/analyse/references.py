# SPDX-License-Identifier: Apache-2.0
"""References on disk: healthy runs that come with Slowpath, and those that a user keeps, one small file each."""

from __future__ import annotations

import lzma
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from slowpath.analyse.reference import HealthyRun, HealthyRuns, Key, healthy_run, items, joined
from slowpath.core.errors import EnvironmentFailure, RecordError, UsageError
from slowpath.core.files import (
    DATA_VARIABLE,
    FILE_LIMIT_BYTES,
    data_folder,
    decoded,
    json_bytes,
    read_bytes,
    write_atomically,
)
from slowpath.core.results import Results, nothing_measured

SUFFIX = ".json.xz"


def references_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of the user's references: in SLOWPATH_DATA_DIR, else in the user's data folder."""
    if environ.get(DATA_VARIABLE):
        return Path(environ[DATA_VARIABLE]).expanduser().absolute() / "references"
    import platformdirs

    return Path(platformdirs.user_data_dir("slowpath")) / "references"


def load_references(environ: Mapping[str, str] = os.environ) -> HealthyRuns:
    """Return all healthy runs, those that come with Slowpath first. Files that can't be read are left out."""
    tables, _ = read_references(data_folder("references"))
    own, _ = read_references(references_folder(environ))
    return joined([run for table in (*tables, *own) for run in separate(table)])


def read_references(folder: Path) -> tuple[list[HealthyRuns], list[str]]:
    """Return the tables of a folder, and a line for each file that can't be read."""
    tables: list[HealthyRuns] = []
    left_out: list[str] = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            tables.append(_read(path))
        except RecordError as error:
            left_out.append(str(error))
    return tables, left_out


def _read(path: Path) -> HealthyRuns:
    advice = "remove it and add its run again"
    try:
        content = lzma.LZMADecompressor().decompress(read_bytes(path), max_length=FILE_LIMIT_BYTES)
    except lzma.LZMAError as error:
        raise RecordError(f"{path}: is damaged: {error}; {advice}") from error
    table = decoded(content, HealthyRuns, path, advice)
    if any(len(row) != len(table.runs) or key.count("|") < 2 for key, row in table.values.items()):
        raise RecordError(f"{path}: is damaged: rows; {advice}")
    return table


def separate(table: HealthyRuns) -> Iterator[tuple[HealthyRun, Mapping[Key, float]]]:
    """Return the runs of a table, each with its values."""
    for number, run in enumerate(table.runs):
        values: dict[Key, float] = {}
        for words, row in table.values.items():
            if (value := row[number]) is not None:
                cell, metric, phase = words.rsplit("|", 2)
                values[cell, metric, phase] = value
        yield run, values


def name_of(results: Results, host: str | None = None) -> str:
    """Return campaign and start, such as survey-20260131-120000: steps of diagnoses have the same id in all of them.

    Args: host: to be named as well. Two nodes may start runs of a campaign in the same second.
    """
    stamp = re.sub(r"[^0-9T]", "", (results.run.started or "")[:19]).replace("T", "-")
    name = f"{results.run.campaign}-{stamp}" if stamp else results.run.id
    return re.sub(r"[^A-Za-z0-9._@-]", "_", f"{name}@{host}" if host else name)


def reduced(results: Results, source: str, name: str | None = None) -> tuple[HealthyRun, Mapping[Key, float]]:
    """Return a run as a reference.

    Args:   name: of the reference; `name_of` unless given.
    Raises: UsageError: the run is imported, not at its end, of several MPIs or had wrong bytes.  RecordError: it holds
            no measurement.
    """
    run = results.run
    if reason := nothing_measured(results):
        raise RecordError(f"{run.id}: nothing was measured: {reason}; measure again")
    several = [mpi for mpi in run.mpis if mpi.unavailable is None]
    problem = (
        "it was imported"
        if run.imported
        else f"its status is {run.status}"
        if run.status not in ("complete", "partial")
        else "it measured several MPIs"
        if len(several) > 1
        else "messages arrived with wrong bytes"
        if any(cell.wrong_bytes for cell in results.cells)
        else None
    )
    if problem is not None:
        raise UsageError(f"{run.id}: can't be a reference: {problem}; add a run that slowpath measured to its end")
    return healthy_run(run, source, name or name_of(results)), {item.key: item.value for item in items(results.cells)}


def file_bytes(table: HealthyRuns) -> bytes:
    """Return a table as the content of its file."""
    return lzma.compress(json_bytes(table), preset=9)


def add_reference(results: Results, folder: Path) -> Path:
    """Keep a run as a reference, the same run once.

    Raises: UsageError, RecordError: as `reduced`.  EnvironmentFailure: the file can't be written.
    """
    name = name_of(results, str(results.run.machine.get("host") or "unknown"))
    run, values = reduced(results, "own", name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentFailure(f"cannot make {folder}: {error.strerror or error}; set {DATA_VARIABLE}") from error
    path = folder / f"{name}{SUFFIX}"
    write_atomically(path, file_bytes(joined([(run, values)])))
    return path


def remove_references(names: Sequence[str], folder: Path) -> None:
    """Remove the user's references of these names.  Raises: UsageError: there is none of such a name."""
    known = {path.name.removesuffix(SUFFIX): path for path in folder.glob(f"*{SUFFIX}")}
    if unknown := [name for name in names if name not in known]:
        raise UsageError(f"{unknown[0]}: is not one of your references; slowpath reference list names them")
    for name in names:
        known[name].unlink(missing_ok=True)
