# SPDX-License-Identifier: Apache-2.0
"""Nodes that are namespaces of this machine, joined by a link whose rate can be set. Needs root.

Each node has a network, a host name, System V memory and a /dev/shm of its own; a third one, `ctl`, is where the
launcher runs. Processes and files are the machine's.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from slowpath.core.errors import EnvironmentFailure

CONTROL = "ctl"
SUBNET = "10.77.0"  # seen by nobody outside
TOOLS = ("unshare", "nsenter", "ip", "tc", "taskset", "mount", "hostname")
BURST_BYTES = 262144  # a shaped link passes this much at once; longer than any packet that the kernel hands over whole
START_LIMIT_S = 10.0
STOP_LIMIT_S = 5.0


class Nodes:
    """Nodes n1, n2, ..., each with its part of the processors; a context manager that takes them down again.

    With more nodes than processors, nodes share them.
    """

    def __init__(self, processors: Sequence[int], count: int = 2) -> None:
        each = max(1, len(processors) // count)
        parts = [tuple(processors[i * each : (i + 1) * each]) for i in range(count)]
        own = [part for part in parts if part]
        self.processors = {f"n{i + 1}": part or own[i % len(own)] for i, part in enumerate(parts)}
        self._holders: dict[str, subprocess.Popen[bytes]] = {}
        self.folder = Path(tempfile.mkdtemp(prefix="virtual-nodes-"))

    def __enter__(self) -> Nodes:
        """Raises EnvironmentFailure where namespaces, or what sets them up, are missing."""
        try:
            if lacking := [tool for tool in TOOLS if shutil.which(tool) is None]:
                raise EnvironmentFailure(f"{lacking[0]} is missing; install iproute2 and util-linux")
            self._write_hosts()
            for name in (CONTROL, *self.processors):
                self._hold(name)
            self._join()
        except BaseException:
            self._take_down()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._take_down()

    def command(self, name: str, argv: Sequence[str]) -> list[str]:
        """What runs `argv` in a node or in `ctl`, with all processors."""
        return ["nsenter", "-t", str(self._holders[name].pid), "-n", "-u", "-i", "-m", f"--wd={Path.cwd()}", *argv]

    def process(self, name: str) -> int:
        """A process that is in the node's namespaces as long as the node exists."""
        return self._holders[name].pid

    def shape(self, rate_bits_per_s: float | None, only: str | None = None) -> None:
        """What each node, or one of them, may send; None: as fast as it goes.

        Raises: EnvironmentFailure where the kernel can't.
        """
        for name in self.processors if only is None else (only,):
            discipline = ["tc", "qdisc", "replace", "dev", "eth0", "root"]
            if rate_bits_per_s is None:
                discipline += ["pfifo_fast"]
            else:
                discipline += ["tbf", "rate", f"{rate_bits_per_s:.0f}bit", "burst", str(BURST_BYTES), "latency", "50ms"]
            self._must(self.command(name, discipline))

    def _write_hosts(self) -> None:
        names = [*enumerate([CONTROL, *self.processors], start=1)]
        lines = ["127.0.0.1 localhost", *(f"{SUBNET}.{number} {name}" for number, name in names)]
        (self.folder / "hosts").write_text("\n".join(lines) + "\n")

    def _hold(self, name: str) -> None:
        """A process whose only task is to be in the namespaces."""
        ready = self.folder / f"{name}.ready"
        hosts = shlex.quote(str(self.folder / "hosts"))
        steps = [f"hostname {name}", f"mount --bind {hosts} /etc/hosts", "ip link set lo up"]
        if name != CONTROL:
            steps.append("mount -t tmpfs tmpfs /dev/shm")
        steps += [f": > {shlex.quote(str(ready))}", "exec sleep infinity"]
        argv = ["unshare", "-n", "-u", "-i", "-m", "--propagation", "private", "sh", "-c", " && ".join(steps)]
        log = self.folder / f"{name}.log"
        with log.open("wb") as out:
            holder = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        self._holders[name] = holder
        deadline = time.monotonic() + START_LIMIT_S
        while not ready.exists():
            if holder.poll() is not None or time.monotonic() > deadline:
                said = log.read_text(errors="replace").strip().splitlines()
                raise EnvironmentFailure(
                    f"namespaces are not permitted here ({said[0] if said else 'no answer'}); "
                    "run as root, outside a container or in one with CAP_SYS_ADMIN and CAP_NET_ADMIN"
                )
            time.sleep(0.02)

    def _join(self) -> None:
        """A bridge in `ctl`, and a pair of interfaces from it to each node."""
        inside = self.command
        self._must(inside(CONTROL, ["ip", "link", "add", "bridge", "type", "bridge"]))
        self._must(inside(CONTROL, ["ip", "address", "add", f"{SUBNET}.1/24", "dev", "bridge"]))
        self._must(inside(CONTROL, ["ip", "link", "set", "bridge", "up"]))
        for number, name in enumerate(self.processors, start=2):
            peer = ["type", "veth", "peer", "name", "eth0", "netns", str(self._holders[name].pid)]
            self._must(inside(CONTROL, ["ip", "link", "add", f"to-{name}", *peer]))
            self._must(inside(CONTROL, ["ip", "link", "set", f"to-{name}", "master", "bridge", "up"]))
            self._must(inside(name, ["ip", "address", "add", f"{SUBNET}.{number}/24", "dev", "eth0"]))
            self._must(inside(name, ["ip", "link", "set", "eth0", "up"]))

    def _must(self, argv: Sequence[str]) -> str:
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode:
            said = done.stderr.strip().splitlines()
            command = " ".join(argv[argv.index(f"--wd={Path.cwd()}") + 1 :])
            raise EnvironmentFailure(f"{command}: {said[0] if said else f'exit code {done.returncode}'}")
        return done.stdout

    def _take_down(self) -> None:
        """The kernel removes interfaces, mounts and namespaces with their last process."""
        for holder in self._holders.values():
            holder.terminate()
            try:
                holder.wait(STOP_LIMIT_S)
            except subprocess.TimeoutExpired:
                holder.kill()
                holder.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def usable_processors() -> list[int]:
    """Those that this process may use, ascending."""
    return sorted(os.sched_getaffinity(0))
