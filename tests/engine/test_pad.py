# SPDX-License-Identifier: Apache-2.0
"""libslowpath-pad.so under real programs: the engine under each MPI, a shell, Python itself."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from ranks import Process, Ranks, finished

from slowpath.run.engine.cache import Engine

MIB = 1 << 20
OVERALLOC = ("slowpath-engine", "p2p", "--pattern", "one_way", "--memory", "device", "--message-bytes", "1KiB",
             "--allocations", "2", "--buffer-bytes", "4MiB", "--overalloc-bytes")  # fmt: skip
REPORT = re.compile(
    r"slowpath-pad: process (?P<pid>\d+): device: (?P<made>\d+) allocations, (?P<padded>\d+) padded, "
    r"(?P<added>\d+) bytes added, (?P<peak>\d+) at peak; host: (?P<host_made>\d+) allocations, "
    r"(?P<host_padded>\d+) padded, (?P<host_added>\d+) bytes added"
)


@pytest.fixture
def library(engine: Engine) -> Path:
    """The library, which is built beside the engine."""
    return engine.program.parent / "libslowpath-pad.so"


@pytest.fixture
def padded(ranks: Ranks, library: Path, stub: Path, tmp_path: Path) -> Callable[..., tuple[Process, list]]:
    """Runs a program on two ranks with the library preloaded; gives it and the lines of the report."""

    def run(*words: str, **variables: str) -> tuple[Process, list[dict[str, int]]]:
        report = tmp_path / "report.txt"
        given = {"LD_PRELOAD": str(library), "SLOWPATH_PAD_REPORT": str(report), "SLOWPATH_CUDA_DRIVER": str(stub)}
        given |= variables
        program = ranks.engine.program.parent / words[0]
        done = ranks.start(str(program), *words[1:], of_ranks=given)
        lines = report.read_text().splitlines() if report.exists() else []
        reports = [match for line in lines if (match := REPORT.fullmatch(line))]
        assert len(reports) == len(lines), lines
        return done, [{key: int(value) for key, value in match.groupdict().items()} for match in reports]

    return run


def test_buffers_that_are_longer_by_a_byte_are_padded(padded: Callable) -> None:
    done, lines = padded(*OVERALLOC, "1:0")
    assert done.returncode == 0, done.stderr
    sender, receiver = sorted(lines, key=lambda line: -line["padded"])
    assert sender["padded"] == 2
    assert sender["added"] == 2 * (2 * MIB - 1)
    assert sender["peak"] == 2 * MIB - 1
    assert receiver["made"] >= 2
    assert receiver["padded"] == receiver["added"] == 0
    assert sender["host_made"] == receiver["host_made"] == 0


def test_an_mpi_program_runs_with_padded_host_memory(padded: Callable) -> None:
    words = ["p2p", "--memory", "mpi", "--message-bytes", "1,5MiB+1", "--samples", "8", "--warmup-s", "0"]
    done, lines = padded("slowpath-engine", *words, SLOWPATH_PAD_HOST="1", SLOWPATH_PAD_HOST_MIN_BYTES="256KiB")
    assert done.returncode == 0, done.stderr + done.stdout
    assert len(lines) == 2
    assert all(line["host_made"] > 0 for line in lines)
    assert all(line["made"] == 0 for line in lines)


def run_preloaded(library: Path, argv: list[str], **variables: str) -> Process:
    return finished(argv, {**os.environ, "LD_PRELOAD": str(library), **variables})


def test_any_program_runs_as_before(library: Path) -> None:
    for host in ("0", "1"):
        variables = {"SLOWPATH_PAD_REPORT": "stderr", "SLOWPATH_PAD_HOST": host}
        done = run_preloaded(library, ["sh", "-c", "echo here | cat"], **variables)
        assert (done.returncode, done.stdout, done.stderr) == (0, "here\n", "")
        program = "import ctypes, numpy as np; print(int(np.arange(3e6).sum()), ctypes.CDLL(None).strlen(b'four'))"
        done = run_preloaded(library, [sys.executable, "-c", program], **variables)
        assert (done.returncode, done.stdout) == (0, "4499998500000 4\n")
        report = REPORT.fullmatch(done.stderr.strip())
        assert bool(report) == (host == "1"), done.stderr
        # A program finds no CUDA that is not there.
        program = "import ctypes; print(hasattr(ctypes.CDLL(None), 'cudaMalloc'))"
        assert run_preloaded(library, [sys.executable, "-c", program]).stdout == "False\n"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("SLOWPATH_PAD_MIN_BYTES", "-1"),
        ("SLOWPATH_PAD_GRANULE_BYTES", "0"),
        ("SLOWPATH_PAD_GRANULE_BYTES", "2MB"),
        ("SLOWPATH_PAD_HOST_MIN_BYTES", "99999999999999999999"),
        ("SLOWPATH_PAD_HOST", "yes"),
    ],
)
def test_a_wrong_setting_is_told_and_the_program_goes_on(library: Path, variable: str, value: str) -> None:
    done = run_preloaded(library, ["true"], **{variable: value})
    assert done.returncode == 0
    assert done.stderr.startswith(f"slowpath-pad: warning: {variable} is '{value}', not ")
    assert done.stderr.count("\n") == 1
