# SPDX-License-Identifier: Apache-2.0
"""Where a watch's prices come from: replays in its folder, and a diagnosis that the user named.

A diagnosis of another machine, another MPI or other settings prices another program, and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from slowpath.analyse.build import build_results
from slowpath.core.decoding import decoded
from slowpath.core.diagnosis_folder import is_diagnosis, step_folders
from slowpath.core.errors import SlowpathError, UsageError
from slowpath.core.files import read_bytes, write_atomically
from slowpath.core.limits import FILE_BYTES, Text
from slowpath.core.results import Results
from slowpath.mpi.identify import named_in
from slowpath.mpi.own_settings import own_settings
from slowpath.watch.prices import PriceSource
from slowpath.watch.results import WatchedProgram

PRICES: Final = "prices"  # folder of the first replay; later ones are prices-2, prices-3, ...
LAWS_FILE: Final = "laws.json"


class LawFolders(msgspec.Struct, frozen=True):
    """laws.json of a watch: diagnoses whose contrasts and laws price it, absolute paths."""

    folders: Annotated[list[Text], Meta(max_length=100)] = []


def price_folders(watch: Path) -> list[Path]:
    """Replays that were measured into a watch, the newest first."""
    found = [folder for folder in watch.glob(f"{PRICES}*") if (folder / "run.json").is_file()]
    return sorted(found, key=_number, reverse=True)


def next_price_folder(watch: Path) -> Path:
    """One that is not there yet."""
    number = 1 + max((_number(folder) for folder in watch.glob(f"{PRICES}*")), default=0)
    return watch / (PRICES if number == 1 else f"{PRICES}-{number}")


def _number(folder: Path) -> int:
    last = folder.name.removeprefix(PRICES).removeprefix("-")
    return int(last) if last.isdecimal() else 1


def read_sources(
    watch: Path, program: WatchedProgram, variables: Mapping[str, str]
) -> tuple[list[PriceSource], list[str]]:
    """Replays first, then diagnoses; and a line for each that can't be used any more."""
    found: list[PriceSource] = []
    notes: list[str] = []
    for folder in price_folders(watch):
        try:
            results = build_results(folder)
        except SlowpathError as error:
            notes.append(f"prices: {error}")
            continue
        found.append(PriceSource(results, _named(folder.name, results, program), "replay"))
    for name in read_laws(watch).folders:
        try:
            found += law_sources(Path(name), program, variables)
        except SlowpathError as error:
            notes.append(f"laws: {error}")
    return found, notes


def _named(name: str, results: Results, program: WatchedProgram) -> str:
    """With the host, where it is none of the program's."""
    host = results.run.machine.get("host")
    return name if host in program.hosts else f"{name} (measured on {host})"


def law_sources(folder: Path, program: WatchedProgram, variables: Mapping[str, str]) -> list[PriceSource]:
    """What a diagnosis, or a run, measured that holds for the program.

    Raises: UsageError: it is of another machine, MPI or setting.  RecordError: it can't be read.
    """
    runs = step_folders(folder) if is_diagnosis(folder) else [folder]
    found = [build_results(run_folder) for run_folder in runs]
    if why := refusal(found[0], program, variables):
        raise UsageError(f"--laws {folder}: {why}; its laws don't hold for this program")
    return [
        PriceSource(results, f"{folder.name}/{run.name}" if len(runs) > 1 else folder.name, "diagnosis")
        for results, run in zip(found, runs, strict=True)
    ]


def refusal(results: Results, program: WatchedProgram, variables: Mapping[str, str]) -> str | None:
    """Why measurements do not hold for a program; None: they do."""
    host = results.run.machine.get("host")
    if host not in program.hosts:
        return f"it was measured on {host}, but the program ran on {', '.join(program.hosts) or 'no known host'}"
    ran, mpi = named_in(program.library), results.run.mpi
    if ran is None:
        return f"the program's MPI is not known by name ('{program.library}')"
    if (mpi.name, mpi.version) != (ran[0].name, ran[1]):
        return f"it is for {mpi.name} {mpi.version}, but the program ran with {ran[0].name} {ran[1]}"
    there = results.run.machine.get("variables") or {}
    one, other = settings_of(there), settings_of(variables)
    different = sorted(name for name in {*one, *other} if one.get(name) != other.get(name))
    if different:
        name = different[0]
        return f"{name} was {one.get(name) or 'not set'} there and {other.get(name) or 'not set'} for the program"
    return None


def settings_of(variables: Mapping[str, str]) -> dict[str, str | None]:
    """Those that reach an MPI library."""
    return {setting.name: setting.value for setting in own_settings(variables) if setting.left_in is None}


def read_laws(watch: Path) -> LawFolders:
    """What the user named.  Raises: RecordError: damaged."""
    path = watch / LAWS_FILE
    if not path.exists():
        return LawFolders()
    content = read_bytes(path, FILE_BYTES["run.json"], within=watch)
    return decoded(content, LawFolders, path, "remove it, and name the diagnosis again with --laws", "is damaged")


def remember_laws(watch: Path, folder: Path) -> None:
    """For this and later reports of the watch.  Raises: EnvironmentFailure."""
    every = dict.fromkeys([*read_laws(watch).folders, str(folder.resolve())])
    write_atomically(watch / LAWS_FILE, msgspec.json.encode(LawFolders(list(every))))
