# SPDX-License-Identifier: Apache-2.0
"""What `slowpath explain --reproducer` prints: compiled as a vendor would, against the commands beside the engine and
the logs of the original programs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles

import pytest
from ranks import Ranks
from reproducers import HEADING, SECONDS, Commands, commands_in, lines_match, overalloc_lines, pinned_lines

from slowpath.cli.explain import REPRODUCERS, program
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.cache import Engine
from watchdog import WATCHDOG_S

pytestmark = pytest.mark.needs("minutes")

HERE = Path(__file__).parent
FIELD = HERE.parent / "data" / "field"
OVERALLOC, PINNED = "gpudirect_p2p_overalloc", "intranode_pinned_host_comm"
MOST_LINES = 250
START_MS = 400
TIME = re.compile(rf"(?<=\] time: ){SECONDS}$")


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


@pytest.fixture(scope="module")
def commands(mpi: Mpi, engine: Engine) -> Commands:
    """The same programs, built beside the engine."""
    return commands_in(engine.program.parent, mpi)


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


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize(
    "words",
    [
        f"{OVERALLOC} 2 3 1024 1048576 1 --memory host",
        f"{OVERALLOC} 1 2 0 0 0 --memory host",
        f"{OVERALLOC} 2 2 65537 65536 4096 --memory host",
        f"{PINNED} 2 3 host 1048577",
    ],
)
def test_the_lines_are_those_of_the_engines_command(
    printed: Commands, commands: Commands, ranks: int, words: str
) -> None:
    mine, engines = printed.run(ranks, words), commands.run(ranks, words)
    assert (mine.returncode, engines.returncode) == (0, 0), mine.stderr + engines.stderr
    assert masked(mine.stdout) == masked(engines.stdout)


def times_s(text: str, first: bool) -> list[float]:
    found = re.findall(rf"^\[\d+:(\d+)\] time: ({SECONDS})$", text, re.MULTILINE)
    return [float(time) for message, time in found if (message == "0") == first]


@pytest.mark.parametrize("mpi", ["embedded"], indirect=True)
@pytest.mark.parametrize("first", [True, False])
def test_the_times_are_those_of_the_engines_command(printed: Commands, commands: Commands, first: bool) -> None:
    """Interleaved, so that other work on the machine slows down both; of each the fastest tenth, because on two cores
    a rank whose printed line wakes its launcher may lose its core in most messages of a run.
    """
    words = f"{PINNED} {50 if first else 1} {1 if first else 100} host 262144"
    runs: list[list[float]] = [[], []]
    for _ in range(8):
        for kept, which in zip(runs, (printed, commands), strict=True):
            done = which.run(2, words)
            assert done.returncode == 0, done.stderr
            kept += times_s(done.stdout, first)
    printed_s, engines_s = (quantiles(times, n=10)[0] for times in runs)
    assert 1 / 3 < printed_s / engines_s < 3


@pytest.mark.parametrize("words", [f"{OVERALLOC} 1 1 8 8 1 --memory host", f"{PINNED} 1 1 host 8"])
@pytest.mark.parametrize("which", ["printed", "commands"])
def test_the_warm_up_is_the_first_contact_of_the_ranks(
    request: pytest.FixtureRequest, ranks: Ranks, blankless: Path, which: str, words: str
) -> None:
    shim = ranks.compiled(Path(shutil.copy(HERE / "first_calls.c", blankless)))
    env = {"LD_PRELOAD": str(shim), "FIRST_CALLS": str(blankless / "calls")}
    done = request.getfixturevalue(which).run(3, words, env)
    assert done.returncode == 0, done.stderr
    for rank, begin in enumerate((["Send", "Barrier"], ["Barrier"], ["Recv", "Barrier"])):
        assert (blankless / f"calls.{rank}").read_text().split()[: len(begin)] == begin


def warm_up_s(text: str) -> float:
    (found,) = re.findall(rf"^\[-1\] time: ({SECONDS})$", text, re.MULTILINE)
    return float(found)


@pytest.mark.parametrize("name", [OVERALLOC, PINNED])
def test_the_warm_up_starts_the_gpu(printed: Commands, commands: Commands, stub: Path, name: str) -> None:
    words = f"{name} 1 1 8 8 1" if name == OVERALLOC else f"{name} 1 1 device 8"
    mine = printed.run(2, words, {"STUB_CUDART_START_MS": str(START_MS)})
    env = {"SLOWPATH_CUDA_DRIVER": str(stub), "SLOWPATH_STUB_CUDA_INIT_MS": str(START_MS)}
    for done in (mine, commands.run(2, words, env)):
        assert done.returncode == 0, done.stderr
        assert warm_up_s(done.stdout) > START_MS / 1000


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
