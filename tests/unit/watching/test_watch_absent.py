# SPDX-License-Identifier: Apache-2.0
"""Why there is no record: static, setuid, another processor, no MPI, a full disk; each in one line."""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from slowpath.watch.start.environment import needs_sanitizer_option
from slowpath.watch.start.session import program_header, why_no_record

PYTHON = Path(sys.executable).resolve()
LIBRARY = Path(next(row.split()[-1] for row in Path("/proc/self/maps").read_text().splitlines() if "/libc" in row))


def changed(tmp_path: Path, at: int, layout: str, value: int) -> Path:
    """A copy of Python with one field of its ELF header changed."""
    path = tmp_path / "app"
    content = bytearray(PYTHON.read_bytes())
    struct.pack_into(layout, content, at, value)
    path.write_bytes(content)
    return path


def static(tmp_path: Path) -> Path:
    """A copy of Python without the row of the program header that names its interpreter."""
    content = PYTHON.read_bytes()
    offset, size, count = struct.unpack_from("<Q14xHH", content, 32)
    at = next(offset + i * size for i in range(count) if struct.unpack_from("<I", content, offset + i * size)[0] == 3)
    return changed(tmp_path, at, "<I", 0)


def test_a_dynamic_program_has_an_interpreter_and_text_is_no_program(tmp_path: Path) -> None:
    found = program_header(PYTHON)
    assert found is not None
    assert found.has_interpreter
    (tmp_path / "script").write_text("#!/bin/sh\n")
    assert program_header(tmp_path / "script") is None


def test_a_static_program_is_said(tmp_path: Path) -> None:
    assert "is linked statically" in why_no_record([static(tmp_path)], LIBRARY)


def test_another_processor_is_said(tmp_path: Path) -> None:
    line = why_no_record([changed(tmp_path, 18, "<H", 21)], LIBRARY)
    assert "is a program for ppc64 (64 bits)" in line


@pytest.mark.parametrize("bit", [0o4000, 0o2000])
def test_a_setuid_program_is_said(tmp_path: Path, bit: int) -> None:
    path = tmp_path / "app"
    shutil.copy(PYTHON, path)
    path.chmod(0o755 | bit)
    assert "is setuid or setgid" in why_no_record([path], LIBRARY)


def test_a_program_without_mpi_is_said(tmp_path: Path) -> None:
    path = tmp_path / "app"
    shutil.copy(shutil.which("true") or "", path)
    assert "is not linked with an MPI library" in why_no_record([path], LIBRARY)


def test_a_full_disk_comes_first_and_a_launcher_last(tmp_path: Path) -> None:
    assert why_no_record([static(tmp_path)], LIBRARY, "the disk is full") == "the disk is full"
    line = why_no_record([PYTHON], LIBRARY)
    assert "never called MPI_Init" in line
    assert "--print-environment" in line


def test_an_end_before_mpi_init_is_said_with_its_exit_code() -> None:
    line = why_no_record([PYTHON], LIBRARY, None, (0, 0), 3)
    assert line.startswith(f"{PYTHON.name} ended with exit code 3, and no process called MPI_Init")
    assert "exit code" not in why_no_record([PYTHON], LIBRARY, None, (0, 0), 0)


@pytest.mark.parametrize(
    ("failed", "how"),
    [((1, 0), "did not return in 1 process;"), ((3, 2), "returned an error in 2 of 3 processes;")],
)
def test_notes_of_the_library_say_that_mpi_init_failed(failed: tuple[int, int], how: str) -> None:
    """Whatever the exit code: a process that called MPI_Init was preloaded, and is linked with MPI."""
    assert f"MPI_Init {how}" in why_no_record([PYTHON], LIBRARY, None, failed, 1)


def test_shared_sanitizers_are_recognised(tmp_path: Path) -> None:
    """By what the program needs; a program without one, and a script, are left alone."""
    (tmp_path / "program.c").write_text("int main(void) { return 0; }")
    for name, flags in (("plain", []), ("address", ["-fsanitize=address"])):
        subprocess.run(["gcc", *flags, "-o", tmp_path / name, tmp_path / "program.c"], check=True)
    assert needs_sanitizer_option(tmp_path / "address")
    assert not needs_sanitizer_option(tmp_path / "plain")
    assert not needs_sanitizer_option(tmp_path / "program.c")
