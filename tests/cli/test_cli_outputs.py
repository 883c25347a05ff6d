# SPDX-License-Identifier: Apache-2.0
"""Outputs that nobody takes: closed, full, non-blocking, gone with their terminal. Real pipes, real processes.

Each command of `slowpath` goes through the same `main`, so commands of a toy module stand for those that measure.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from watchdog import WATCHDOG_S

TOY = '''
import os, sys, time
from pathlib import Path
import click
from slowpath.cli.options import teller
from slowpath.run.progress import choose

@click.command()
@click.argument("what")
@click.argument("path", default="kept")
def toy_command(what, path):
    """Stands for commands that measure."""
    if what == "measure":  # progress, then the result and an exit code of its own
        tell, progress = teller(), choose(False)
        for i in range(3000):
            tell(f"preparing, step {i} of many that are told")
            progress.note(f"launch {i} of many that are told")
        progress.close()
        Path(path).write_text("measured")
        return 3
    if what == "print":
        for i in range(20000):
            click.echo(f"line {i} of a table that is longer than a pipe")
        Path(path).write_text("printed all")
    if what == "text":
        click.echo("3.5 µs → 2×, … 日")
        print("µ by print", file=sys.stderr)
    if what == "json":
        print('{"text": "3.5 µs → 日 \U0001f600"}')
    if what == "fail":
        print("a line that is written at the end only")
        from slowpath.core.errors import EnvironmentFailure
        raise EnvironmentFailure("no MPI here")
    if what == "full":
        with open("/dev/full", "w") as file:
            file.write("x")
    if what == "wait":
        try:
            Path("begun").touch()
            time.sleep(60)
        except KeyboardInterrupt:
            Path("stopped").touch()
            time.sleep(0.2)  # saving what was measured
            Path(path).write_text("kept")
            raise
    return 0
'''
RUN = """
import sys
from slowpath.cli import main
main.COMMANDS = (*main.COMMANDS, ("toy", "toy_command", "Stands for commands that measure."))
main.main()
"""
Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Starts `slowpath ARGUMENTS` in an empty folder, with `toy` among its commands; `shell` is put behind it."""
    (tmp_path / "toy_command.py").write_text(TOY, encoding="utf-8")

    def call(*arguments: str, shell: str = "", **more: object) -> subprocess.Popen[bytes]:
        environ = {**os.environ, "PYTHONPATH": str(tmp_path), **more.pop("env", {})}  # type: ignore[dict-item]
        argv = [sys.executable, "-c", RUN, *arguments]
        if shell:
            argv = ["sh", "-c", f'exec "$@" {shell}', "sh", *argv]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
        return subprocess.Popen(argv, cwd=tmp_path, env=environ, **streams)  # type: ignore[call-overload,no-any-return]

    return call


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    """Exit code, stdout, stderr."""
    out, err = process.communicate(timeout=WATCHDOG_S)
    return process.returncode, (out or b"").decode("utf-8", "replace"), (err or b"").decode("utf-8", "replace")


@pytest.mark.parametrize("arguments", [["toy", "print"], ["--help"], ["toy", "--help"], ["explain"]])
def test_reader_that_goes_away_ends_the_command_quietly(start: Start, tmp_path: Path, arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = start(*arguments, stdout=writer)
    os.close(writer)
    assert ended(process) == (141, "", "")
    assert not (tmp_path / "kept").exists(), "it printed on for nobody"


def test_progress_into_a_full_pipe_that_does_not_block_is_dropped(start: Start, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    for piece in (b"x" * 65536, b"x"):
        while True:
            try:
                os.write(writer, piece)
            except BlockingIOError:
                break
    process = start("toy", "fail", stderr=writer)
    os.close(writer)
    assert ended(process)[0] == 4
    os.close(reader)


@pytest.mark.parametrize(("shell", "why"), [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")])
@pytest.mark.parametrize("arguments", [["toy", "print"], ["--help"], ["--version"]])
def test_results_that_can_not_be_written_are_one_line(start: Start, shell: str, why: str, arguments: list[str]) -> None:
    code, _, said = ended(start(*arguments, shell=shell))
    assert code == 4
    assert said.startswith(f"slowpath: error: cannot write stdout: {why}; free space")
    assert said.count("\n") == 1


def test_a_full_disk_is_one_line_wherever_it_strikes(start: Start) -> None:
    code, _, said = ended(start("toy", "full"))
    assert code == 4
    assert said == "slowpath: error: the system refused: No space left on device; free space, or name another place\n"


def test_characters_that_the_encoding_lacks_are_escaped(start: Start) -> None:
    assert ended(start("toy", "text", env={"PYTHONIOENCODING": "latin-1"}))[0] == 0
    assert "\\u2192 \\u65e5" in ended(start("toy", "json", env={"PYTHONIOENCODING": "latin-1"}))[1]


@pytest.mark.parametrize("numbers", [[signal.SIGHUP, signal.SIGTERM], [signal.SIGTERM], [signal.SIGINT]])
def test_stopped_by_signals(start: Start, tmp_path: Path, numbers: list[int]) -> None:
    process = start("toy", "wait")
    _until_exists(tmp_path / "begun")
    for number in numbers:  # a session that closes sends two
        process.send_signal(number)
        time.sleep(0.05)
    code, _, said = ended(process)
    assert (code, said.strip()) == (130, "slowpath: error: interrupted")
    assert (tmp_path / "kept").read_text() == "kept"


def _until_exists(path: Path) -> None:
    end = time.monotonic() + WATCHDOG_S
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(0.01)
