# SPDX-License-Identifier: Apache-2.0
"""Nothing is left behind: by a build that is stopped or killed, by a question that takes too long. Real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from slowpath.mpi.probe import ask
from slowpath.run.engine.build import LOCK, remove_abandoned, workplace
from watchdog import WATCHDOG_S

# Like make: it starts a compiler, which neither ends with it nor closes the pipe that it inherited.
SCRIPT = """#!/bin/sh
case "$1" in
--version) echo "cmake version 3.25.1"; exit;;
esac
sleep 300 &
echo $! > "$COMPILER"
mv "$COMPILER" "$COMPILER.pid"
wait
"""
BUILD = """
import os, sys
from pathlib import Path
from slowpath.core.signals import stop_signals
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.build import engine_for

def build():
    here = Path(sys.argv[1])
    mpi = Mpi("mpich", "5.0", "option", here, here / "mpiexec", here / "mpicxx", "mpich", True, "hydra", "")
    engine_for(mpi, os.environ, source=here / "source")
    return 0

try:
    with stop_signals():
        build()
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A CMake that hangs, the first on the PATH of `environ`."""
    path = tmp_path / "bin" / "cmake"
    path.parent.mkdir()
    path.write_text(SCRIPT)
    path.chmod(0o755)
    return path


@pytest.fixture
def environ(tmp_path: Path, script: Path) -> dict[str, str]:
    """Of a build with it."""
    kept = {name: value for name, value in os.environ.items() if name not in ("CXX", "SLOWPATH_MPI", "SLOWPATH_ENGINE")}
    return {
        **kept,
        "PATH": f"{script.parent}:{os.environ['PATH']}",
        "SLOWPATH_CACHE_DIR": str(tmp_path / "cache"),
        "COMPILER": str(tmp_path / "compiler"),
    }


def compiler(tmp_path: Path) -> int:
    """Process number of the compiler, once it runs."""
    path = tmp_path / "compiler.pid"
    _until(path.exists)
    return int(path.read_text())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_build_that_is_ended_leaves_no_compiler(environ: dict[str, str], tmp_path: Path, number: int) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "CMakeLists.txt").write_text("project(x)\n")
    process = subprocess.Popen([sys.executable, "-c", BUILD, str(tmp_path)], env=environ)
    pid = compiler(tmp_path)
    process.send_signal(number)
    assert process.wait(WATCHDOG_S) == (-number if number == signal.SIGKILL else 130)
    _until(lambda: _is_gone(pid))
    engines = tmp_path / "cache" / "engines"
    kept = [path for path in engines.iterdir() if path.is_dir()]
    if number != signal.SIGKILL:
        assert kept == []
        return
    assert [path.name[0] for path in kept] == ["."], "half an engine is in sight"
    remove_abandoned(engines)
    assert kept[0].exists(), "it may belong to a build that has just begun"
    os.utime(kept[0], (0, 0))
    remove_abandoned(engines)
    assert not kept[0].exists()


def test_a_workplace_that_is_worked_in_is_left_alone(tmp_path: Path) -> None:
    with workplace(tmp_path / "key") as work:
        os.utime(work, (0, 0))
        remove_abandoned(tmp_path)
        assert work.exists()
        other = tmp_path / ".other-1"
        other.mkdir()
        (other / LOCK).touch()
        os.utime(other, (0, 0))
        young = tmp_path / ".young"  # of an older version, without a lock
        young.mkdir()
        os.utime(young, (time.time() - 3600, time.time() - 3600))
        (tmp_path / ".elsewhere").symlink_to(tmp_path.parent)
        remove_abandoned(tmp_path)
        assert not other.exists()
        assert young.exists()
        assert (tmp_path / ".elsewhere").is_symlink()
    assert not work.exists()


def test_answers() -> None:
    done = ask(["sh", "-c", "cat; echo err >&2; exit 3"], os.environ, given=b"in")
    assert (done.return_code, done.stdout, done.stderr) == (3, b"in", b"err\n")
    done = ask(["sh", "-c", "echo out; echo err >&2"], os.environ, together=True)
    assert (done.return_code, done.stdout, done.stderr) == (0, b"out\nerr\n", b"")
    with pytest.raises(FileNotFoundError):
        ask(["/nowhere/at-all"], os.environ)


def _until(reached: object) -> None:
    end = time.monotonic() + WATCHDOG_S
    while not reached():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.01)


def _is_gone(pid: int) -> bool:
    """Ended; where nobody waits for orphans (a container's first process may not), a zombie is."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
