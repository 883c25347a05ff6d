# SPDX-License-Identifier: Apache-2.0
"""A real Slurm on this machine: slurmctld where the launcher runs, and one slurmd in each namespace node."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from virtual_nodes import CONTROL, SUBNET, Nodes, usable_processors

from slowpath.core.errors import EnvironmentFailure
from watchdog import WATCHDOG_S

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "sinfo")
STOP_LIMIT_S = 60.0  # then by force
# task/affinity binds; proctrack/linuxproc and no accounting need neither control groups nor systemd. config_overrides:
# each daemon sees all processors of the machine. TmpFS is each node's own, since mpi/pmix makes a folder there.
CONFIGURATION = """\
ClusterName=slowpath
SlurmctldHost={control}({subnet}.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmdSpoolDir={folder}/spool.%n
TmpFS={folder}/tmp.%n
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
{nodes}
PartitionName=all Nodes={names} Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
"""
Done = subprocess.CompletedProcess[str]


class Cluster:
    """Nodes under Slurm; a context manager that stops all daemons again. Needs root."""

    def __init__(self, count: int = 2) -> None:
        self.nodes = Nodes(usable_processors(), count)
        self._count = count
        self._daemons: list[subprocess.Popen[bytes]] = []
        self._slurmd: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Cluster:
        """Raises EnvironmentFailure where a program or a permission is missing, or Slurm does not come up."""
        os.environ["PATH"] = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"])
        if lacking := [name for name in PROGRAMS if shutil.which(name) is None]:
            raise EnvironmentFailure(f"{lacking[0]} is missing; install slurm-wlm and munge")
        self.nodes.__enter__()
        try:
            self._configure()
            self._start("munged", CONTROL, "--foreground", "--force", *self._munge_files())
            self._wait(lambda: (self.folder / "munge.sock").exists())
            self._start("slurmctld", CONTROL, "-D", "-f", str(self.configuration))
            for name in self.nodes.processors:
                self._start("slurmd", name, "-D", "-N", name, "-f", str(self.configuration))
            self._wait(lambda: self.run(["sinfo", "-h", "-t", "idle", "-o", "%D"]).stdout.strip() == str(self._count))
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    @property
    def folder(self) -> Path:
        """Where configuration, state and logs are."""
        return self.nodes.folder

    @property
    def configuration(self) -> Path:
        return self.folder / "slurm.conf"

    def run(
        self,
        argv: Sequence[str],
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        limit_s: float = WATCHDOG_S,
    ) -> Done:
        """`argv` as a user of the cluster starts it; a srun that waits for ever is ended."""
        variables = {**os.environ, **(env or {}), "SLURM_CONF": str(self.configuration)}
        words = ["timeout", "-k", "5", str(limit_s), *argv]
        if cwd is not None:
            words = ["env", f"--chdir={cwd}", *words]
        return subprocess.run(
            self.nodes.command(CONTROL, words), env=variables, capture_output=True, text=True, check=False
        )

    def nodes_run(self, node: str, argv: Sequence[str]) -> Done:
        """Run a command of the machine's in the namespaces of a node."""
        return subprocess.run(self.nodes.command(node, argv), capture_output=True, text=True, check=False)

    def daemon(self, node: str) -> int:
        """The process of a node's slurmd, which starts all that runs there."""
        return self._slurmd[node].pid

    def _configure(self) -> None:
        for name in ("state", *(f"{kind}.{node}" for node in self.nodes.processors for kind in ("spool", "tmp"))):
            (self.folder / name).mkdir()
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(1024))
        names = list(self.nodes.processors)
        cpus = len(usable_processors())
        lines = [f"NodeName={n} NodeAddr={SUBNET}.{i} CPUs={cpus} State=UNKNOWN" for i, n in enumerate(names, start=2)]
        self.configuration.write_text(
            CONFIGURATION.format(
                control=CONTROL, subnet=SUBNET, folder=self.folder, nodes="\n".join(lines), names=",".join(names)
            )
        )

    def _munge_files(self) -> list[str]:
        files = {"key-file": "key", "socket": "sock", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        return [f"--{option}={self.folder}/munge.{end}" for option, end in files.items()]

    def _start(self, program: str, where: str, *words: str) -> None:
        """In the foreground, so that its process is known and ends with this one."""
        argv = self.nodes.command(where, [str(shutil.which(program)), *words])
        with (self.folder / f"{program}.{where}.out").open("wb") as out:
            self._daemons.append(subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out))
        if program == "slurmd":
            self._slurmd[where] = self._daemons[-1]

    def _wait(self, is_there: object) -> None:
        assert callable(is_there)
        deadline = time.monotonic() + WATCHDOG_S
        while not is_there():
            if time.monotonic() > deadline or any(daemon.poll() is not None for daemon in self._daemons):
                said = "; ".join(
                    f"{path.name}: {lines[-1]}"
                    for path in sorted(self.folder.glob("*.out"))
                    if (lines := path.read_text(errors="replace").strip().splitlines())
                )
                raise EnvironmentFailure(f"Slurm does not come up: {said or 'no daemon says why'}")
            time.sleep(0.1)

    def _stop(self) -> None:
        for daemon in reversed(self._daemons):
            daemon.send_signal(signal.SIGTERM)
        for daemon in self._daemons:
            try:
                daemon.wait(STOP_LIMIT_S)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self.nodes.__exit__(None, None, None)
