# SPDX-License-Identifier: Apache-2.0
"""Why there is no record: static, setuid, another processor, no MPI, a full disk; each in one line."""

from __future__ import annotations

import os
import re
import shutil
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from slowpath.watch.folder import read_watch
from slowpath.watch.start.environment import (
    WatchedCommand,
    watched,
)
from slowpath.watch.start.session import program_header, why_no_record
from watchdog import WATCHDOG_S

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
    header = program_header(PYTHON)
    assert header is not None
    assert header.has_interpreter
    (tmp_path / "script").write_text("#!/bin/sh\n")
    assert program_header(tmp_path / "script") is None


def test_a_static_program_is_said(tmp_path: Path) -> None:
    assert "is linked statically" in why_no_record([static(tmp_path)], LIBRARY)


def test_a_program_without_mpi_is_said(tmp_path: Path) -> None:
    path = tmp_path / "app"
    shutil.copy(shutil.which("true") or "", path)
    assert "is not linked with an MPI library" in why_no_record([path], LIBRARY)


def test_a_full_disk_comes_first_and_a_launcher_last(tmp_path: Path) -> None:
    assert why_no_record([static(tmp_path)], LIBRARY, "the disk is full") == "the disk is full"
    line = why_no_record([PYTHON], LIBRARY)
    assert "called no MPI_Init" in line
    assert "--print-environment" in line


def test_an_end_before_mpi_init_is_said_with_its_exit_code() -> None:
    line = why_no_record([PYTHON], LIBRARY, None, 0, 3)
    assert line.startswith(f"{PYTHON.name} ended with exit code 3 before MPI_Init")
    assert "exit code" not in why_no_record([PYTHON], LIBRARY, None, 0, 0)


HARMLESS = next(line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/libc" in line)
RECORD = """
import os, struct, sys
def record(rank=0, size=1, state=2):
    head = bytearray(4096)
    head[:8] = b"SPWATCH1"
    struct.pack_into("<Iiii", head, 28, state, os.getpid(), rank, size)
    with open(f"{os.environ['SLOWPATH_WATCH']}/host-{rank}.watch", "wb") as file:
        file.write(head)
"""


def watch(tmp_path: Path, *words: str, program: str = "", given: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", RECORD + program] if program else []
    argv = [sys.executable, "-m", "slowpath.cli", "watch", "--library", HARMLESS, *words, "--", *command]
    return subprocess.run(
        argv, cwd=tmp_path, input=given, capture_output=True, text=True, timeout=WATCHDOG_S, check=False
    )


def test_streams_and_exit_code_are_the_programs(tmp_path: Path) -> None:
    program = "record(); print(sys.stdin.read(), end='!'); print('own', file=sys.stderr); sys.exit(7)"
    done = watch(tmp_path, "-o", "w", "--quiet", program=program, given="given")
    assert (done.returncode, done.stdout) == (7, "given!")
    assert done.stderr.startswith("own\n")
    assert "exit code 7" in done.stderr
    info = read_watch(tmp_path / "w")
    assert (info.exit_code, info.signal, info.command[-1]) == (7, None, RECORD + program)
    assert info.wall_s is not None


def test_a_good_run_ends_with_0_and_its_verdict_may_go_to_a_file(tmp_path: Path) -> None:
    done = watch(tmp_path, "-o", "w", "--verdict", "verdict.txt", program="record()")
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "verdict.txt").read_text()
    assert done.stderr == f"watched: {tmp_path / 'w'}\n"


def test_a_signal_is_reported_as_a_shell_does(tmp_path: Path) -> None:
    done = watch(tmp_path, "-o", "w", program="record(); os.kill(os.getpid(), 11)")
    assert done.returncode == 128 + 11
    assert "ended by signal 11" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_signals_reach_the_program_and_what_was_seen_is_kept(tmp_path: Path, number: signal.Signals) -> None:
    program = f"""
import signal
# os.write: the signal may come within the print below, which can't be entered twice.
signal.signal({int(number)}, lambda *_: (os.write(1, b"heard\\n"), sys.exit(9)))
record(state=1)
print("ready", flush=True)
signal.pause()
"""
    argv = [sys.executable, "-m", "slowpath.cli", "watch", "--library", HARMLESS, "-o", "w", "--", sys.executable, "-c"]
    with subprocess.Popen(
        [*argv, RECORD + program],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=WATCHDOG_S)
    assert (process.returncode, out) == (9, "heard\n")
    asked_to_stop = number is not signal.SIGUSR1
    assert read_watch(tmp_path / "w").interrupted == asked_to_stop
    assert ("interrupted: the report covers" in err) == asked_to_stop


def test_fewer_records_than_ranks_are_said(tmp_path: Path) -> None:
    done = watch(tmp_path, "-o", "w", program="record(0, 4); record(2, 4)")
    assert done.returncode == 0
    assert "2 of 4 ranks left a record; missing: 1, 3: " in done.stderr


def test_a_full_disk_is_said(tmp_path: Path) -> None:
    done = watch(tmp_path, "-o", "w", program="record(0, 2); record(1, 2, state=5)")
    assert "1 of 2 records: the disk is full" in done.stderr


def test_without_a_record_our_exit_code_is_4_and_a_failed_programs_stays(tmp_path: Path) -> None:
    done = watch(tmp_path, "-o", "a", program="pass")
    assert done.returncode == 4
    assert re.search(r"^slowpath: error: no rank left a record: .*called no MPI_Init", done.stderr, re.MULTILINE)
    done = watch(tmp_path, "-o", "b", program="sys.exit(3)")
    assert done.returncode == 3
    assert "no rank left a record" in done.stderr


def test_what_can_not_be_started_ends_as_in_a_shell(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")
    for word, code in (("./missing", 127), ("./text", 126)):
        argv = [sys.executable, "-m", "slowpath.cli", "watch", "--library", HARMLESS, "--", word]
        done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)
        assert done.returncode == code
        assert done.stderr.count("\n") == 1
    assert not (tmp_path / "slowpath-watches").exists()


def test_by_hand_then_concluded(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "slowpath.cli", "watch", "--library", HARMLESS, "-o", "my w", "--print-environment"]
    said = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=WATCHDOG_S, check=True).stdout
    script = f"{said}\n'{sys.executable}' -c \"$PROGRAM\""
    environ = {**os.environ, "PROGRAM": RECORD + "record()"}
    subprocess.run(["sh", "-c", script], cwd=tmp_path, env=environ, timeout=WATCHDOG_S, check=True)
    done = watch(tmp_path, "--from", "my w")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr


