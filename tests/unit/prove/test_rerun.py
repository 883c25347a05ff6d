# SPDX-License-Identifier: Apache-2.0
"""One rerun of a real process: its end, its streams, its output without what may differ."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from slowpath.core.errors import UsageError
from slowpath.watch.prove.rerun import Compared, Rerun, Started, limit_of, rerun


def run(tmp_path: Path, program: str, compared: Compared | None = None, **other: object) -> Rerun:
    started = Started(tmp_path, None, compared or Compared(), 60.0)
    started = Started(**{**started.__dict__, **other})
    return rerun([sys.executable, "-c", program], dict(os.environ), started, tmp_path / "files")


def test_a_run_that_went_well_counts(tmp_path: Path) -> None:
    done = run(tmp_path, "print('hello')")
    assert (done.exit_code, done.failed, done.output_sha256) == (0, None, None)
    assert done.wall_s > 0
    assert done.minor_faults
    assert (tmp_path / "files" / "stdout").read_text() == "hello\n"


@pytest.mark.parametrize("program", ["import sys; sys.exit(5)", "import os; os.kill(os.getpid(), 11)"])
def test_a_failed_run_does_not(tmp_path: Path, program: str) -> None:
    assert run(tmp_path, program).failed


def test_a_run_that_does_not_end_is_ended_and_failed(tmp_path: Path) -> None:
    done = run(tmp_path, "import time; time.sleep(1000)", limit_s=0.3)
    assert done.failed == "not done after 0.3 s"


def test_outputs_are_equal_but_for_what_is_ignored(tmp_path: Path) -> None:
    compared = Compared(("stdout",), ("^time ", "date"))
    first = run(tmp_path, "print('result 42'); print('time 1.5')", compared)
    second = run(tmp_path, "print('result 42'); print('time 1.7')", compared)
    other = run(tmp_path, "print('result 43'); print('time 1.5')", compared)
    assert first.output_sha256 == second.output_sha256 != other.output_sha256


def test_a_file_of_an_earlier_run_is_not_this_ones(tmp_path: Path) -> None:
    (tmp_path / "out.dat").write_text("42")
    os.utime(tmp_path / "out.dat", (1, 1))
    assert "was not written by this run" in str(run(tmp_path, "pass", Compared(("out.dat",))).failed)
    done = run(tmp_path, "open('out.dat', 'w').write('42')", Compared(("out.dat",)))
    assert done.failed is None
    assert done.output_sha256


def test_stdin_is_the_file_of_the_watch(tmp_path: Path) -> None:
    (tmp_path / "input").write_text("given")
    done = run(tmp_path, "import sys; assert sys.stdin.read() == 'given'", stdin=tmp_path / "input")
    assert done.failed is None
    assert run(tmp_path, "import sys; assert sys.stdin.read() == ''").failed is None


def test_what_is_no_expression_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="--ignore"):
        Compared(ignored=("(",)).patterns()


def test_a_run_may_take_ten_times_the_usual() -> None:
    assert limit_of(100.0) == 1000.0
    assert limit_of(None) == limit_of(1.0) == 120.0
