# SPDX-License-Identifier: Apache-2.0
"""MPI-IO and MPI_Init in a watch: seconds, and the module by which files go."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from slowpath.watch.accounts import file_time, module_of, start_seconds
from slowpath.watch.results import CallCount, WatchResults
from slowpath.watch.verdict import brief_of, verdict_of
from support.watch_results import SPAN_S, a_program, results

OPEN_MPI = "Open MPI v5.0.11, package: Open MPI, ident: 5.0.11"
WRITE = CallCount(name="MPI_File_write_at", family="files", calls=16_000, time_s=0.2 * SPAN_S, bytes=16_000 * 4096)
OPEN = CallCount(name="MPI_File_open", family="files", calls=4, time_s=0.01, bytes=0)
INIT = CallCount(name="MPI_Init", family="management", calls=4, time_s=0.5 * SPAN_S, bytes=0)


def written(library: str = OPEN_MPI, **variables: str) -> WatchResults:
    found = results(program=a_program(library=library, interface="openmpi"), calls=(WRITE, OPEN, INIT))
    return replace(found, files=file_time(found, variables), start_s=start_seconds(found))


def test_the_time_in_files_is_named_with_its_module_and_another_one() -> None:
    found = written()
    assert found.files is not None
    assert (found.files.module, found.files.call, found.files.calls) == ("ompio", "MPI_File_write_at", 16_004)
    assert found.files.seconds == pytest.approx(0.2 * SPAN_S + 0.01)
    (line,) = [line for line in verdict_of(found) if line.startswith("  files")]
    assert "ompio" in line
    assert "OMPI_MCA_io=^ompio" in line
    assert any(note.startswith("MPI-IO takes 8.25 s a rank, 20") for note in brief_of(found).notes)


def test_whoever_asked_for_a_module_is_named_no_other() -> None:
    found = written(OMPI_MCA_io="^ompio")
    assert found.files is not None
    assert (found.files.module, found.files.module_reason) == ("ROMIO", "as was asked for")
    assert "ompio" not in found.files.text


def test_files_that_take_little_are_no_note() -> None:
    found = results(calls=(replace(WRITE, time_s=0.001 * SPAN_S),))
    found = replace(found, files=file_time(found, {}))
    assert not any("MPI-IO" in note for note in brief_of(found).notes)
    assert any("MPI-IO" in line for line in verdict_of(found))


def test_a_program_without_files_has_no_line() -> None:
    assert file_time(results(calls=(INIT,)), {}) is None


def test_a_start_as_long_as_half_of_the_run_is_a_note() -> None:
    assert any(note.startswith("MPI_Init takes 20.6 s a rank") for note in brief_of(written()).notes)
    short = replace(written(), start_s=0.1)
    assert not any("MPI_Init" in note for note in brief_of(short).notes)
    assert any("MPI_Init takes 0.1" in line for line in verdict_of(short))


@pytest.mark.parametrize(
    ("library", "version", "asked", "command", "module"),
    [
        ("openmpi", "5.0.11", None, (), "ompio"),
        ("openmpi", "1.10.7", None, (), "ROMIO"),
        ("openmpi", None, None, (), None),
        ("openmpi", "5.0.11", "^ompio", (), "ROMIO"),
        ("openmpi", "5.0.11", "^romio341", (), "ompio"),
        ("openmpi", "4.1.4", "romio321", (), "ROMIO"),
        ("openmpi", "4.1.4", "romio321", ("mpirun", "--mca", "io", "ompio", "./a"), "ompio"),
        ("mpich", "5.0.2", "^ompio", (), "ROMIO"),
        ("intelmpi", "2021.18", None, (), "ROMIO"),
        (None, None, None, (), None),
    ],
)
def test_the_module_follows_from_what_was_asked_for_and_else_from_the_default(
    library: str | None, version: str | None, asked: str | None, command: tuple[str, ...], module: str | None
) -> None:
    variables = {"OMPI_MCA_io": asked} if asked else {}
    assert module_of(library, version, variables, command).name == module