def test_dry_run_starts_nothing(tmp_path: Path) -> None:
    done = watch(tmp_path, "-o", "w", "--dry-run", program="record()")
    assert done.returncode == 0
    assert f"export LD_PRELOAD={HARMLESS}" in done.stdout
    assert not (tmp_path / "w").exists()


PRELOADED, FOLDER = Path("/cache/lib.so"), Path("/data/my watch")
ENVIRON = {"PATH": "/usr/bin:/bin"}


def made(words: str, launcher: str, environ: dict[str, str] | None = None) -> WatchedCommand:
    return watched(words.split(), launcher, PRELOADED, FOLDER, {**ENVIRON, **(environ or {})})


def test_the_library_stands_behind_what_the_user_preloads() -> None:
    variables = made("./app", "", {"LD_PRELOAD": "/own.so"}).variables
    assert variables == {"LD_PRELOAD": "/own.so:/cache/lib.so", "SLOWPATH_WATCH": "/data/my watch/ranks"}
    assert made("./app", "").variables["LD_PRELOAD"] == "/cache/lib.so"


@pytest.mark.parametrize("launcher", ["hydra", "hydra-intel", "srun", "", "mpiexec", "flux"])
def test_launchers_that_hand_all_on_are_left_alone(launcher: str) -> None:
    prepared = made("mpiexec -n 4 sh -x LD_PRELOAD=/mine.so", launcher)
    assert prepared.argv == ("mpiexec", "-n", "4", "sh", "-x", "LD_PRELOAD=/mine.so")
    assert prepared.notes == ()


@pytest.mark.parametrize("launcher", ["prterun", "orterun"])
def test_open_mpi_is_told_what_goes_to_other_nodes(launcher: str) -> None:
    assert made("mpirun -n 4 ./app", launcher).argv == (
        *("mpirun", "-x", "LD_PRELOAD", "-x", "SLOWPATH_WATCH"),
        *("-n", "4", "./app"),
    )


def test_hydra_that_holds_variables_back_gets_ours() -> None:
    argv = made("mpiexec -genvnone -n 2 ./app", "hydra").argv
    assert argv[:7] == ("mpiexec", "-genv", "LD_PRELOAD", "/cache/lib.so", "-genv", "SLOWPATH_WATCH", argv[6])


@pytest.mark.parametrize(
    ("given", "becomes"),
    [
        ("--export=NONE", "--export=LD_PRELOAD,SLOWPATH_WATCH"),
        ("--export=A,B=c", "--export=A,B=c,LD_PRELOAD,SLOWPATH_WATCH"),
        ("--export=ALL,A=b", "--export=ALL,A=b"),
    ],
)
def test_srun_that_holds_variables_back_gets_ours_and_it_is_said(given: str, becomes: str) -> None:
    prepared = made(f"srun {given} ./app", "srun")
    assert prepared.argv == ("srun", becomes, "./app")
    assert bool(prepared.notes) == (given != becomes)
    prepared = made(f"srun --export {given.partition('=')[2]} ./app", "srun")
    assert prepared.argv == ("srun", "--export", becomes.partition("=")[2], "./app")


SLOWPATH = Path(sys.executable).with_name("slowpath")


def in_deleted_folder(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run slowpath where a shell has just deleted its own working folder."""
    gone = tmp_path / "gone"
    gone.mkdir()
    argv = ["sh", "-c", 'rmdir "$0" && exec "$@"', str(gone), str(SLOWPATH), *words]
    return subprocess.run(argv, cwd=gone, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)


@pytest.mark.parametrize(
    "words",
    [
        ("watch", "--", "true", "--help"),
        ("run", "messages"),
        ("diagnose",),
        ("prove", "folder"),
        ("tune",),
        ("report", "folder"),
        ("run", "--resume", "folder"),
    ],
)
def test_deleted_working_folder(words: tuple[str, ...], tmp_path: Path) -> None:
    done = in_deleted_folder(tmp_path, *words)
    line = "slowpath: error: the working folder is gone; cd to another one\n"
    assert (done.returncode, done.stdout, done.stderr) == (4, "", line)


@pytest.mark.parametrize("words", [("--version",), ("watch", "--help")])
def test_help_needs_no_folder(words: tuple[str, ...], tmp_path: Path) -> None:
    assert in_deleted_folder(tmp_path, *words).returncode == 0
