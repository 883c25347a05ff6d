# SPDX-License-Identifier: Apache-2.0
"""slowpath count, on real MPI programs and on none."""

from __future__ import annotations

import json
import lzma
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.cache import Engine
from watchdog import WATCHDOG_S

pytestmark = pytest.mark.needs("minutes")

Slowpath = Callable[..., subprocess.CompletedProcess[str]]
SOURCE = Path(__file__).parents[2] / "engine" / "studies" / "counting" / "tests" / "put.c"
PUTS, WARM_UP = 16, 20


@pytest.fixture
def environ(mpi: Mpi, engine: Engine) -> dict[str, str]:
    made = {**mpi.environ(os.environ), "SLOWPATH_COUNT_TOOLS": str(engine.program.parent)}
    return {**made, "PATH": f"{mpi.prefix / 'bin'}:{made.get('PATH', '')}", "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture
def put(mpi: Mpi, environ: dict[str, str], tmp_path: Path) -> Path:
    program = tmp_path / "put"
    words = [str(mpi.prefix / "bin" / "mpicc"), "-O2", "-o", str(program), str(SOURCE)]
    subprocess.run([*words, f"-Wl,-rpath,{mpi.prefix / 'lib'}"], env=environ, check=True, timeout=WATCHDOG_S)
    return program


def counted(words: list[str], environ: dict[str, str]) -> dict[str, Any]:
    """What `slowpath count --json` says of rank 0."""
    done = subprocess.run(words, env=environ, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)
    assert done.returncode == 0, done.stderr
    documents = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    processes = [process for document in documents for process in document["processes"]]
    assert sorted(process["rank"] for process in processes) == ["0", "1"]
    rank_0: dict[str, Any] = min(processes, key=lambda process: process["rank"])
    return rank_0


def wish(method: str) -> list[str]:
    options = ["--call", "MPI_Put", "--calls", str(PUTS), "--skip", str(WARM_UP), "--method", method, "--json"]
    return [sys.executable, "-m", "slowpath.cli", "count", *options, "--"]


def outer(mpi: Mpi, put: Path, method: str = "trap") -> list[str]:
    return [*wish(method), str(mpi.mpiexec), "-n", "2", str(put), str(PUTS), str(WARM_UP)]


def inner(mpi: Mpi, put: Path, method: str = "trap") -> list[str]:
    return [str(mpi.mpiexec), "-n", "2", *wish(method), str(put), str(PUTS), str(WARM_UP)]


def test_three_runs_give_the_same(mpi: Mpi, put: Path, environ: dict[str, str]) -> None:
    runs = [counted(outer(mpi, put), environ) for _ in range(3)]
    numbers = [[call["stepped"] for call in run["calls"]] for run in runs]
    assert [len(run) for run in numbers] == [PUTS] * 3
    if mpi.name != "mpich":  # MPICH allocates for each put, so that its count depends on the heap
        assert numbers[0] == numbers[1] == numbers[2]
    assert all(min(run) > 50 for run in numbers)
    assert runs[0]["calls_met"] == PUTS + WARM_UP
    assert runs[0]["shares"][0]["library"].startswith("libmpi")
    total = sum(share["stepped"] for share in runs[0]["shares"])
    assert total == sum(numbers[0])


def test_before_and_after_the_launcher_and_from_outside(mpi: Mpi, put: Path, environ: dict[str, str]) -> None:
    expected = counted(outer(mpi, put), environ)
    others = [counted(inner(mpi, put), environ), counted(outer(mpi, put, "ptrace"), environ)]
    others.append(counted(inner(mpi, put, "ptrace"), environ))
    for other in others:
        assert len(other["calls"]) == PUTS
        own = {share["function"]: share["stepped"] for share in other["shares"] if "libmpi" in share["library"]}
        assert own == {
            share["function"]: share["stepped"] for share in expected["shares"] if "libmpi" in share["library"]
        }
    assert others[1]["method"] == "ptrace"


def test_any_program_and_any_function(slowpath: Slowpath, engine: Engine) -> None:
    tools = {"SLOWPATH_COUNT_TOOLS": str(engine.program.parent)}
    done = slowpath("count", "--call", "getpid", "--", "/bin/sh", "-c", "echo from the program", env=tools)
    assert done.returncode in (0, 4)
    assert "from the program" in done.stdout
    done = slowpath("count", "--call", "malloc", "--calls", "3", "--", "/bin/ls", "/", env=tools)
    assert done.returncode == 0
    assert "malloc in " in done.stdout
    assert "3 calls counted" in done.stdout


def test_a_rise_above_the_threshold_has_its_exit_code(slowpath: Slowpath, engine: Engine, tmp_path: Path) -> None:
    tools = {"SLOWPATH_COUNT_TOOLS": str(engine.program.parent)}
    words = ["count", "--call", "malloc", "--calls", "3"]
    first = slowpath(*words, "--out", str(tmp_path / "old"), "--", "/bin/ls", "/", env=tools)
    assert first.returncode == 0, first.stderr
    again = slowpath(*words, "--compare", str(tmp_path / "old"), "--", "/bin/ls", "/", env=tools)
    assert again.returncode == 0, again.stderr
    assert "NOT MORE: malloc executes at most 1 % more instructions" in again.stdout
    document = json.loads((tmp_path / "old" / "counts.json").read_text())
    for call in document["processes"][0]["calls"]:
        call["stepped"] -= 1
    (tmp_path / "less.json").write_text(json.dumps(document))
    words += ["--compare", str(tmp_path / "less.json"), "--threshold", "0.1%", "--json"]
    more = slowpath(*words, "--", "/bin/ls", "/", env=tools)
    assert more.returncode == 1, more.stderr
    assert json.loads(more.stdout.splitlines()[-1])["comparison"]["outcome"] == "more"


LIBRARY = """
static __attribute__((noinline)) int hidden(int x) { __asm__ volatile(""); return 3 * x; }
int visible(int x) { return hidden(x) + 2; }
"""


@pytest.fixture(scope="module")
def stripped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with full.so, bare.so, which is stripped, and symbols.debug; the places of both functions."""
    folder = tmp_path_factory.mktemp("stripped")
    (folder / "library.c").write_text(LIBRARY)
    for words in (
        "gcc -O1 -shared -fPIC -Wl,--build-id -o full.so library.c",
        "objcopy --only-keep-debug full.so symbols.debug",
        "strip -o bare.so full.so",
    ):
        subprocess.run(words.split(), cwd=folder, check=True)
    listed = subprocess.run(["nm", "full.so"], cwd=folder, check=True, capture_output=True, text=True).stdout
    at = {line.split()[-1]: int(line.split()[0], 16) for line in listed.splitlines() if line[0] == "0"}
    return folder, f"{at['hidden']} {{0}}\n{at['visible']} {{0}}\n"


def without_sections(folder: Path) -> None:
    image = bytearray((folder / "bare.so").read_bytes())
    image[0x28:0x30] = bytes(8)  # e_shoff
    image[0x3C:0x40] = bytes(4)  # e_shnum, e_shstrndx
    (folder / "x.so").write_bytes(image)


def with_link(folder: Path) -> None:
    subprocess.run(["objcopy", "--add-gnu-debuglink=symbols.debug", "bare.so", "x.so"], cwd=folder, check=True)


def with_another_builds_link(folder: Path) -> None:
    with_link(folder)
    (folder / "symbols.debug").write_bytes((folder / "symbols.debug").read_bytes() + b"other")


def with_debug_data(folder: Path) -> None:
    (folder / "symbols.xz").write_bytes(lzma.compress((folder / "symbols.debug").read_bytes()))
    words = "objcopy --add-section .gnu_debugdata=symbols.xz bare.so x.so"
    subprocess.run(words.split(), cwd=folder, check=True)


def with_debuginfod(folder: Path) -> None:
    shutil.copy(folder / "bare.so", folder / "x.so")
    notes = subprocess.run(["readelf", "-n", "x.so"], cwd=folder, check=True, capture_output=True, text=True).stdout
    build = notes.partition("Build ID: ")[2].split()[0]
    (folder / "cache" / build).mkdir(parents=True)
    shutil.copy(folder / "symbols.debug", folder / "cache" / build / "debuginfo")


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda folder: shutil.copy(folder / "full.so", folder / "x.so"), ["hidden", "visible"]),
        (lambda folder: shutil.copy(folder / "bare.so", folder / "x.so"), ["x.so+", "visible"]),
        (without_sections, ["?", "visible"]),
        (with_link, ["hidden", "visible"]),
        (with_another_builds_link, ["x.so+", "visible"]),
        (with_debug_data, ["hidden", "visible"]),
        (with_debuginfod, ["hidden", "visible"]),
    ],
)
def test_functions_of_stripped_libraries_have_names(
    engine: Engine, stripped: tuple[Path, str], tmp_path: Path, make: Callable[[Path], object], named: list[str]
) -> None:
    folder = tmp_path / "files"
    shutil.copytree(stripped[0], folder)
    make(folder)
    done = subprocess.run(
        [engine.program.parent / "slowpath-count-names"],
        input=stripped[1].format(folder / "x.so"),
        env={**os.environ, "DEBUGINFOD_CACHE_PATH": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    functions = [json.loads(line)["function"] for line in done.stdout.splitlines()]
    assert [found[: len(name)] for found, name in zip(functions, named, strict=True)] == named


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--call", "MPI_Put", "--", "no-such-program"], 2, "no such program"),
        (["--", "/bin/true"], 2, "--call"),
        (["--call", "MPI_Put"], 2, "COMMAND"),
        (["--call", "MPI_Put", "--calls", "0", "--", "/bin/true"], 2, "--calls"),
        (["--call", "MPI_Put", "--compare", "/nonexistent", "--", "/bin/true"], 4, "can't be read"),
        (["--call", "MPI_Put", "--", "/bin/true"], 4, "no process started here"),
        (["--call", "MPI_Put", "--method", "ptrace", "--", "/bin/true"], 4, "no process started here"),
        (["--call", "MPI_Put", "--", "/bin/false"], 4, "exit code 1"),
        (["--call", "memcpy", "--", "/bin/ls"], 4, "could be counted"),
    ],
)
def test_errors_are_one_line(slowpath: Slowpath, engine: Engine, arguments: list[str], code: int, text: str) -> None:
    done = slowpath("count", *arguments, env={"SLOWPATH_COUNT_TOOLS": str(engine.program.parent)})
    assert done.returncode == code, done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("slowpath: error:")]
    assert len(errors) == 1
    assert text in errors[0]
    assert "Traceback" not in done.stderr
