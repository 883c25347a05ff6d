# SPDX-License-Identifier: Apache-2.0
"""What `slowpath explain --reproducer` prints: compiled as a vendor would, against
the logs of the original programs.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from ranks import Process, Ranks, finished

from slowpath.cli.machine import REPRODUCERS, program
from slowpath.mpi.launchers import launcher_named
from slowpath.mpi.mpi import Mpi
from watchdog import WATCHDOG_S

pytestmark = pytest.mark.needs("minutes")

HERE = Path(__file__).parent
FIELD = HERE.parent / "data" / "field"
OVERALLOC, PINNED = "gpudirect_p2p_overalloc", "intranode_pinned_host_comm"
MOST_LINES = 265
START_MS = 400
MOST_RANKS = 4
HEADING = "Doing MPI_Send/Recv"
# What ostream prints of a double: 6 significant digits, no trailing zeros.
SECONDS = r"(?=[0-9])(?:[0-9]{1,6}(?:\.[0-9]*[1-9])?|[0-9](?:\.[0-9]{0,4}[1-9])?e[-+][0-9]{2,3})"
TIME = re.compile(rf"(?<=\] time: ){SECONDS}$")


@dataclass(frozen=True)
class Commands:
    """The built commands and how to start them on several ranks."""

    folder: Path
    mpiexec: list[str]
    env: dict[str, str]

    def run(self, ranks: int, words: str, env: Mapping[str, str] | None = None) -> Process:
        name, *arguments = shlex.split(words)
        argv = [*self.mpiexec, "-n", str(ranks), str(self.folder / name), *arguments]
        return finished(argv, {**self.env, **(env or {})})


def commands_in(folder: Path, mpi: Mpi) -> Commands:
    """The commands in a folder, for this MPI."""
    launcher = launcher_named(mpi.launcher)
    oversubscribe = [*launcher.mapped(launcher.oversubscribe_map), *launcher.oversubscribe]
    more = oversubscribe if len(os.sched_getaffinity(0)) < MOST_RANKS else []
    return Commands(folder, [str(mpi.mpiexec), *more], mpi.environ(os.environ))


def lines_match(text: str, patterns: list[str]) -> None:
    """Each line of rank 0 in its place, each heading of rank 1 in its own: no launcher promises more."""
    assert len(text.splitlines()) == len(patterns), text
    for headings in (False, True):
        lines = [line for line in text.splitlines() if line.startswith(HEADING) == headings]
        wanted = [pattern for pattern in patterns if pattern.startswith(HEADING) == headings]
        assert len(lines) == len(wanted), text
        for line, pattern in zip(lines, wanted, strict=True):
            assert re.fullmatch(pattern, line), f"{line!r} is not {pattern!r}"


def times(iterations: int, sub_iterations: int) -> list[str]:
    return [rf"\[{i}:{j}\] time: {SECONDS}" for i in range(iterations) for j in range(sub_iterations)]


def overalloc_lines(
    last: int, iterations: int, sub_iterations: int, p2p: int, buffer: int, over: int, memory: str = "device"
) -> list[str]:
    """GPU memory, of which the original program knows nothing else, is not printed."""

    def part(length: int, word: str) -> list[str]:
        sent = f"from rank 0 to rank {last}, of {min(p2p, length)} bytes from a buffer of {length} bytes"
        return [rf"{HEADING} {sent} \({word} overalloc\)\.", *times(iterations, sub_iterations)]

    return [
        *([f"mem_type: {memory}"] if memory != "device" else []),
        f"p2p_size: {p2p}",
        f"buffer_size: {buffer}",
        f"overalloc_size: {over}",
        rf"\[-1\] time: {SECONDS}",
        *part(buffer + over, "with"),
        *part(buffer, "without"),
    ]


def pinned_lines(memory: str, last: int, iterations: int, sub_iterations: int, p2p: int) -> list[str]:
    return [
        f"mem_type: {memory}",
        f"p2p_size: {p2p}",
        rf"\[-1\] time: {SECONDS}",
        f"{HEADING} from rank 0 to rank {last}, of {p2p} bytes",
        *times(iterations, sub_iterations),
    ]


@dataclass(frozen=True)
class Compilers:
    """What a user's environment has: CC and mpicxx on the PATH, the headers and libraries of MPI and of a CUDA stub."""

    env: dict[str, str]
    without_gpu: dict[str, str]

    def build(self, folder: Path, name: str, words: str, gpu: bool = True) -> Path:
        """Compile the printed program with `words`, in which X is its name."""
        (folder / f"{name}.cpp").write_text(program(name))
        argv = words.replace("X", name).split()
        done = subprocess.run(
            argv, cwd=folder, env=self.env if gpu else self.without_gpu, capture_output=True, text=True,
            timeout=WATCHDOG_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "warning" not in done.stderr
        return folder / name


@pytest.fixture(scope="module")
def compilers(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Compilers:
    """The stub of the CUDA runtime is compiled once."""
    compiler = shutil.which("cc")
    if compiler is None or mpi.mpicxx is None or shutil.which("g++") is None:
        pytest.skip("no compiler")
    folder = tmp_path_factory.mktemp("compilers")
    source = HERE / "cudart" / "stub_cudart.c"
    stub = str(folder / "libcudart.so")
    subprocess.run([compiler, "-shared", "-fPIC", "-Wall", "-Werror", "-o", stub, str(source)], check=True)
    (folder / "CC").write_text(
        f'#!/bin/sh\nexec {mpi.mpicxx} "$@" -lcudart\n'
    )  # as where a craype-accel module is loaded
    (folder / "CC").chmod(0o755)
    shown = subprocess.run(
        [mpi.mpicxx, "-show"], capture_output=True, text=True, check=True, env=mpi.environ(os.environ)
    )
    flags = {kind: re.findall(rf"(?:^|\s)-{kind}\s*(\S+)", shown.stdout) for kind in "IL"}
    flags["I"].append(str(mpi.prefix / "include"))  # Intel MPI shows a placeholder in place of its folders
    flags["L"].append(str(mpi.prefix / "lib"))
    # LC_ALL: a shell warns of a locale that the machine lacks; only the compiler's warnings are looked for.
    plain = mpi.environ(
        {
            **os.environ,
            "LC_ALL": "C",
            "PATH": os.pathsep.join([str(folder), str(mpi.mpicxx.parent), os.environ["PATH"]]),
        }
    )
    plain |= {"CPATH": os.pathsep.join(flags["I"]), "LIBRARY_PATH": os.pathsep.join([*flags["L"], str(folder)])}
    gpu = {**plain, "CPATH": os.pathsep.join([*flags["I"], str(source.parent)])}
    library_path = os.pathsep.join(filter(None, [str(folder), *flags["L"], plain.get("LD_LIBRARY_PATH")]))
    gpu["LD_LIBRARY_PATH"] = library_path
    return Compilers(gpu, plain)


@pytest.fixture(scope="module")
def printed(mpi: Mpi, compilers: Compilers, tmp_path_factory: pytest.TempPathFactory) -> Commands:
    """Both programs with the CUDA stub."""
    folder = tmp_path_factory.mktemp("printed")
    for name in (OVERALLOC, PINNED):
        compilers.build(folder, name, "CC -O3 X.cpp -o X")
    made = commands_in(folder, mpi)
    return Commands(folder, made.mpiexec, {**made.env, "LD_LIBRARY_PATH": compilers.env["LD_LIBRARY_PATH"]})


def masked(text: str) -> list[str]:
    """Lines of a reproducer without their times; the headings, which come from another rank, at the end."""
    lines = [TIME.sub("T", line) for line in text.splitlines()]
    return [line for line in lines if not line.startswith(HEADING)] + [x for x in lines if x.startswith(HEADING)]


@pytest.mark.parametrize("name", sorted(REPRODUCERS))
def test_it_is_short_and_plain(name: str) -> None:
    text = program(name)
    assert len(text.splitlines()) <= MOST_LINES
    assert not re.findall(r'#include "', text)
    assert all(
        word in text for word in (f"CC -O3 {name}.cpp", f"mpicxx -O3 {name}.cpp", "-lmpi -lcudart -lmpi_gtl_cuda")
    )
    assert "intranode" not in text.replace(name, "")


@pytest.mark.parametrize("name", [OVERALLOC, PINNED])
@pytest.mark.parametrize(
    "words",
    [
        "CC -O3 X.cpp -o X",
        "g++ -std=c++17 X.cpp -lmpi -lcudart -o X",
        "mpicxx -DHOST_ONLY X.cpp -o X",
        "mpicxx X.cpp -o X",
    ],
)
def test_it_compiles_as_its_head_says(compilers: Compilers, mpi: Mpi, tmp_path: Path, name: str, words: str) -> None:
    has_gpu = "mpicxx" not in words
    compilers.build(tmp_path, name, words, gpu=words != "mpicxx X.cpp -o X")
    made = commands_in(tmp_path, mpi)
    mine = Commands(tmp_path, made.mpiexec, {**made.env, "LD_LIBRARY_PATH": compilers.env["LD_LIBRARY_PATH"]})
    memory = "device" if has_gpu else "host"
    more = "" if has_gpu else " --memory host"
    if name == OVERALLOC:
        done = mine.run(2, f"{name} 2 2 1024 65536 1{more}")
        lines = overalloc_lines(1, 2, 2, 1024, 65536, 1, memory)
    else:
        done, lines = mine.run(2, f"{name} 2 2 {memory} 1024"), pinned_lines(memory, 1, 2, 2, 1024)
    assert done.returncode == 0, done.stderr
    lines_match(done.stdout, lines)
    if not has_gpu and name == PINNED:
        refused = mine.run(2, f"{name} 2 2 device 1024")
        assert refused.returncode != 0
        assert "this program was built without CUDA and HIP; its mem_type is host" in refused.stderr


@pytest.mark.parametrize("mpi", ["embedded"], indirect=True)
@pytest.mark.parametrize(
    ("log", "words"),
    [
        ("overalloc-1B", f"{OVERALLOC} 5 3 1024 1073741824 1"),
        ("overalloc-64KiB", f"{OVERALLOC} 5 3 1024 1073741824 65536"),
        ("overalloc-2MiB", f"{OVERALLOC} 5 3 1024 1073741824 2097152"),
        ("pinned_host-cma", f"{PINNED} 2 5 pinned_host 134217728"),
        ("host-bound", f"{PINNED} 2 5 host 134217728"),
    ],
)
def test_the_lines_are_those_of_the_original_logs(printed: Commands, log: str, words: str) -> None:
    done = printed.run(2, words)
    assert done.returncode == 0, done.stderr
    assert masked(done.stdout) == masked((FIELD / f"{log}.txt").read_text())


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_every_number_of_ranks_and_every_length(printed: Commands, ranks: int) -> None:
    for p2p, buffer, over in ((1024, 1048576, 1), (0, 0, 0), (65537, 65536, 4096)):
        done = printed.run(ranks, f"{OVERALLOC} 3 2 {p2p} {buffer} {over} --memory host")
        assert done.returncode == 0, done.stderr
        lines_match(done.stdout, overalloc_lines(ranks - 1, 3, 2, p2p, buffer, over, "host"))
    done = printed.run(ranks, f"{PINNED} 2 3 host 1048577")
    assert done.returncode == 0, done.stderr
    lines_match(done.stdout, pinned_lines("host", ranks - 1, 2, 3, 1048577))


@pytest.mark.parametrize("words", [f"{OVERALLOC} 1 1 8 8 1 --memory host", f"{PINNED} 1 1 host 8"])
def test_the_warm_up_is_the_first_contact_of_the_ranks(
    printed: Commands, ranks: Ranks, blankless: Path, words: str
) -> None:
    shim = ranks.compiled(Path(shutil.copy(HERE / "first_calls.c", blankless)))
    env = {"LD_PRELOAD": str(shim), "FIRST_CALLS": str(blankless / "calls")}
    done = printed.run(3, words, env)
    assert done.returncode == 0, done.stderr
    for rank, begin in enumerate((["Send", "Barrier"], ["Barrier"], ["Recv", "Barrier"])):
        assert (blankless / f"calls.{rank}").read_text().split()[: len(begin)] == begin


@pytest.mark.parametrize("name", [OVERALLOC, PINNED])
def test_the_warm_up_starts_the_gpu(printed: Commands, name: str) -> None:
    words = f"{name} 1 1 8 8 1" if name == OVERALLOC else f"{name} 1 1 device 8"
    done = printed.run(2, words, {"STUB_CUDART_START_MS": str(START_MS)})
    assert done.returncode == 0, done.stderr
    (warm_up_s,) = re.findall(rf"^\[-1\] time: ({SECONDS})$", done.stdout, re.MULTILINE)
    assert float(warm_up_s) > START_MS / 1000


def test_each_rank_of_a_node_takes_a_gpu_of_its_own(printed: Commands, tmp_path: Path) -> None:
    env = {"STUB_CUDART_CALLS": str(tmp_path / "calls"), "STUB_CUDART_DEVICES": "2"}
    done = printed.run(2, f"{PINNED} 1 1 device 8", env)
    assert done.returncode == 0, done.stderr
    chosen = [line for line in (tmp_path / "calls").read_text().splitlines() if line.startswith("cudaSetDevice")]
    assert set(chosen) == {"cudaSetDevice 0", "cudaSetDevice 1"}


@pytest.mark.parametrize("mpi", ["embedded"], indirect=True)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (f"{OVERALLOC} 1 1 10 8 1", "p2p_size must be at most buffer_size + overalloc_size"),
        (f"{OVERALLOC} 1 1 1KiB 8 1", "'1KiB' is no whole number"),
        (f"{OVERALLOC} 1 1 8 8", "usage: srun -n 2 gpudirect_p2p_overalloc <num_iterations>"),
        (f"{PINNED} 1 1 gpu 8", "usage: srun -n 2 intranode_pinned_host_comm <num_iterations>"),
    ],
)
def test_wrong_arguments(printed: Commands, words: str, said: str) -> None:
    done = printed.run(2, words)
    assert done.returncode != 0
    assert said in done.stderr
    assert "time:" not in done.stdout


@pytest.mark.parametrize("mpi", ["embedded"], indirect=True)
def test_a_gpu_that_is_not_there(printed: Commands) -> None:
    done = printed.run(2, f"{OVERALLOC} 1 1 8 8 1", {"STUB_CUDART_DEVICES": "0"})
    assert done.returncode != 0
    assert "error: no GPU" in done.stderr
