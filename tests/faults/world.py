# SPDX-License-Identifier: Apache-2.0
"""One run of the command line in a process of its own, its processes by role, and what of them is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from faults.inherited import Inherited

LIMIT_S = 600.0  # far over all that a run may take, even with a watchdog and stacks
ENGINE, LAUNCHER, PROXY = "slowpath-engine", "mpiexec", "hydra_pmi_proxy"
MEASURING = ("run", "resume", "diagnose", "tune")
CAMPAIGN = """\
[campaign]
name = "faults"
title = "Small cells that stand for any"
ranks = 2
rounds = 3

[[cells]]
name = "round trips"
experiment = "p2p"
[cells.parameters]
message_bytes = ["8", "64KiB"]
samples = 40
time_limit_s = 20
warmup_s = 0.001

[[cells]]
name = "one way"
experiment = "p2p"
[cells.parameters]
pattern = "one_way"
message_bytes = ["1KiB", "256KiB"]
allocations = 20
messages = 10
"""


@dataclass(frozen=True)
class Other:
    """A slowpath beside the one that is hit, and the file that takes what it says."""

    process: subprocess.Popen[bytes]
    said: Path

    def ended(self) -> tuple[int | None, str]:
        """Its exit code and what it said; None: it went on past LIMIT_S."""
        try:
            code = self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            code = None
        return code, self.said.read_text(errors="replace").strip()


@dataclass
class World:
    """Where a run happens: its folder, with the flags that the preloaded library reads, its environment, and after how
    long without progress a cell counts as hung.
    """

    folder: Path
    environ: Mapping[str, str]
    cell_timeout_s: int
    process: subprocess.Popen[bytes] | None = None
    begun: float = 0.0
    wrong: list[str] = field(default_factory=list)  # what a fault saw that is not as it must be
    inherited: Inherited = field(default_factory=Inherited)  # by the slowpath that is hit, and those beside it
    words: tuple[str, ...] = ()  # of the last command that was started
    _others: int = 0

    @property
    def run(self) -> Path:
        return self.folder / "run"

    def start(self, *arguments: str) -> None:
        """Start slowpath; its output goes into a file beside the run folder."""
        self.words = arguments
        self.process = self._slowpath(arguments, "said")
        self.begun = time.monotonic()

    def beside(self, *arguments: str, within: Sequence[str] = (), **flags: str) -> Other:
        """Start another slowpath at the same time. within: words before it, as those of unshare(1)."""
        self._others += 1
        said = f"said-{self._others}"
        return Other(self._slowpath(arguments, said, within, flags), self.folder / said)

    def _slowpath(
        self, arguments: Sequence[str], said: str, within: Sequence[str] = (), flags: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        places = {"SLOWPATH_FAULTS_FOLDER": str(self.folder), "SLOWPATH_FAULTS_RUN": str(self.run), **(flags or {})}
        limit = ["--cell-timeout", f"{self.cell_timeout_s}s"] if arguments[0] in MEASURING else []
        slowpath = [sys.executable, "-m", "slowpath.cli", arguments[0], "--quiet", *limit, *arguments[1:]]
        with (self.folder / said).open("ab") as file:
            return subprocess.Popen(
                [*within, *self.inherited.around(slowpath)],
                cwd=self.folder,
                env=self._with_handler({**self.environ, **places}),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=file,
            )

    def _with_handler(self, environ: dict[str, str]) -> dict[str, str]:
        more = self.inherited.variables(self.folder.parent / "libhandler.so")
        both = ":".join(filter(None, (environ.get("LD_PRELOAD"), more.get("LD_PRELOAD"))))
        return {**environ, **more, **({"LD_PRELOAD": both} if both else {})}

    def start_run(self, seed: int) -> None:
        """Begin the run, and come back when its folder says who it is."""
        (self.folder / "faults.toml").write_text(CAMPAIGN)
        mpi = self.environ.get("SLOWPATH_MPI", "mpich")
        self.start("run", "faults.toml", "--out", str(self.run), "--seed", str(seed), "--mpi", mpi)
        self.wait_until(lambda: (self.run / "run.json").exists())
        self.begun = time.monotonic()

    def kill(self) -> bool:
        """SIGKILL to slowpath, and wait until all of its job is gone. Whether it still ran."""
        assert self.process is not None
        hit = self.running() and self.send(self.process.pid, signal.SIGKILL)
        self.process.wait()
        return hit and self.gone_within(LIMIT_S)

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def wait_until(self, true: Callable[[], object], limit_s: float = LIMIT_S) -> bool:
        """Whether `true` became so while slowpath runs."""
        end = time.monotonic() + limit_s
        while time.monotonic() < end and self.running():
            if true():
                return True
            time.sleep(0.002)
        return False

    def finish(self) -> int | None:
        """Exit code of slowpath; None: it had to be killed, because it went on past LIMIT_S."""
        assert self.process is not None
        try:
            return self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            pid = self.process.pid
            where = "\n".join(_read(pid, name).decode() for name in ("status", "wchan", "stack"))
            (self.folder / "hung").write_text(where)
            self.kill_all()
            self.process.wait()
            return None

    def pids(self) -> list[int]:
        """All living processes of this world, slowpath included."""
        needle = f"SLOWPATH_FAULTS_FOLDER={self.folder}".encode()
        return [pid for pid in _processes() if needle in _read(pid, "environ").split(b"\0") and _alive(pid)]

    def named(self, name: str) -> list[int]:
        """Living processes of this world by the name of their program."""
        return [pid for pid in self.pids() if _read(pid, "comm").strip().decode() == name[:15]]

    def kill_all(self) -> None:
        for pid in self.pids():
            _send(pid, signal.SIGKILL)

    def gone_within(self, seconds: float) -> bool:
        """Whether no process of this world is left after at most so long."""
        end = time.monotonic() + seconds
        while self.pids():
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True

    def send(self, pid: int, number: int) -> bool:
        """Whether the signal reached a process."""
        return _send(pid, number)


def _send(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def _processes() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def _alive(pid: int) -> bool:
    return _read(pid, "stat").rpartition(b")")[2].split()[:1] not in ([b"Z"], [b"X"], [])
