# SPDX-License-Identifier: Apache-2.0
"""Wires between nodes with a delay of their own, in user space: not every kernel has netem. Needs root.

Each wire is a TUN device in every node; one process hands packets over when their time has come, and measures when that
was. Node i of the list has address SUBNET.(i + 1), i from 1.

    python link_wire.py PID,PID... FILE NAME=SUBNET=DELAY_S...
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import select
import signal
import struct
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from slowpath.core.errors import EnvironmentFailure

MTU = 1500
FIRST = 2  # last byte of the first node's address
_TUNSETIFF = 0x400454CA  # linux/if_tun.h
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
_CLONE_NEWNET = 0x40000000  # linux/sched.h
PRIORITY = 9  # real time, above that of ranks which link-truth starts with one
SPIN_S = 100e-6  # a wait shorter than this is spun: sleeping takes about as long


@dataclass
class Wire:
    """One wire. ends: descriptors in the nodes.  due: packets on their way, each with arrival and receiving end."""

    name: str
    delay_s: float
    ends: tuple[int, ...]
    due: deque[tuple[float, int, bytes]] = field(default_factory=deque)
    held_s: list[float] = field(default_factory=list)


def make_device(pid: int, name: str, address: str) -> int:
    """A TUN device `name` in the network namespace of `pid`; this process stays there."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/proc/{pid}/ns/net") as namespace:
        if libc.setns(namespace.fileno(), _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns to the network of process {pid}")
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI))
    for words in (["address", "add", address, "dev", name], ["link", "set", name, "mtu", str(MTU), "up"]):
        subprocess.run(["ip", *words], check=True)
    return device


def make_wires(pids: list[int], words: list[str]) -> list[Wire]:
    """Wires as the command line has them."""
    wires = []
    for word in words:
        name, subnet, delay = word.split("=")
        ends = [make_device(pid, name, f"{subnet}.{number}/24") for number, pid in enumerate(pids, start=FIRST)]
        wires.append(Wire(name, float(delay), tuple(ends)))
    return wires


def receiver(packet: bytes, ends: tuple[int, ...]) -> int | None:
    """The end with the address that an IPv4 packet is for (RFC 791); None: no end's."""
    if len(packet) < 20 or packet[0] >> 4 != 4 or not 0 <= packet[19] - FIRST < len(ends):
        return None
    return ends[packet[19] - FIRST]


def take(wires: list[Wire], ready: list[int]) -> None:
    """Whatever has arrived, with the time at which it did. Packets of one delay leave in the order of arrival."""
    for wire in wires:
        for end in wire.ends:
            while end in ready:
                try:
                    packet = os.read(end, MTU + 100)
                except BlockingIOError:
                    break
                to = receiver(packet, wire.ends)
                if to is not None:
                    wire.due.append((time.monotonic(), to, packet))


def hand_over(wires: list[Wire]) -> float | None:
    """Packets whose time has come. Returns seconds until the next one's; None: none is on its way."""
    waits = []
    for wire in wires:
        while wire.due and (left := wire.due[0][0] + wire.delay_s - time.monotonic()) <= 0:
            arrived, to, packet = wire.due.popleft()
            try:
                os.write(to, packet)
            except BlockingIOError:
                continue  # a full device drops, as a network does
            wire.held_s.append(time.monotonic() - arrived)
        if wire.due:
            waits.append(left)
    return min(waits) if waits else None


@contextmanager
def laid(pids: Sequence[int], held: Path, delays_s: Mapping[str, float]) -> Iterator[None]:
    """Wires of these names between the nodes of these processes; in the end `held` has what each of them held packets
    for, seconds (JSON). Raises: EnvironmentFailure.
    """
    words = [f"{name}=10.78.{number}={delay_s}" for number, (name, delay_s) in enumerate(delays_s.items())]
    argv = [sys.executable, __file__, ",".join(map(str, pids)), str(held), *words]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as wire:
        assert wire.stdout is not None
        try:
            if wire.stdout.readline().strip() != "up":
                raise EnvironmentFailure("the wire did not come up; is /dev/net/tun there?")
            yield
        finally:
            wire.terminate()


def main() -> int:
    """Runs until SIGTERM, then writes how long each wire held its packets, as JSON, median in seconds."""
    going = True

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal going
        going = False

    signal.signal(signal.SIGTERM, stop)
    wires = make_wires([int(pid) for pid in sys.argv[1].split(",")], sys.argv[3:])
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))  # ranks poll, and would keep it waiting
    ends = [end for wire in wires for end in wire.ends]
    print("up", flush=True)
    while going:
        wait = hand_over(wires)
        timeout = 0.1 if wait is None else 0.0 if wait < SPIN_S else wait - SPIN_S
        take(wires, select.select(ends, [], [], timeout)[0])
    held = {wire.name: sorted(wire.held_s)[len(wire.held_s) // 2] if wire.held_s else None for wire in wires}
    Path(sys.argv[2]).write_text(json.dumps(held))
    return 0


if __name__ == "__main__":
    sys.exit(main())
